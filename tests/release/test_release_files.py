"""The files that `make release` writes."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
import yaml

from hudi_operator import __version__
from hudi_operator.api.crd.kinds import KINDS

pytestmark = pytest.mark.chart

ROOT = Path(__file__).parents[2]
REGISTRY = "registry.example.com/team"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("release") / "dist"
    write(folder, "chart", "wheel", "notes")
    return folder


def write(folder: Path, *parts: str) -> None:
    command = (sys.executable, "-m", "release", "--folder", str(folder), "--registry", REGISTRY, "--parts", *parts)
    subprocess.run(command, cwd=ROOT, env=os.environ | {"PYTHONPATH": "dev"}, check=True, capture_output=True)


def test_checksums_name_every_file_and_hold(release: Path) -> None:
    done = subprocess.run(
        ("sha256sum", "--check", "SHA256SUMS"), cwd=release, capture_output=True, text=True, check=True
    )
    named = {line.partition(":")[0] for line in done.stdout.splitlines()}
    assert named == {path.name for path in release.iterdir()} - {"SHA256SUMS"}


def test_second_build_of_a_commit_gives_the_same_bytes(release: Path, tmp_path: Path) -> None:
    write(tmp_path / "again", "chart", "wheel", "notes")
    assert (tmp_path / "again" / "SHA256SUMS").read_text() == (release / "SHA256SUMS").read_text()


def test_packaged_chart_takes_both_images_from_the_registry_of_the_release(release: Path) -> None:
    with tarfile.open(release / f"hudi-operator-{__version__}.tgz") as archive:
        file = archive.extractfile("hudi-operator/values.yaml")
        assert file is not None
        values = yaml.safe_load(file)
    assert values["image"]["repository"] == f"{REGISTRY}/hudi-operator"
    assert values["sparkImage"]["repository"] == f"{REGISTRY}/hudi-operator-spark"


def test_manifest_has_the_namespace_every_definition_and_the_images_of_the_version(release: Path) -> None:
    documents = [one for one in yaml.safe_load_all((release / "install.yaml").read_text()) if one]
    assert documents[0]["kind"] == "Namespace"
    assert {one["metadata"]["name"] for one in documents if one["kind"] == "CustomResourceDefinition"} == {
        f"{kind.plural}.hudi-operator.io" for kind in KINDS
    }
    images = re.findall(r'"(registry\.example\.com\S+)"', (release / "install.yaml").read_text())
    assert images == [f"{REGISTRY}/hudi-operator:{__version__}", f"{REGISTRY}/hudi-operator-spark:{__version__}"]


def test_wheel_has_both_packages_and_the_commands(release: Path) -> None:
    (wheel,) = release.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        commands = archive.read(f"hudi_operator-{__version__}.dist-info/entry_points.txt").decode()
    assert {"hudi_operator/cli/main.py", "hudi_jobs/driver.py"} <= set(names)
    assert re.findall(r"^(\S+) =", commands, re.MULTILINE) == ["hudi-operator", "kubectl-hudi"]
