"""Loads images from buildah into the cluster's containerd, and removes old ones."""

import json
import tarfile
import tempfile
from pathlib import Path

from localcluster import containers, push_target
from localcluster.console import output_of, run_logged, say, succeeds
from localcluster.settings import CACHE

LOADED = CACHE / "loaded-images"
KEPT_PER_REPOSITORY = 6


def load(name: str, *, buildah: list[str]) -> None:
    """Load an image into containerd, with only the blobs that containerd lacks."""
    say(f"loading {name}")
    entry, files = hand_over(name, buildah=buildah)
    entry["annotations"] = {"io.containerd.image.name": name}
    present = set(output_of([*containers.CTR, "content", "list", "--quiet"]).split())
    with tempfile.TemporaryDirectory(dir=CACHE) as directory:
        archive = Path(directory) / "image.tar"
        missing = {digest: file for digest, file in files.items() if digest not in present}
        write_archive(archive, entry=entry, blobs=missing)
        containers.import_archive(archive)
    prune(name, buildah=buildah)


def hand_over(name: str, *, buildah: list[str]) -> tuple[dict[str, object], dict[str, Path]]:
    """Take an image from buildah; return the descriptor of its manifest, and the files of its blobs by digest."""
    path, _, tag = name.rpartition(":")
    with push_target.serving() as target:
        run_logged(
            # Compressing takes longer than copying on the same machine.
            [*buildah, "push", "--format=oci", "--tls-verify=false", "--disable-compression", name,
             f"docker://{target}/{path}:{tag}"],
            log_name="image-load",
            what="handing the image over",
        )  # fmt: skip
    manifest_file = push_target.manifest_path(path, tag)
    manifest = json.loads(manifest_file.read_text())
    entry = containers.descriptor(manifest_file.read_bytes(), manifest["mediaType"])
    files = {str(entry["digest"]): manifest_file}
    for blob in (manifest["config"], *manifest["layers"]):
        files[blob["digest"]] = push_target.DIRECTORY / blob["digest"].removeprefix("sha256:")
    return entry, files


def write_archive(archive: Path, *, entry: dict[str, object], blobs: dict[str, Path]) -> None:
    """Write an OCI archive of one image with some of its blobs."""
    with tempfile.TemporaryDirectory() as directory, tarfile.open(archive, "w") as output:
        documents = {
            "oci-layout": {"imageLayoutVersion": "1.0.0"},
            "index.json": {"schemaVersion": 2, "manifests": [entry]},
        }
        for file_name, document in documents.items():
            file = Path(directory) / file_name
            file.write_text(json.dumps(document))
            output.add(file, arcname=file_name, filter=without_origin)
        for digest, file in blobs.items():
            output.add(file, arcname=f"blobs/{digest.replace(':', '/')}", filter=without_origin)


def without_origin(member: tarfile.TarInfo) -> tarfile.TarInfo:
    """Take out of a member who made it and when, so that equal images give equal archives."""
    member.mtime, member.uid, member.gid, member.uname, member.gname, member.mode = 0, 0, 0, "", "", 0o644
    return member


def prune(newest: str, *, buildah: list[str]) -> None:
    """Record an image as the newest, and remove all but a few of its repository, with their blobs."""
    loaded = LOADED.read_text().split() if LOADED.exists() else []
    loaded = [name for name in loaded if name != newest] + [newest]
    repository = newest.rpartition(":")[0]
    ours = [name for name in loaded if name.rpartition(":")[0] == repository]
    for name in ours[:-KEPT_PER_REPOSITORY]:
        succeeds([*containers.CTR, "images", "remove", name])
        succeeds([*buildah, "rmi", name])
        push_target.manifest_path(repository, name.rpartition(":")[2]).unlink(missing_ok=True)
        loaded.remove(name)
    LOADED.write_text("".join(f"{name}\n" for name in loaded))
    push_target.drop_unused_blobs()
