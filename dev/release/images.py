"""Writes both images as OCI archives, with a list of what each holds."""

import json
from pathlib import Path

from localcluster import image_loading, images, mounts
from localcluster.base_image import BUILDAH
from localcluster.console import alone, output_of, say, succeeds
from localcluster.settings import CACHE
from release import packages, sbom

NAMES = {"operator": "hudi-operator", "spark": "hudi-operator-spark"}
"""The names of the images in the chart, by target of the Dockerfile."""


def write(folder: Path, version: str, *, epoch: int) -> None:
    """Write each image and its list of packages, and say how large its layers are."""
    with alone(CACHE / "images.lock", meanwhile="another program is building images"):
        try:
            images.prepare_buildah()
            archives = {image.target: write_archive(image, folder, version) for image in images.IMAGES}
        finally:
            mounts.unmount_below(CACHE / "buildah")
    for target, archive in archives.items():
        document = folder / f"{NAMES[target]}-{version}.spdx.json"
        say(f"listing what {archive.name} holds")
        sbom.write(document, name=NAMES[target], version=version, found=packages.of_image(archive), epoch=epoch)


def write_archive(image: images.Image, folder: Path, version: str) -> Path:
    """Build an image unless it is there, and write it."""
    name, archive = image.name(), folder / f"{NAMES[image.target]}-{version}.oci.tar"
    if not succeeds([*BUILDAH, "inspect", "--type", "image", name]):
        images.build_with_buildah(image, name)
    entry, blobs = image_loading.hand_over(name, buildah=BUILDAH)
    entry["annotations"] = {"org.opencontainers.image.ref.name": version}
    image_loading.write_archive(archive, entry=entry, blobs=blobs)
    manifest = json.loads(blobs[str(entry["digest"])].read_text())
    sizes = " + ".join(f"{layer['size'] / 1e6:.1f}" for layer in manifest["layers"])
    unpacked = output_of([*BUILDAH, "images", "--format", "{{.Size}}", name]).strip()
    say(f"{archive.name}: layers of {sizes} MB, {unpacked} unpacked")
    return archive
