"""What Argo CD and Flux show of each state of the project's resources."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from tests.gitops.health import ARGO, FOLDER, STATUSES, health_of, kstatus_of
from tests.gitops.states import State, config_map, files, states
from tests.planning.test_conformance import observations
from tests.planning.world import status_of

from hudi_operator.planning.model import Observation

STATES = states()
AGAIN = "run: python -m tests.gitops.states"


@pytest.mark.parametrize("state", STATES, ids=lambda one: one.name)
def test_argo_cd_shows_the_state(state: State) -> None:
    assert health_of(state.document).status == state.expected


@pytest.mark.parametrize("state", STATES, ids=lambda one: one.name)
def test_flux_agrees_with_argo_cd_on_failure_and_success(state: State) -> None:
    """Flux knows no suspended resource, and takes a resource without a status for settled."""
    expected = {"Healthy": {"Current"}, "Degraded": {"Failed", "InProgress"}, "Progressing": {"InProgress"}}
    if state.name != "table-new":
        assert kstatus_of(state.document) in expected.get(state.expected, {"Current", "InProgress"})


@settings(max_examples=25)
@given(observations())
def test_argo_cd_shows_every_stalled_table_as_degraded_with_its_message(seen: Observation) -> None:
    written = status_of(seen).to_document()
    document = {"metadata": {"generation": seen.table.metadata.generation}, "status": written}
    found, conditions = health_of(document), {one["type"]: one for one in written["conditions"]}
    assert found.status in STATUSES
    assert (found.status == "Degraded") >= ("Stalled" in conditions)
    assert (found.status == "Healthy") <= (conditions["Ready"]["status"] == "True")
    if "Stalled" in conditions:
        assert found.message == conditions["Stalled"]["message"]


@pytest.mark.parametrize(
    "broken",
    [{}, {"conditions": []}, {"conditions": [{}]}, {"conditions": [{"type": "Ready"}]}, {"observedGeneration": "x"}],
)
def test_argo_cd_waits_for_the_operator_while_a_status_says_nothing(broken: dict[str, Any]) -> None:
    assert health_of({"metadata": {"generation": 1}, "status": broken}).status == "Progressing"


def test_recorded_resources_are_those_that_the_operator_writes() -> None:
    found = {str(path.relative_to(FOLDER)): path.read_text() for path in FOLDER.rglob("*.yaml")}
    assert found == files(), AGAIN


def test_config_map_has_the_script_for_each_kind() -> None:
    assert (ARGO / "argocd-cm.yaml").read_text() == config_map(), AGAIN
