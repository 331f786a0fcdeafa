"""Which commit is kept where the operator chooses it, and when it is tried again after a run has failed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.savepoints.savepoints import JOB, at_work, entry, later, of, over, saved, savepoint, works, world
from tests.planning.world import NOW, again, ago, at, done, job, memory, run, status_of, table_class

from hudi_jobs.contract import Outcome, SavepointWork, Service
from hudi_operator.api.status.savepoints import HudiSavepointStatus, SavepointState
from hudi_operator.planning.facts.savepoints.requested import may_choose_again
from hudi_operator.planning.model import Observation
from hudi_operator.timeline import CleanSummary

CLEANED: dict[str, Any] = {"files": (done("clean", 5),), "clean": CleanSummary(earliest_retained=ago(10))}
DECIDED = entry(instant=ago(20), state="Waiting", reason="Waiting")
FAILED = memory(
    last_run=run(Outcome.FAILED, service="Savepoint", reason="HudiError"), failures=9, failures_generation=1
)


@pytest.mark.parametrize(("instant", "changes"), [(ago(20), CLEANED), (ago(15), {})], ids=["cleaned", "undone"])
def test_latest_is_chosen_again_when_the_decided_commit_can_no_longer_be_kept(
    instant: str, changes: dict[str, Any]
) -> None:
    seen = world(savepoint(), remembered=(entry(instant=instant, state="Waiting"),), **changes)
    assert works(seen) == [(SavepointWork.MAKE, ago(10))]
    assert of(seen).instant == ago(10), "it is remembered with the Job"
    own = world(savepoint(status=HudiSavepointStatus(instant=instant)), **changes)
    assert works(own) == [(SavepointWork.MAKE, ago(10))]


def test_the_latest_waits_while_the_commit_that_was_decided_is_undone() -> None:
    undone = f"{ago(15)}.deltacommit.inflight"
    seen = world(savepoint(), remembered=(entry(instant=ago(15), state="Waiting"),), files=(undone,))
    assert (of(seen).state, of(seen).reason, works(seen)) == (SavepointState.WAITING, "InstantPending", [])


def test_decided_commit_is_remembered_until_the_job_for_another_commit_is() -> None:
    seen = world(savepoint(), remembered=(DECIDED,), suspend=True, **CLEANED)
    assert (of(seen).state, of(seen).reason, of(seen).instant) == (SavepointState.WAITING, "InstantCleaned", ago(20))


@pytest.mark.parametrize("left", [saved(20, 15), f"{ago(20)}.savepoint.inflight"], ids=["made", "begun"])
def test_no_other_commit_is_chosen_where_the_first_has_a_savepoint_or_may_get_one(left: str) -> None:
    seen = world(savepoint(), remembered=(DECIDED,), files=(left, done("clean", 5)), clean=CLEANED["clean"])
    assert works(seen) == []


def test_no_other_commit_is_chosen_for_a_resource_that_names_its_instant() -> None:
    seen = world(savepoint(instant=ago(20)), remembered=(DECIDED,), **CLEANED)
    assert (of(seen).state, works(seen)) == (SavepointState.REFUSED, [])


def test_no_other_commit_is_chosen_while_the_job_for_the_first_is_at_work() -> None:
    running: dict[str, Any] = {"told": {"active_jobs": (at_work(instant=ago(20)),)}}
    running["jobs"] = (job(JOB, service=Service.SAVEPOINT),)
    seen = world(savepoint(), remembered=(DECIDED,), **running, **CLEANED)
    assert (works(seen), of(seen).reason) == ([], "Running")


def refused_by_the_driver(**changes: Any) -> Observation:
    told = over(Outcome.NOTHING_TO_DO, reason="SavepointRefused", message="It was cleaned.")
    return world(savepoint(), told={"active_jobs": (at_work(),)}, jobs=(told,), **changes)


def test_refused_savepoint_of_the_latest_waits_for_another_commit() -> None:
    seen = refused_by_the_driver()
    after = of(seen)
    assert (after.state, after.reason, after.message) == (
        SavepointState.WAITING,
        "SavepointRefused",
        "It was cleaned.",
    )
    stored = again(replace(seen, jobs=()), status_of(seen))
    assert works(stored, now=later(600)) == []
    newer = world(savepoint(), files=(done("commit", 2),), remembered=(after,))
    assert works(newer) == [], "it backs off"
    assert works(newer, now=later(60)) == [(SavepointWork.MAKE, ago(2))]


def test_a_driver_that_always_refuses_is_asked_ever_less_often() -> None:
    waits = []
    for failures in (0, 4):
        known = entry(instant=ago(10), state="Waiting", failures=failures)
        after = of(refused_by_the_driver(remembered=(known,)))
        waits.append(after.retry_at or "")
    assert at(NOW) < waits[0] < waits[1]


def test_the_whole_timeline_is_read_where_another_commit_may_be_chosen() -> None:
    assert may_choose_again(status_of(world(savepoint(), remembered=(DECIDED,), suspend=True)))
    assert not may_choose_again(status_of(world(savepoint(instant=ago(20)), files=(saved(20),))))
    assert not may_choose_again(status_of(world(files=(saved(20),))))


def test_failing_savepoint_delays_no_other_savepoint() -> None:
    bad = entry("bad", instant=ago(30), state="Waiting", failures=9, retry_at=at(later(60)))
    good = entry("good", instant=ago(20), state="Waiting", failures=1, retry_at=at(later(1)))
    both = (savepoint("bad", instant=ago(30)), savepoint("good", instant=ago(20), created=NOW))
    seen = world(*both, remembered=(bad, good), told={"savepoint": FAILED})
    assert works(seen) == []
    assert works(seen, now=later(2)) == [(SavepointWork.MAKE, ago(20))]
    alone = world(both[0], remembered=(bad,), told={"savepoint": FAILED})
    assert works(alone, now=later(59)) == []
    assert works(alone, now=later(61)) == [(SavepointWork.MAKE, ago(30))]


def test_failure_doubles_only_the_wait_of_its_own_savepoint() -> None:
    bound = table_class(retry={"initialDelay": "1m", "maxDelay": "30m", "maxAttempts": 5})
    failed = over(Outcome.FAILED, reason="HudiError", message="No.")
    waits = []
    for failures in (0, 1, 2, 7):
        known = entry(instant=ago(10), state="Waiting", failures=failures)
        told = {"active_jobs": (at_work(),), "savepoint": FAILED}
        waits.append(of(world(savepoint(), remembered=(known,), told=told, jobs=(failed,), table_class=bound)).retry_at)
    assert waits == [at(later(wait)) for wait in (1, 2, 4, 60)]


def test_requested_attempt_starts_at_once() -> None:
    bad = entry(instant=ago(20), state="Waiting", failures=9, retry_at=at(later(60)))
    seen = world(savepoint(instant=ago(20)), remembered=(bad,), told={"savepoint": FAILED})
    assert works(seen) == []
    metadata = seen.table.metadata.copy_with(annotations={"hudi-operator.io/requested-at": "now"})
    asked = replace(seen, table=seen.table.copy_with(metadata=metadata))
    assert works(asked) == [(SavepointWork.MAKE, ago(20))]


def test_the_latest_waits_for_another_commit_where_the_newest_has_been_cleaned() -> None:
    seen = world(savepoint(), files=(done("clean", 5),), clean=CleanSummary(earliest_retained=ago(7)))
    assert (of(seen).state, of(seen).reason, works(seen)) == (SavepointState.WAITING, "InstantCleaned", [])
