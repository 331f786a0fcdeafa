"""A table whose class, path or claim stands in the way: whatever was seen before, its folder stays out of sight."""

from __future__ import annotations

from hypothesis import assume, given
from tests.planning.test_conformance import observations
from tests.planning.world import plan_for, status_of

from hudi_jobs.contract import Service
from hudi_operator.planning.model import CreateJob, LaunchJob, Observation
from hudi_operator.planning.outcome.findings.registry import DEFINITIONS
from hudi_operator.services.registry import SERVICES

TOLD_BY_A_TIMELINE = {one.code for one in DEFINITIONS if one.needs_timeline}


@given(observations())
def test_hidden_table_shows_nothing_of_its_folder_and_starts_nothing(observation: Observation) -> None:
    assume(observation.is_hidden)
    after = status_of(observation)
    if after.timeline is not None:
        assert set(after.timeline.model_dump(exclude_defaults=True)) == {"verified_up_to"}
    asked = {Service.SAVEPOINT: after.services.savepoint, Service.OPERATION: after.services.operation}
    for service in (one for one in SERVICES if one not in asked or asked[one] is not None):
        memory = after.services.of(service)
        assert (memory.counted, memory.threshold, memory.checkpoint, memory.blocked_by) == (None, None, None, None)
        assert (memory.pending, memory.due, memory.reason) == ((), False, "Blocked")
    own = f"{observation.table.metadata.namespace}/{observation.table.metadata.name}"
    assert after.owner is None or after.owner.table == own
    assert not {one.code for one in after.findings} & TOLD_BY_A_TIMELINE
    assert not [action for action in plan_for(observation).actions if isinstance(action, LaunchJob | CreateJob)]
