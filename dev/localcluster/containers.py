"""The container runtime's content: images of one static program, and containers of earlier runs."""

import hashlib
import io
import json
import tarfile
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from localcluster.console import output_of, say, succeeds
from localcluster.processes import end_processes, pids_of_command
from localcluster.settings import (
    CONTAINERD_SOCKET,
    DevError,
    tool,
    tool_image,
)

IMAGE_PROGRAMS = ("pause", "coredns", "s3server")
# The runtime's network library records here what it set up for each pod.
CNI_RESULTS = Path("/var/lib/cni/results")
UNPRIVILEGED_USER = "65532:65532"
CTR = ("ctr", "--address", str(CONTAINERD_SOCKET), "--namespace", "k8s.io")


def wait_for_runtime(*, seconds: float = 30.0) -> None:
    """Wait until containerd answers."""
    deadline = time.monotonic() + seconds
    while not succeeds([*CTR, "version"], timeout=5):
        if time.monotonic() > deadline:
            raise DevError("containerd does not answer; see containerd.log in the log directory.")
        time.sleep(0.1)


def present_images() -> set[str]:
    """Return the names of the images that containerd holds."""
    return set(output_of([*CTR, "images", "list", "--quiet"]).split())


def import_tool_images() -> None:
    """Import the missing images of the in-cluster programs into containerd."""
    present = present_images()
    for program in IMAGE_PROGRAMS:
        name = tool_image(program)
        if name not in present:
            say(f"importing the image {name}")
            with tempfile.TemporaryDirectory() as directory:
                archive = Path(directory) / "image.tar"
                write_image(archive, name=name, program=Path(tool(program)))
                import_archive(archive)


def import_archive(archive: Path) -> None:
    """Load an OCI archive into containerd; blobs that containerd has may be missing in the archive."""
    output_of([*CTR, "images", "import", str(archive)], timeout=600)


def write_image(archive: Path, *, name: str, program: Path) -> None:
    """Write an OCI archive of an image with one static program."""
    layer = tar_of({program.name: program.read_bytes()}, mode=0o755)
    config = as_json(
        {
            "architecture": "amd64",
            "os": "linux",
            "config": {"Entrypoint": [f"/{program.name}"], "User": UNPRIVILEGED_USER, "WorkingDir": "/"},
            "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]},
        }
    )
    manifest = as_json(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": descriptor(config, "application/vnd.oci.image.config.v1+json"),
            "layers": [descriptor(layer, "application/vnd.oci.image.layer.v1.tar")],
        }
    )
    entry = descriptor(manifest, "application/vnd.oci.image.manifest.v1+json")
    entry["annotations"] = {"io.containerd.image.name": name}
    files = {f"blobs/sha256/{digest_of(blob)[7:]}": blob for blob in (layer, config, manifest)}
    files["oci-layout"] = as_json({"imageLayoutVersion": "1.0.0"})
    files["index.json"] = as_json({"schemaVersion": 2, "manifests": [entry]})
    archive.write_bytes(tar_of(files, mode=0o644))


def tar_of(files: dict[str, bytes], *, mode: int) -> bytes:
    """Return a reproducible tar archive of the files."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode = len(content), mode
            archive.addfile(entry, io.BytesIO(content))
    return buffer.getvalue()


def as_json(document: object) -> bytes:
    """Return a document as the bytes of its JSON."""
    return json.dumps(document).encode()


def digest_of(blob: bytes) -> str:
    """Return a blob's digest, its name in an image store."""
    return "sha256:" + hashlib.sha256(blob).hexdigest()


def descriptor(blob: bytes, media_type: str) -> dict[str, object]:
    """Return the reference to a blob in an image's manifest."""
    return {"mediaType": media_type, "digest": digest_of(blob), "size": len(blob)}


def remembered_containers() -> list[str]:
    """Return the containers that containerd knows, running or not."""
    return output_of([*CTR, "containers", "list", "--quiet"]).split()


def forget_containers() -> bool:
    """Delete all containers of containerd, whose processes must have ended; tell whether there were any."""
    names = remembered_containers()
    for name in names:
        succeeds([*CTR, "tasks", "delete", "--force", name])
        for result in CNI_RESULTS.glob(f"*-{name}-*"):
            result.unlink()
    if names:
        output_of([*CTR, "containers", "delete", *names], timeout=120)
    return bool(names)


def end_shims() -> None:
    """End the shim processes of our containers."""

    def ours(words: Sequence[str]) -> bool:
        return "containerd-shim" in words[0] and str(CONTAINERD_SOCKET) in words

    end_processes(pids_of_command(ours), patience=2.0)
