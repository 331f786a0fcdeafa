"""The end of a table: what holds for every reconcile of a deleted resource."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.endings import (
    DELETION,
    GONE,
    NO_CLASS,
    REPORTED,
    STILL_THERE,
    UNREACHABLE,
    ending,
    failures,
    launched,
    released,
    remembering,
)
from tests.planning.world import (
    NOW,
    job,
    minutes,
    outcome,
    table_class,
)

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.spec.table import DeletionPolicy
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.deletion.attempts import EndingObservation
from hudi_operator.planning.deletion.decide_ending import (
    decide_ending,
)
from hudi_operator.planning.model import (
    JobPhase,
    NamespaceObservation,
    PodTrouble,
)

OBSERVATIONS = st.builds(
    ending,
    policy=st.sampled_from(DeletionPolicy),
    claim_held=st.booleans(),
    blockers=st.sampled_from([(), (NO_CLASS,)]),
    table_class=st.sampled_from([None, table_class()]),
    snapshot=st.sampled_from([GONE, STILL_THERE, UNREACHABLE]),
    spec=st.fixed_dictionaries({"suspend": st.booleans()}),
    namespace=st.sampled_from([None, NamespaceObservation(), NamespaceObservation(suspension="")]),
    status=st.sampled_from(
        [HudiTableStatus(), remembering(REPORTED), remembering(jobs=(DELETION,)), *map(failures, range(1, 6))]
    ),
    jobs=st.lists(
        st.builds(
            job,
            st.sampled_from([DELETION, "flights-ingestion-1"]),
            service=st.sampled_from([Service.DELETION, Service.INGESTION]),
            phase=st.sampled_from(JobPhase),
            trouble=st.sampled_from([None, PodTrouble.IMAGE_PULL_FAILED]),
            outcome=st.sampled_from([None, outcome(Outcome.SUCCEEDED), outcome(Outcome.FAILED)]),
        ),
        max_size=2,
        unique_by=lambda one: one.name,
    ).map(tuple),
)


@given(seen=OBSERVATIONS, elapsed=st.integers(0, 60))
def test_nothing_is_removed_and_nobody_goes_while_a_job_of_the_table_runs(
    seen: EndingObservation, elapsed: int
) -> None:
    plan = decide_ending(seen, now=NOW + minutes(elapsed))
    if any(one.phase is not JobPhase.OVER for one in seen.jobs):
        assert not released(plan)
        assert not launched(plan)


@given(seen=OBSERVATIONS, elapsed=st.integers(0, 60))
def test_data_is_only_removed_where_the_spec_asks_for_it_and_the_claim_is_held(
    seen: EndingObservation, elapsed: int
) -> None:
    plan = decide_ending(seen, now=NOW + minutes(elapsed))
    if launched(plan):
        assert seen.policy is DeletionPolicy.DELETE
        assert seen.claim_held
        assert seen.blockers == ()
        assert seen.table is not None
        assert seen.suspended_by is None
        assert seen.namespace is not None


@given(seen=OBSERVATIONS)
def test_a_reconcile_of_an_unchanged_world_changes_nothing(seen: EndingObservation) -> None:
    first = decide_ending(seen, now=NOW)
    second = decide_ending(replace(seen, status=first.status), now=NOW)
    if not launched(first) and not first.finished and first.status.history == seen.status.history:
        assert second.status == first.status


@given(seen=OBSERVATIONS)
def test_every_table_ends_once_no_pod_of_it_runs(seen: EndingObservation) -> None:
    now = NOW
    for _ in range(60):
        plan = decide_ending(seen, now=now)
        if released(plan):
            return
        # Every Job that is left or is launched from here on dies without a word.
        seen = replace(seen, status=plan.status, jobs=())
        if launched(plan):
            jobs = tuple(one.copy_with(uid="job-uid") for one in plan.status.active_jobs)
            seen = replace(seen, status=plan.status.copy_with(active_jobs=jobs))
        now += minutes(1)
    pytest.fail("the table has not ended within an hour")
