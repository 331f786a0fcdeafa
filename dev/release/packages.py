"""Finds the packages in an image: those of Debian and of Python, and the jars with what is shaded into them."""

import hashlib
import io
import json
import re
import tarfile
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.parser import BytesParser
from pathlib import Path, PurePosixPath
from typing import IO

DPKG_STATUS = "var/lib/dpkg/status"
PYTHON_METADATA = re.compile(r"/[^/]+\.dist-info/METADATA$")
_JAR_NAME = re.compile(r"^(?P<name>.+?)-(?P<version>\d[^/]*?)\.jar$")
_POM = re.compile(r"^META-INF/maven/[^/]+/[^/]+/pom\.properties$")
_REMOVED = ".wh."


@dataclass(frozen=True)
class Package:
    """A package with its purl, the address of a package that scanners look up."""

    name: str
    version: str
    purl: str
    sha256: str = ""
    shaded: tuple["Package", ...] = ()


def of_image(archive: Path) -> list[Package]:
    """Return the packages in an OCI archive of one image, sorted by purl."""
    kept: dict[str, list[Package]] = {}
    with tarfile.open(archive) as image:
        for layer in layers(image):
            read_layer(layer, kept)
    found = {package.purl: package for packages in kept.values() for package in packages}
    return [found[purl] for purl in sorted(found)]


def layers(image: tarfile.TarFile) -> Iterator[IO[bytes]]:
    """Yield the layers of an image as tar files, from the lowest to the highest."""

    def blob(digest: str) -> IO[bytes]:
        file = image.extractfile(f"blobs/{digest.replace(':', '/')}")
        assert file is not None
        return file

    index = image.extractfile("index.json")
    assert index is not None
    manifest = json.load(blob(json.load(index)["manifests"][0]["digest"]))
    for layer in manifest["layers"]:
        yield blob(layer["digest"])


def read_layer(layer: IO[bytes], kept: dict[str, list[Package]]) -> None:
    """Add the packages of a layer, by the file that tells of them; a higher layer replaces and removes files."""
    with tarfile.open(fileobj=layer, mode="r|*") as files:
        for member in files:
            path = PurePosixPath(member.name)
            if path.name.startswith(_REMOVED):
                removed = str(path.with_name(path.name.removeprefix(_REMOVED)))
                for name in [name for name in kept if name == removed or name.startswith(f"{removed}/")]:
                    del kept[name]
            elif tells_of_packages(str(path)) and (file := files.extractfile(member)):
                kept[str(path)] = packages_of_file(str(path), file.read())


def tells_of_packages(path: str) -> bool:
    """Tell whether a file of an image says which packages it holds."""
    return path == DPKG_STATUS or path.endswith(".jar") or PYTHON_METADATA.search(path) is not None


def packages_of_file(path: str, content: bytes) -> list[Package]:
    """Return the packages that a file of an image tells of."""
    if path == DPKG_STATUS:
        return debian_packages(content)
    return [jar(PurePosixPath(path).name, content)] if path.endswith(".jar") else [python_package(content)]


def debian_packages(status: bytes) -> list[Package]:
    """Return the installed packages of dpkg's list."""
    found = []
    for paragraph in status.split(b"\n\n"):
        fields = BytesParser().parsebytes(paragraph, headersonly=True)
        name, version = fields["Package"], fields["Version"]
        if name and version and str(fields["Status"]).endswith(" installed"):
            purl = f"pkg:deb/debian/{name}@{quoted(version)}?arch={fields['Architecture']}"
            found.append(Package(name, version, purl))
    return found


def python_package(metadata: bytes) -> Package:
    """Return the package of a METADATA file."""
    fields = BytesParser().parsebytes(metadata, headersonly=True)
    name, version = fields["Name"], fields["Version"]
    return Package(name, version, f"pkg:pypi/{re.sub(r'[-_.]+', '-', name).lower()}@{quoted(version)}")


def jar(file_name: str, content: bytes) -> Package:
    """Return a jar, named by its own coordinates or else by its file name, with what is shaded into it."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        poms = [archive.read(name).decode(errors="replace") for name in archive.namelist() if _POM.match(name)]
    coordinates = [coordinates_of(pom) for pom in poms]
    named = _JAR_NAME.match(file_name)
    name, version = (named["name"], named["version"]) if named else (file_name.removesuffix(".jar"), "")
    own = [one for one in coordinates if one[1] == name] or [(name, name, version)]
    shaded = sorted({one for one in coordinates if one[1] != name and all(one)})
    return Package(name, version, maven(*own[0]), hashlib.sha256(content).hexdigest(), as_packages(shaded))


def as_packages(coordinates: Sequence[tuple[str, str, str]]) -> tuple[Package, ...]:
    """Return the packages of coordinates."""
    return tuple(Package(name, version, maven(group, name, version)) for group, name, version in coordinates)


def coordinates_of(properties: str) -> tuple[str, str, str]:
    """Return group, artifact and version of a pom.properties."""
    values = dict(line.split("=", 1) for line in properties.splitlines() if "=" in line and not line.startswith("#"))
    return values.get("groupId", "").strip(), values.get("artifactId", "").strip(), values.get("version", "").strip()


def maven(group: str, name: str, version: str) -> str:
    """Return the purl of coordinates."""
    return f"pkg:maven/{group}/{name}" + (f"@{quoted(version)}" if version else "")


def quoted(version: str) -> str:
    """Return a version as it stands in a purl."""
    return version.replace("%", "%25").replace("+", "%2B").replace(":", "%3A")
