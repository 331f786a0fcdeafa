"""What the documentation tells a person to apply is accepted by a real API server, and what it says to type is read."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.api.conftest import Resources, changed
from tests.chart.conftest import own_tools, program
from tests.docs.commands import PLUGIN, typed
from tests.docs.pages import RUNBOOKS, blocks, commands, pages, part_of, resources

from hudi_operator.api.spec.operation import CHOICES

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
FIXTURES = {
    "HudiTable": "tables",
    "HudiTableClass": "classes",
    "HudiSavepoint": "savepoints",
    "HudiOperation": "operations",
}
WHOLE = {
    f"{block} {one['kind']}": one for page in pages() for block in blocks(page, "yaml") for one in resources(block)
}
PARTS = {str(block): part for page in pages() for block in blocks(page, "yaml") if (part := part_of(block)) is not None}
TYPED = {
    " ".join(command): command
    for command in (
        *(command for one in typed() for command in one.commands),
        *(command for page in RUNBOOKS for command in commands(page)),
    )
    if command[0] == "kubectl" and command[1] != PLUGIN
}
HELM = {" ".join(command): command for one in typed() for command in one.commands if command[0] == "helm"}
FROM_A_PIPE = "-"
READS = {"get", "describe", "wait", "logs", "auth", "port-forward", "rollout"}
NOTHING_THERE = re.compile(r"not found|NotFound|no matching resources")


@pytest.mark.parametrize("document", WHOLE.values(), ids=WHOLE)
def test_a_resource_of_a_page_is_accepted(document: dict[str, Any], request: pytest.FixtureRequest) -> None:
    kind: Resources = request.getfixturevalue(FIXTURES[document["kind"]])
    place = kind.smallest()["metadata"]
    assert kind.refusal_of_document({**document, "metadata": {**document["metadata"], **place}}) == ""


@pytest.mark.parametrize(("kind", "spec"), PARTS.values(), ids=PARTS)
def test_a_part_of_a_resource_is_accepted_with_what_every_resource_of_the_kind_has(
    kind: str, spec: dict[str, Any], request: pytest.FixtureRequest
) -> None:
    resources_of_kind: Resources = request.getfixturevalue(FIXTURES[kind])
    smallest = resources_of_kind.smallest()
    if not spec.keys().isdisjoint(CHOICES):
        for field in CHOICES:  # exactly one of them
            smallest["spec"].pop(field, None)
    whole = changed(smallest, {f"spec.{name}": value for name, value in spec.items()})
    assert resources_of_kind.refusal_of_document(whole) == ""


@pytest.mark.parametrize("command", TYPED.values(), ids=TYPED)
def test_a_command_of_a_page_is_one_that_kubectl_carries_out(
    command: list[str], a_file: Path, kubectl: Callable[[list[str]], subprocess.CompletedProcess[str]]
) -> None:
    """Nothing is there that it is about; a kind, verb or flag that there is not is refused in other words."""
    options = [] if command[1] in READS else ["--dry-run=server"]
    given = (FROM_A_PIPE, *(word for word in command if word.endswith(".yaml")))
    words = [str(a_file) if word in given else word for word in command[1:]]
    done = kubectl([*words, *options])
    assert done.returncode == 0 or NOTHING_THERE.search(done.stderr), done.stderr


@pytest.mark.parametrize("command", HELM.values(), ids=HELM)
def test_helm_knows_the_command_of_a_page_and_its_options(command: list[str]) -> None:
    done = subprocess.run(
        (own_tools() / "helm", *command[1:], "--help"), capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert f"helm {command[1]}" in done.stdout


def test_upgrade_of_the_definitions_applies_all_four(
    kubectl: Callable[[list[str]], subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """The documented pipe; Helm 3.19 separates definitions only where their files begin with `---`."""
    printed = tmp_path / "printed.yaml"
    command = (own_tools() / "helm", "show", "crds", ROOT / "charts" / "hudi-operator")
    printed.write_text(subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout)
    done = kubectl(["apply", "--server-side", "--force-conflicts", "--dry-run=server", "-f", str(printed)])
    applied = re.findall(r"customresourcedefinition\S+/(\w+)\.hudi-operator\.io", done.stdout)
    assert sorted(applied) == ["hudioperations", "hudisavepoints", "huditableclasses", "huditables"], done


@pytest.mark.parametrize(
    ("field", "default"),
    [
        ("huditable.spec.fileSizing.maxFileSize", "Default: 120Mi."),
        ("huditable.spec.ingestion.schedule", "Default: every: 5m."),
        ("huditableclass.spec.retry.maxDelay", "Default: 10m."),
        ("hudioperation.spec.dryRun", "Default: false."),
    ],
)
def test_kubectl_explain_names_the_default_of_a_field(
    field: str, default: str, kubectl: Callable[[list[str]], subprocess.CompletedProcess[str]]
) -> None:
    explained = kubectl(["explain", field])
    assert default in " ".join(explained.stdout.split()), explained


@pytest.mark.parametrize("command", [["get", "hudithings"], ["get", "hop", "--invented"], ["invent", "hop"]])
def test_a_command_that_there_is_not_is_found(
    command: list[str], kubectl: Callable[[list[str]], subprocess.CompletedProcess[str]]
) -> None:
    done = kubectl(command)
    assert done.returncode != 0
    assert not NOTHING_THERE.search(done.stderr), done.stderr


@pytest.fixture(scope="session")
def a_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file in place of one that a page has shown before."""
    path = tmp_path_factory.mktemp("given") / "given.yaml"
    path.write_text("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: given, namespace: default}\n")
    return path


@pytest.fixture(scope="session")
def kubectl(cluster: None) -> Callable[[list[str]], subprocess.CompletedProcess[str]]:  # noqa: ARG001 - it is wanted
    """Runs kubectl against the API server: the one on the PATH, or the local cluster's own."""
    found = program("kubectl")

    def run(arguments: list[str]) -> subprocess.CompletedProcess[str]:
        call = (found, f"--kubeconfig={os.environ['KUBECONFIG']}", *arguments)
        return subprocess.run(call, capture_output=True, text=True, check=False, timeout=60)

    return run
