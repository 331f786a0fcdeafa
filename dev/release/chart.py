"""Writes the chart as a package, and as one manifest for people without helm."""

import gzip
import io
import shutil
import tarfile
import tempfile
from pathlib import Path

import yaml

from localcluster import toolchain
from localcluster.console import output_of
from localcluster.settings import CHECKOUT, KUBERNETES_VERSION, tool
from release.version import chart_with_version

CHART = "hudi-operator"
NAMESPACE = "hudi-operator"
MANIFEST = "install.yaml"
NAMESPACE_DOCUMENT = {
    "apiVersion": "v1",
    "kind": "Namespace",
    "metadata": {"name": NAMESPACE, "labels": {"pod-security.kubernetes.io/enforce": "restricted"}},
}


def write(folder: Path, version: str, *, registry: str, epoch: int) -> Path:
    """Write the package and the manifest, and return the package."""
    toolchain.ensure_tools((toolchain.HELM,))
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary) / CHART
        shutil.copytree(CHECKOUT / "charts" / CHART, source)
        chart_file, values = source / "Chart.yaml", source / "values.yaml"
        chart_file.write_text(chart_with_version(chart_file.read_text(), version))
        values.write_text(values_with_registry(values.read_text(), registry))
        package = package_chart(source, folder, version, epoch=epoch)
    (folder / MANIFEST).write_text(manifest(package))
    return package


def values_with_registry(text: str, registry: str) -> str:
    """Return the values with the registry before the names of both images."""
    return text.replace("  repository: hudi-operator", f"  repository: {registry}/hudi-operator") if registry else text


def package_chart(source: Path, folder: Path, version: str, *, epoch: int) -> Path:
    """Have helm check and package a chart, and take the time of packaging out of the package."""
    output_of([tool(toolchain.HELM), "package", str(source), "--destination", str(folder), "--version", version])
    package = folder / f"{CHART}-{version}.tgz"
    with tarfile.open(package) as archive:
        members = [(member, archive.extractfile(member)) for member in archive.getmembers()]
        contents = [(member.name, file.read()) for member, file in members if file]
    package.write_bytes(archive_of(contents, epoch=epoch))
    return package


def archive_of(contents: list[tuple[str, bytes]], *, epoch: int) -> bytes:
    """Return a tar.gz of files, all of one time."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        for name, content in contents:
            member = tarfile.TarInfo(name)
            member.size, member.mtime, member.mode = len(content), epoch, 0o644
            archive.addfile(member, io.BytesIO(content))
    return gzip.compress(plain.getvalue(), mtime=epoch)


def manifest(package: Path) -> str:
    """Return the namespace, the definitions and the chart with its defaults."""
    rendered = output_of(
        [
            tool(toolchain.HELM),
            "template",
            CHART,
            str(package),
            "--namespace",
            NAMESPACE,
            "--include-crds",
            f"--kube-version={KUBERNETES_VERSION}",
        ]
    )
    return f"---\n{yaml.safe_dump(NAMESPACE_DOCUMENT, sort_keys=False)}{rendered}"
