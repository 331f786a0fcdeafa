"""Writes what an image holds as SPDX 2.3."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from spdx_tools.spdx.model import (
    Actor,
    ActorType,
    Checksum,
    ChecksumAlgorithm,
    CreationInfo,
    Document,
    ExternalPackageRef,
    ExternalPackageRefCategory,
    PackagePurpose,
    Relationship,
    RelationshipType,
    SpdxNoAssertion,
)
from spdx_tools.spdx.model import Package as SpdxPackage
from spdx_tools.spdx.writer.json.json_writer import write_document_to_file

from release.packages import Package

IMAGE = "SPDXRef-Image"


def write(path: Path, *, name: str, version: str, found: Sequence[Package], epoch: int) -> None:
    """Write the document of an image; the writer refuses one that breaks the standard."""
    write_document_to_file(document(name=name, version=version, found=found, epoch=epoch), str(path), validate=True)


def document(*, name: str, version: str, found: Sequence[Package], epoch: int) -> Document:
    """Return the document of an image: the image, its packages, and what is shaded into them."""
    digest = hashlib.sha256(repr(found).encode()).hexdigest()
    creation = CreationInfo(
        spdx_version="SPDX-2.3",
        spdx_id="SPDXRef-DOCUMENT",
        name=f"{name}-{version}",
        document_namespace=f"https://hudi-operator.io/spdx/{name}-{version}-{digest[:16]}",
        creators=[Actor(ActorType.TOOL, f"hudi-operator-release-{version}")],
        created=datetime.fromtimestamp(epoch, UTC).replace(tzinfo=None),
    )
    image = SpdxPackage(
        IMAGE, name, SpdxNoAssertion(), version=version, primary_package_purpose=PackagePurpose.CONTAINER,
        files_analyzed=False,
    )  # fmt: skip
    packages = {package.purl: package for one in found for package in (one, *one.shaded)}
    relations = [Relationship("SPDXRef-DOCUMENT", RelationshipType.DESCRIBES, IMAGE), *relationships(found)]
    return Document(creation, packages=[image, *map(as_spdx, packages.values())], relationships=relations)


def relationships(found: Sequence[Package]) -> Iterator[Relationship]:
    """Yield what holds which package."""
    for one in found:
        yield Relationship(IMAGE, RelationshipType.CONTAINS, identifier(one))
        for shaded in one.shaded:
            yield Relationship(identifier(one), RelationshipType.CONTAINS, identifier(shaded))


def as_spdx(package: Package) -> SpdxPackage:
    """Return a package in SPDX's model."""
    return SpdxPackage(
        identifier(package),
        package.name,
        SpdxNoAssertion(),
        version=package.version or None,
        files_analyzed=False,
        checksums=[Checksum(ChecksumAlgorithm.SHA256, package.sha256)] if package.sha256 else [],
        external_references=[
            ExternalPackageRef(ExternalPackageRefCategory.PACKAGE_MANAGER, "purl", package.purl),
        ],
    )


def identifier(package: Package) -> str:
    """Return an identifier of the characters that SPDX allows; the digest tells apart what these make equal."""
    plain = re.sub(r"[^A-Za-z0-9.]+", "-", f"{package.name}-{package.version}").strip("-")
    return f"SPDXRef-{plain}-{hashlib.sha256(package.purl.encode()).hexdigest()[:8]}"
