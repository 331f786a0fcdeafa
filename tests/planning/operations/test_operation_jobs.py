"""Jobs of operations that came or went unseen, never started, or are not wanted any more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.operations import JOB, UID, at_work, decided, entry, launches, of, operation, world
from tests.planning.world import NOW, again, ago, at, ended, job, minutes, plan_for, run, status_of

from hudi_jobs.contract import Outcome, Service
from hudi_jobs.contract.operator_folder import OperationTold
from hudi_operator.api.resources import OPERATIONS, InvalidObject, ObjectMetadata
from hudi_operator.api.spec.table_class import RetrySettings
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.planning.facts.operations.ended import after_failure
from hudi_operator.planning.model import (
    CreateJob,
    JobObservation,
    JobPhase,
    LaunchJob,
    Observation,
    PodTrouble,
    StopJob,
    TimelineSnapshot,
    TimelineTrouble,
)
from hudi_operator.planning.model.observation import Related

RESTORING = (f"{ago(1)}.restore.requested", f"{ago(1)}.restore.inflight")
WITHDRAWN = PodTrouble.WITHDRAWN.value
UNREADABLE = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE)


def remembering(the_job: ActiveJob, *resources: object, **changes: Any) -> Observation:
    """A table whose status has this Job of its operation, which has not begun as far as is known."""
    known = entry(state="Running", job=decided(**changes.pop("job", {})), **changes.pop("entry", {}))
    told = {"active_jobs": (the_job,)}
    return world(*(resources or (operation(),)), remembered=(known,), told=told, **changes)


def telling(seen: Observation, phase: str = "Running", *, by: str = JOB, uid: str = UID) -> Observation:
    document = {"uid": uid, "run": by, "phase": phase}
    return replace(seen, snapshot=replace(seen.snapshot, told=OperationTold.model_validate(document)))


def intent(age: float, **changes: Any) -> ActiveJob:
    """The Job of an operation that was decided so many minutes ago, and was not seen since."""
    found: ActiveJob = at_work(**changes)
    return found.copy_with(uid=None, state="Decided", started_at=at(NOW - minutes(age)))


def waiting(trouble: str, *, stopped: float | None) -> ActiveJob:
    """The Job of an operation that was last seen not to start, and removed so many minutes ago."""
    found: ActiveJob = at_work()
    stopped_at = at(NOW - minutes(stopped)) if stopped is not None else None
    return found.copy_with(state=trouble, message="why.", stopped_at=stopped_at)


def reasons(seen: Observation) -> list[str | None]:
    return [one.reason for one in plan_for(seen).finished]


@pytest.mark.parametrize("resource", [operation(), operation(deleted=NOW)], ids=["wanted", "deleted"])
def test_a_job_that_may_have_come_and_gone_unseen_may_have_begun_its_operation(resource: object) -> None:
    seen = remembering(intent(90), resource)
    assert reasons(seen) == ["JobLost"]
    after = of(seen)
    assert (after.state, after.begun, after.reason) == (OperationState.RUNNING, True, "Retrying")
    assert after.job is not None


def test_a_job_that_may_have_come_and_gone_unseen_is_remembered_until_the_timeline_can_be_read() -> None:
    seen = remembering(intent(90), snapshot=UNREADABLE)
    assert [one.name for one in status_of(seen).active_jobs] == [JOB]


def test_a_job_that_was_decided_just_now_and_is_not_there_has_not_run() -> None:
    young = remembering(intent(0.5), operation(deleted=NOW))
    assert (reasons(young), status_of(young).operations, status_of(young).active_jobs) == ([], (), ())
    assert of(telling(young)).begun, "unless it has told itself that it is past its check"


def test_a_dry_run_that_is_not_seen_is_forgotten() -> None:
    seen = remembering(intent(90, dry_run=True), job={"dry_run": True}, entry={"dry_run": True})
    assert (reasons(seen), of(seen).begun) == ([], False)


def test_a_repair_that_may_have_come_and_gone_unseen_leaves_the_table_whole() -> None:
    repair = {"kind": "Repair", "instant": None}
    seen = remembering(intent(90, **repair), job=repair, entry={"kind": "Repair"})
    assert (reasons(seen), of(seen).begun, of(seen).infrastructure_failures) == (["JobLost"], False, 1)


@pytest.mark.parametrize("trouble", [PodTrouble.UNSCHEDULABLE, PodTrouble.START_TIMEOUT, PodTrouble.WITHDRAWN])
def test_a_job_that_the_operator_has_removed_before_it_started_has_begun_nothing(trouble: PodTrouble) -> None:
    seen = remembering(waiting(trouble.value, stopped=10))
    assert (reasons(seen), of(seen).begun) == ([trouble], False)


@pytest.mark.parametrize("trouble", [PodTrouble.CONFIGURATION, PodTrouble.INIT_FAILED])
def test_a_job_whose_pod_is_there_and_never_ran_has_begun_nothing(trouble: PodTrouble) -> None:
    over = ended(JOB, service=Service.OPERATION, trouble=trouble, message="why.", pods=(f"{JOB}-x7k2p",))
    seen = remembering(at_work(), jobs=(over,))
    assert (reasons(seen), of(seen).begun, of(seen).reason) == ([trouble], False, "Retrying")
    going = Related.of({OPERATIONS: (operation(deleted=NOW),)})
    deleted = replace(again(seen, status_of(seen)), jobs=(), related=going)
    assert status_of(deleted).operations == (), "so that it can be taken back"
    for doubtful in (replace(over, has_run=True), replace(over, pods=())):
        assert of(replace(seen, jobs=(doubtful,))).begun
    assert of(telling(seen)).begun


@pytest.mark.parametrize("trouble", [PodTrouble.UNSCHEDULABLE, PodTrouble.IMAGE_PULL_FAILED])
def test_a_job_that_was_last_seen_not_to_start_may_have_started_since(trouble: PodTrouble) -> None:
    assert of(remembering(waiting(trouble.value, stopped=None))).begun
    over = ended(JOB, service=Service.OPERATION, has_run=True)
    assert of(remembering(waiting(trouble.value, stopped=1), jobs=(over,))).begun


@pytest.mark.parametrize("trouble", [PodTrouble.UNSCHEDULABLE, PodTrouble.WITHDRAWN])
def test_a_job_that_was_to_be_removed_has_begun_where_the_table_shows_its_work(trouble: PodTrouble) -> None:
    removed = waiting(trouble.value, stopped=10)
    assert of(telling(remembering(removed))).begun
    assert of(remembering(removed, files=RESTORING)).begun
    for other in ({"phase": "Checking"}, {"by": "flights-operation-9999999999"}, {"uid": "uid-of-another"}):
        assert not of(telling(remembering(removed), **other)).begun


def test_a_removal_that_came_after_the_driver_had_started_is_none() -> None:
    stuck = job(JOB, service=Service.OPERATION, phase=JobPhase.STARTING, created_at=NOW - minutes(30))
    (known,) = status_of(remembering(at_work(), jobs=(stuck,))).active_jobs
    assert (known.state, known.stopped_at) == ("StartTimeout", at(NOW))
    ending = replace(stuck, phase=JobPhase.ENDING)
    (kept,) = status_of(remembering(known, jobs=(ending,))).active_jobs
    assert (kept.state, kept.stopped_at) == ("StartTimeout", at(NOW))
    for started in (replace(ending, has_run=True), replace(stuck, phase=JobPhase.RUNNING)):
        (void,) = status_of(remembering(known, jobs=(started,))).active_jobs
        assert void.stopped_at is None


def test_a_job_that_a_queue_has_let_go_again_may_have_begun_before_it_was_removed_for_not_starting() -> None:
    changes: dict[str, Any] = {"phase": JobPhase.STARTING, "created_at": NOW - minutes(30)}
    stuck = job(JOB, service=Service.OPERATION, had_others=True, has_run=True, **changes)
    seen = remembering(at_work(), jobs=(stuck,))
    assert stops(seen) == [None]
    (known,) = status_of(seen).active_jobs
    assert (known.state, known.stopped_at) == ("StartTimeout", None)
    gone = remembering(known)
    assert (reasons(gone), of(gone).begun) == (["StartTimeout"], True)


HELD = job(JOB, service=Service.OPERATION, phase=JobPhase.SUSPENDED, held_version="7")
ANOTHER = operation().copy_with(metadata=operation().metadata.copy_with(uid="uid-2"))


def unparsed(**metadata: Any) -> InvalidObject:
    known = ObjectMetadata(name="back", namespace="team-a", uid=UID).copy_with(**metadata)
    return InvalidObject(metadata=known, message="No.")


def stops(seen: Observation) -> list[str | None]:
    return [one.version for one in plan_for(seen).actions if isinstance(one, StopJob)]


def held(*resources: object, jobs: tuple[JobObservation, ...] = (HELD,), **changes: Any) -> Observation:
    seen = remembering(at_work(), jobs=jobs, **changes)
    return replace(seen, related=Related.of({OPERATIONS: resources}))


def of_deleted_table(seen: Observation) -> Observation:
    metadata = seen.table.metadata.copy_with(deletion_timestamp=at(NOW))
    return replace(seen, table=seen.table.copy_with(metadata=metadata))


NOT_WANTED = {
    "it is deleted": held(operation(deleted=NOW)),
    "it is gone": held(),
    "another has its name": held(ANOTHER),
    "it is deleted and cannot be parsed": held(unparsed(deletion_timestamp=at(NOW))),
    "its table is deleted": of_deleted_table(held(operation())),
}


@pytest.mark.parametrize("seen", NOT_WANTED.values(), ids=NOT_WANTED)
def test_a_job_that_a_queue_holds_is_removed_where_nobody_wants_its_operation_any_more(seen: Observation) -> None:
    after = status_of(seen)
    assert stops(seen) == ["7"]
    assert [(one.state, one.stopped_at) for one in after.active_jobs] == [(WITHDRAWN, at(NOW))]
    gone = replace(seen, jobs=(), table=seen.table.copy_with(status=after))
    assert reasons(gone) == [WITHDRAWN]
    left = status_of(gone)
    assert UID not in {one.uid for one in left.operations}
    assert UID not in {one.operation.uid for one in left.active_jobs if one.operation is not None}


def test_a_withdrawn_job_that_a_finalizer_keeps_stays_withdrawn_while_the_timeline_cannot_be_read() -> None:
    seen = held(operation(deleted=NOW))
    kept = replace(again(seen, status_of(seen)), snapshot=UNREADABLE)
    kept = replace(kept, jobs=(replace(HELD, phase=JobPhase.OVER, held_version=None),), related=seen.related)
    (job,) = status_of(kept).active_jobs
    assert (job.state, job.stopped_at) == (WITHDRAWN, at(NOW))
    readable = replace(kept, snapshot=seen.snapshot, table=again(kept, status_of(kept)).table)
    assert reasons(readable) == [WITHDRAWN]
    assert UID not in {one.uid for one in status_of(readable).operations}


WANTED = {
    "it is there": held(operation()),
    "it cannot be parsed": held(unparsed()),
    "the status does not hold it, so that nobody has looked": held(entry={"uid": "uid-of-another"}),
}


@pytest.mark.parametrize("seen", WANTED.values(), ids=WANTED)
def test_a_job_that_a_queue_holds_stays_while_its_operation_may_be_wanted(seen: Observation) -> None:
    assert stops(seen) == []


@pytest.mark.parametrize("seen", NOT_WANTED.values(), ids=NOT_WANTED)
def test_a_job_that_a_queue_seems_to_hold_stays_where_its_run_has_told_anything(seen: Observation) -> None:
    assert stops(telling(seen, "Checking")) == []
    assert stops(telling(seen, by="flights-operation-9999999999")) == ["7"]


def beginning(seen: Observation, **changes: Any) -> Observation:
    """The same where an earlier run may have begun the operation, and its present Job was decided with this."""
    status = seen.table.status
    (known,) = status.active_jobs
    assert known.operation is not None
    jobs = (known.copy_with(operation=known.operation.copy_with(**changes)),)
    entries = tuple(one.copy_with(begun=one.uid == UID) for one in status.operations)
    changed = status.copy_with(active_jobs=jobs, operations=entries)
    return replace(seen, table=seen.table.copy_with(status=changed))


def launched(seen: Observation, **more: Any) -> list[bool]:
    """Whether the Jobs of operations that are decided only finish what a record shows."""
    return [one.job.operation.only_recorded for one in launches(seen, **more) if one.job.operation is not None]


@pytest.mark.parametrize("seen", NOT_WANTED.values(), ids=NOT_WANTED)
def test_a_held_job_that_may_begin_what_nobody_wants_any_more_gives_way_to_one_that_only_finishes(
    seen: Observation,
) -> None:
    seen = beginning(seen)
    assert stops(seen) == ["7"]
    gone = replace(seen, jobs=(), table=seen.table.copy_with(status=status_of(seen)))
    after = status_of(gone)
    (kept,) = [one for one in after.operations if one.uid == UID]
    assert (reasons(gone), kept.begun, kept.reason) == ([WITHDRAWN], True, "Retrying")
    later = replace(gone, table=gone.table.copy_with(status=after))
    assert launched(later, now=NOW + minutes(5)) == [True]


@pytest.mark.parametrize("seen", [*NOT_WANTED.values(), held(operation())], ids=[*NOT_WANTED, "it is wanted"])
def test_a_held_job_that_only_finishes_what_has_begun_stays(seen: Observation) -> None:
    assert stops(beginning(seen, only_recorded=True)) == []


def test_a_held_job_of_what_has_begun_stays_while_it_may_be_wanted() -> None:
    assert [stops(beginning(seen)) for seen in WANTED.values()] == [[], [], []]


@pytest.mark.parametrize("resource", [operation(), unparsed()], ids=["it is there", "it cannot be parsed"])
def test_a_job_of_what_has_begun_is_created_late_while_it_is_wanted(resource: object) -> None:
    assert [type(one) for one in plan_for(beginning(remembering(intent(0.5), resource))).actions] == [CreateJob]


def test_a_job_that_may_begin_what_nobody_wants_any_more_is_not_created_late() -> None:
    seen = beginning(remembering(intent(0.5), operation(deleted=NOW)))
    assert launched(seen) == [True]
    assert [type(one) for one in plan_for(seen).actions] == [LaunchJob]
    finishing = beginning(seen, only_recorded=True)
    assert [type(one) for one in plan_for(finishing).actions] == [CreateJob]


def test_a_job_is_not_created_late_for_a_table_that_is_deleted_meanwhile() -> None:
    seen = of_deleted_table(remembering(intent(0.5)))
    assert (plan_for(seen).actions, status_of(seen).active_jobs, status_of(seen).operations) == ((), (), ())


@pytest.mark.parametrize(
    ("the_job", "ends"),
    [
        (waiting(WITHDRAWN, stopped=0.5), True),
        (waiting(WITHDRAWN, stopped=1), False),
        (waiting(WITHDRAWN, stopped=None), False),
        (waiting("Unschedulable", stopped=0.5), False),
    ],
    ids=["just removed", "perhaps let go since", "not removed", "may have started"],
)
def test_a_held_job_that_was_just_removed_ends_also_where_the_timeline_cannot_be_read(
    the_job: ActiveJob, *, ends: bool
) -> None:
    seen = remembering(the_job, operation(deleted=NOW), snapshot=UNREADABLE)
    for each in (seen, replace(seen, table_class=None)):
        after = status_of(each)
        assert (after.operations, after.active_jobs) == ((), ()) if ends else after.active_jobs == (the_job,)


SEQUENCES = {
    "conflicts use up no budget": (["Conflict"] * 50, None),
    "nor that of the runs themselves": (["Conflict"] * 9 + ["OutOfMemory"], None),
    "nor that of the infrastructure": (["Conflict"] * 19 + ["Evicted"], None),
    "which use up none of each other": (["Unschedulable"] * 19 + ["OutOfMemory"] * 9, None),
    "failures of the runs end it": (["Conflict", "Evicted"] * 5 + ["OutOfMemory"] * 10, "10 runs failed"),
    "and so does the infrastructure": (["OutOfMemory"] * 5 + ["Evicted"] * 20, "20 runs failed"),
}


@pytest.mark.parametrize(("words", "message"), SEQUENCES.values(), ids=SEQUENCES)
def test_each_kind_of_failure_has_a_budget_of_its_own(words: list[str], message: str | None) -> None:
    found = entry()
    for word in words:
        assert found.state is OperationState.DRAINING, "none before ends it"
        kind = Outcome.CONFLICT if word == "Conflict" else Outcome.FAILED
        found = after_failure(found, run(kind, reason=word), RetrySettings(), now=NOW)
    assert found.state is (OperationState.FAILED if message else OperationState.DRAINING)
    assert message is None or message in found.message


def test_the_delay_grows_with_the_failures_of_all_kinds() -> None:
    before = entry(failures=1, infrastructure_failures=1, conflicts=1)
    after = after_failure(before, run(Outcome.FAILED, reason="Evicted"), RetrySettings(), now=NOW)
    assert (after.failures, after.infrastructure_failures, after.conflicts) == (1, 2, 1)
    assert after.retry_at == at(NOW + minutes(80 / 60))
