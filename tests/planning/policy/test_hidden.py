"""A table whose class, path or claim stands in the way: it starts nothing, and shows of its folder what it may."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import assume, given
from tests.planning.test_conformance import observations
from tests.planning.world import NOW, plan_for, status_of

from hudi_jobs.contract import Service
from hudi_operator.planning.model import Blocker, BlockerReason, CreateJob, LaunchJob, Observation
from hudi_operator.planning.model.times import format_time
from hudi_operator.planning.outcome.findings.finding_registry import DEFINITIONS
from hudi_operator.services.registry import SERVICES

TOLD_BY_A_TIMELINE = {one.code for one in DEFINITIONS if one.needs_timeline}


@given(observations())
def test_hidden_table_shows_nothing_of_its_folder_and_starts_nothing(observation: Observation) -> None:
    assume(observation.is_hidden)
    after = status_of(observation)
    if after.timeline is not None:
        assert set(after.timeline.model_dump(exclude_defaults=True)) == {"verified_up_to"}
    asked = {
        Service.SAVEPOINT: after.services.savepoint,
        Service.OPERATION: after.services.operation,
        Service.CATALOG: after.services.catalog,
    }
    for service in (one for one in SERVICES if one not in asked or asked[one] is not None):
        memory = after.services.of(service)
        assert (memory.counted, memory.threshold, memory.checkpoint, memory.blocked_by) == (None, None, None, None)
        assert (memory.pending, memory.due, memory.reason) == ((), False, "Blocked")
    own = f"{observation.table.metadata.namespace}/{observation.table.metadata.name}"
    assert after.owner is None or after.owner.table == own
    assert not {one.code for one in after.findings} & TOLD_BY_A_TIMELINE
    assert not [action for action in plan_for(observation).actions if isinstance(action, LaunchJob | CreateJob)]


@given(observations())
def test_table_without_its_class_shows_the_last_figures_and_starts_nothing(observation: Observation) -> None:
    missing = Blocker(reason=BlockerReason.CLASS_NOT_FOUND, message="No class.", keeps_figures=True)
    observation = replace(observation, table_class=None, blockers=(missing,), holds_claim=True)
    before, after = observation.table.status, status_of(observation)
    assert (after.timeline, after.table) == (before.timeline, before.table)
    assert after.stale_since == (format_time(NOW) if before.timeline is not None else None)
    for service in (Service.COMPACTION, Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL):
        old, new = before.services.of(service), after.services.of(service)
        assert (new.counted, new.threshold, new.pending) == (old.counted, old.threshold, old.pending)
        assert (new.due, new.reason) == (False, "Blocked")
    assert not [action for action in plan_for(observation).actions if isinstance(action, LaunchJob | CreateJob)]
