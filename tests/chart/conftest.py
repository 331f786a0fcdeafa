"""helm, and the documents that the chart makes of values."""

import os
import shutil
import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.samples import IN_FULL

from localcluster.settings import programs_of
from localcluster.toolchain import ensure_helm, ensure_prometheus

ROOT = Path(__file__).parents[2]
CHART = ROOT / "charts" / "hudi-operator"
KUBERNETES_VERSION = "1.34.0"

Document = dict[str, Any]


@pytest.fixture(scope="session")
def helm() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs helm: the one that HELM names, the one on the PATH, or the local cluster's own."""
    return partial(run, program("helm"))


@pytest.fixture(scope="session")
def chart() -> Path:
    return CHART


@pytest.fixture
def values_file(tmp_path: Path) -> Callable[[Document], str]:
    """Writes values to a file and returns its path."""

    def write(values: Document) -> str:
        path = tmp_path / "values.yaml"
        path.write_text(yaml.safe_dump(values))
        return str(path)

    return write


@pytest.fixture
def template(
    helm: Callable[..., subprocess.CompletedProcess[str]], values_file: Callable[[Document], str]
) -> Callable[[Document], subprocess.CompletedProcess[str]]:
    """Renders the chart as release `hudi` in namespace `hudi-system`."""

    def render(values: Document) -> subprocess.CompletedProcess[str]:
        return helm(
            "template",
            "hudi",
            str(CHART),
            "--namespace=hudi-system",
            f"--kube-version={KUBERNETES_VERSION}",
            f"--values={values_file(values)}",
        )

    return render


@pytest.fixture
def documents(template: Callable[[Document], subprocess.CompletedProcess[str]]) -> Callable[[Document], list[Document]]:
    """Returns the documents that the chart makes of values."""

    def render(values: Document) -> list[Document]:
        result = template(values)
        assert result.returncode == 0, result.stderr
        return [document for document in yaml.safe_load_all(result.stdout) if document]

    return render


@pytest.fixture(scope="session", params=[pytest.param(3, id="3.14"), pytest.param(4, id="4")])
def other_helm(request: pytest.FixtureRequest) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs another Helm than the cluster's: built by `make test-all`; the test skips where it is not built."""
    found = programs_of(f"helm{request.param}") / "helm"
    if IN_FULL:
        found = ensure_helm(request.param)
    if not found.exists():
        pytest.skip("this Helm is not built; make test-all builds it")
    return partial(run, str(found))


@pytest.fixture(scope="session")
def prometheus_tools() -> Path:
    """The folder with promtool and prometheus: built by `make test-all`; the test skips where they are not built."""
    if IN_FULL:
        return ensure_prometheus()
    folder = programs_of("prometheus")
    if not all((folder / name).exists() for name in ("promtool", "prometheus")):
        pytest.skip("promtool and prometheus are not built; make test-all builds them")
    return folder


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def program(name: str) -> str:
    """Return the program that the variable of its name has, the one on the PATH, or the local cluster's own."""
    return os.environ.get(name.upper()) or shutil.which(name) or str(own_tools() / name)


def own_tools() -> Path:
    """Return the folder with the local cluster's programs."""
    result = subprocess.run([ROOT / "dev" / "cluster", "tools"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return Path(result.stdout.splitlines()[-1])
