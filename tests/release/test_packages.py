"""The list of what an image holds comes from the image."""

import gzip
import io
import json
import tarfile
import zipfile
from hashlib import sha256
from pathlib import Path

import pytest
from spdx_tools.spdx.parser.parse_anything import parse_file

from release import packages, sbom

STATUS = b"""\
Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.36-9+deb12u10

Package: removed
Status: deinstall ok config-files
Architecture: amd64
Version: 1:1.0
"""
METADATA = b"Metadata-Version: 2.4\nName: Zope.Interface\nVersion: 7.2\n\nText: none\n"


def jar(*coordinates: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for one in coordinates:
            group, name, version = one.split(":")
            text = f"#Mon\nversion={version}\ngroupId={group}\nartifactId={name}\n"
            archive.writestr(f"META-INF/maven/{group}/{name}/pom.properties", text)
    return buffer.getvalue()


def layer(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


def image(folder: Path, *layers: dict[str, bytes]) -> Path:
    """Write an archive of an image, every second layer compressed."""
    blobs = [gzip.compress(layer(files)) if number % 2 else layer(files) for number, files in enumerate(layers)]
    manifest = {"layers": [{"digest": f"sha256:{sha256(blob).hexdigest()}"} for blob in blobs]}
    blobs.append(json.dumps(manifest).encode())
    index = {"manifests": [{"digest": f"sha256:{sha256(blobs[-1]).hexdigest()}"}]}
    archive = folder / "image.oci.tar"
    archive.write_bytes(
        layer(
            {"index.json": json.dumps(index).encode()}
            | {f"blobs/sha256/{sha256(blob).hexdigest()}": blob for blob in blobs}
        )
    )
    return archive


def purls(archive: Path) -> list[str]:
    return [package.purl for package in packages.of_image(archive)]


def test_packages_of_debian_python_and_maven_are_listed_unless_they_were_removed(tmp_path: Path) -> None:
    files = {
        "var/lib/dpkg/status": STATUS,
        "opt/hudi/lib/python3.11/site-packages/zope.interface-7.2.dist-info/METADATA": METADATA,
        "opt/hudi/spark/lib/guava-14.0.1.jar": jar("com.google.guava:guava:14.0.1"),
        "opt/hudi/spark/lib/plain-1.2.jar": jar(),
    }
    assert purls(image(tmp_path, files)) == [
        "pkg:deb/debian/libc6@2.36-9%2Bdeb12u10?arch=amd64",
        "pkg:maven/com.google.guava/guava@14.0.1",
        "pkg:maven/plain/plain@1.2",
        "pkg:pypi/zope-interface@7.2",
    ]


def test_higher_layer_replaces_and_removes_what_a_lower_one_holds(tmp_path: Path) -> None:
    lower = {"a/b-1.jar": jar(), "a/c-1.jar": jar(), "kept/d-1.jar": jar(), "var/lib/dpkg/status": STATUS}
    upper = {".wh.a": b"", "var/lib/dpkg/status": STATUS.replace(b"2.36-9", b"2.36-10")}
    assert purls(image(tmp_path, lower, upper)) == [
        "pkg:deb/debian/libc6@2.36-10%2Bdeb12u10?arch=amd64",
        "pkg:maven/d/d@1",
    ]


def test_what_is_shaded_into_a_jar_is_listed_below_it(tmp_path: Path) -> None:
    bundle = jar("org.example:bundle:1.0", "com.google.guava:guava:14.0.1", "org.other:part:2.0")
    (found,) = packages.of_image(image(tmp_path, {"lib/bundle-1.0.jar": bundle}))
    assert (found.purl, found.sha256) == ("pkg:maven/org.example/bundle@1.0", sha256(bundle).hexdigest())
    assert [one.purl for one in found.shaded] == [
        "pkg:maven/com.google.guava/guava@14.0.1",
        "pkg:maven/org.other/part@2.0",
    ]


@pytest.mark.parametrize("name", ["hudi-operator", "hudi-operator-spark"])
def test_document_is_spdx_that_other_programs_read(name: str, tmp_path: Path) -> None:
    bundle = jar("org.example:bundle:1.0", "com.google.guava:guava:14.0.1")
    found = packages.of_image(image(tmp_path, {"lib/bundle-1.0.jar": bundle, "var/lib/dpkg/status": STATUS}))
    path = tmp_path / f"{name}.spdx.json"

    sbom.write(path, name=name, version="1.2.3", found=found, epoch=1_700_000_000)

    document = parse_file(str(path))
    assert {one.name for one in document.packages} == {name, "bundle", "guava", "libc6"}
    assert document.creation_info.created.year == 2023
    assert len(document.relationships) == 4
