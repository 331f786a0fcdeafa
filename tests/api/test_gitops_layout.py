"""The repository of `examples/gitops`: what kubectl makes of each environment, and what the API server says to it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.conftest import program

from hudi_operator.api.resources import HudiTable, HudiTableClass, parse_table, parse_table_class
from hudi_operator.planning.policy.class_policy import policy_blockers

LAYOUT = Path(__file__).parents[2] / "examples" / "gitops"
ENVIRONMENTS = ("staging", "production")
Document = dict[str, Any]


@pytest.fixture(scope="module")
def built() -> dict[str, list[Document]]:
    """Return the resources of each environment."""
    kubectl = program("kubectl")

    def resources(environment: str) -> list[Document]:
        command = [kubectl, "kustomize", str(LAYOUT / "environments" / environment)]
        made = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
        return list(yaml.safe_load_all(made.stdout))

    return {environment: resources(environment) for environment in ENVIRONMENTS}


def table_and_class(documents: list[Document]) -> tuple[HudiTable, HudiTableClass]:
    kinds = {one["kind"]: one for one in documents}
    table, table_class = parse_table(kinds["HudiTable"]), parse_table_class(kinds["HudiTableClass"])
    assert isinstance(table, HudiTable), table
    assert isinstance(table_class, HudiTableClass), table_class
    return table, table_class


@pytest.mark.cluster
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_class_of_an_environment_allows_its_tables(environment: str, built: dict[str, list[Document]]) -> None:
    table, table_class = table_and_class(built[environment])
    assert policy_blockers(table, table_class) == ()


@pytest.mark.cluster
def test_environments_share_no_base_path(built: dict[str, list[Document]]) -> None:
    paths = [table_and_class(built[environment])[0].spec.base_path for environment in ENVIRONMENTS]
    assert len(set(paths)) == len(paths)


@pytest.mark.cluster
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_api_server_accepts_the_resources_of_an_environment(
    environment: str, built: dict[str, list[Document]], tables: Any, classes: Any
) -> None:
    for document in built[environment]:
        kind = tables if document["kind"] == "HudiTable" else classes
        place = kind.smallest()["metadata"]
        assert kind.refusal_of_document({**document, "metadata": {**document["metadata"], **place}}) == ""


def test_every_file_of_the_layout_is_yaml_with_a_kind() -> None:
    for path in LAYOUT.rglob("*.yaml"):
        if "resource_customizations" not in path.parts and path.name != "kustomization.yaml":
            assert yaml.safe_load(path.read_text())["kind"], path
