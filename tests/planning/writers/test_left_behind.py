"""Which run of a table left an instant, how certain that is, and when the next run may end it.

Each of these writes is of a run of our own; what differs is how the run ended and what it could still say.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.continuous_world import LOCK, VERSION, a_table, launches, live, progress, running
from tests.planning.world import (
    JOB,
    NOW,
    active,
    again,
    ago,
    at,
    done,
    ended,
    failed,
    job,
    minutes,
    observe,
    outcome,
    plan_for,
    reporting,
    run,
    status,
    status_of,
    story,
)

from hudi_jobs.contract import AffectedInstant, Effect, FailureReason, JobOutcome, OperationKind, Outcome, Service
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.api.status.table_parts import TakeoverPhase, TakeoverStatus
from hudi_operator.api.status.timeline import LeftInstant
from hudi_operator.jobs.decided_job import build_manifest
from hudi_operator.planning.model import JobObservation, JobPhase, Observation, PodTrouble, TimelineSnapshot
from hudi_operator.planning.outcome.plan import Plan

T, STRANGERS = ago(2), ago(1)
COMMIT = ago(5)
WAIT = minutes(160 / 60)
"""How long a heartbeat of an unknown writer counts after the end of the run was seen."""
POD = "its-pod"
NAMED = progress(pod=POD, made=(ago(2.1), T))
UNNAMED = progress(pod=POD)
KILLED = ended(class_version=VERSION, generation=1, exit_code=137, seen_to_end=True, pods=(POD,))


def write(time: str) -> tuple[str, str]:
    return f"{time}.deltacommit.requested", f"{time}.deltacommit.inflight"


def after(
    *jobs: JobObservation,
    said: Any = NAMED,
    known: ActiveJob | None = None,
    writes: tuple[str, ...] = (T,),
    beating: tuple[str, ...] = (T,),
    remembered: dict[str, Any] | None = None,
    **spec: Any,
) -> Observation:
    """A Serialized table after the end of its driver: what its Job and pod, its document and the timeline show."""
    names = [name for time in writes for name in write(time)]
    beats = tuple((time, int(NOW.timestamp() * 1000)) for time in beating)
    timeline = story(done("deltacommit", 5), *names)
    shows = TimelineSnapshot(timeline=timeline, runs=((JOB, COMMIT),), heartbeats=beats, progress=said)
    one = a_table(**{"type": "MergeOnRead", "cleaning": {"mode": "Async"}, **spec})
    known = running(live=live(batches=19, takes=True)) if known is None else known
    state = status(active_jobs=(known,), **(remembered or {}))
    return observe(one.copy_with(status=state), snapshot=shows, jobs=jobs)


def failed_job(reason: FailureReason = FailureReason.STORAGE_UNAVAILABLE, **changes: Any) -> JobObservation:
    """A driver that has reported a failure."""
    result = failed(reason=reason).results[0].copy_with(**{"batches": 19, **changes})
    return reporting(KILLED, JobOutcome(results=(result,)), exit_code=1)


def left(observation: Observation) -> dict[str, bool]:
    """What is known of what runs have left, and whether its writer is dead for certain."""
    return {one.time: one.dead for one in plan_for(observation).left_by}


def next_run(observation: Observation, *, seconds: float = 60) -> ActiveJob | None:
    """The run that starts on a table when the end of its driver is seen, or so many seconds later."""
    if started := launches(plan_for(observation)):
        return started[0]
    following = again(observation, status_of(observation))
    started = launches(plan_for(replace(following, jobs=()), now=NOW + minutes(seconds / 60)))
    return started[0] if started else None


@pytest.mark.parametrize(
    "end",
    [
        KILLED,
        failed_job(newest_instant=T),
        failed_job(newest_instant=None),
        failed_job(FailureReason.OUT_OF_MEMORY, newest_instant=None),
        failed_job(FailureReason.INTERRUPTED, newest_instant=ago(1)),
        replace(KILLED, exit_code=3),
        reporting(KILLED, outcome(Outcome.FENCED)),
        reporting(KILLED, outcome(Outcome.CONFLICT, reason="Conflict")),
    ],
)
def test_named_instant_of_a_driver_goes_to_the_next_run_at_once_however_it_ended(end: JobObservation) -> None:
    observation = after(end)
    assert left(observation) == {T: True}
    [shown] = plan_for(observation).services.ingestion.pending
    assert (shown.owner, shown.left_alone_until, shown.run) == ("ThisTable", None, JOB)
    following = next_run(observation)
    assert following is not None
    assert (following.abandoned, following.left_behind, following.dead) == ((T,), (T,), (T,))


@pytest.mark.parametrize("skew", [-1000, -10, 10, 1000])
def test_no_clock_is_compared_with_that_of_the_driver(skew: float) -> None:
    """Neither to tell whose it is, nor to tell how long a writer that was not seen to end is waited for."""
    time = ago(2 + skew)
    said = progress(pod=POD, made=(time,))
    shows: dict[str, Any] = {"writes": (time,), "beating": (time,), "said": said}
    assert left(after(KILLED, **shows)) == {time: True}
    [shown] = plan_for(after(**shows)).services.ingestion.pending
    assert (shown.owner, shown.left_alone_until) == ("ThisTable", at(NOW + WAIT))


def test_report_counts_if_the_store_did_not_take_the_progress_document() -> None:
    observation = after(failed_job(made=(ago(3), T), newest_instant=T), said=UNNAMED)
    assert left(observation) == {T: True}


@pytest.mark.parametrize(
    ("gone", "known"),
    [
        # Its Job was deleted, by a person or by its time to live, before its end was looked at.
        ((), None),
        # Its node was lost, and the pod was removed by force: the process may run on.
        ((replace(KILLED, exit_code=None, seen_to_end=False, trouble=PodTrouble.NODE_LOST),), None),
        # It was drained, and nothing is left of its pod.
        ((), running(live=live(), state="Draining", message="The spec has changed.")),
        ((replace(KILLED, seen_to_end=False),), None),
    ],
)
def test_a_writer_that_was_not_seen_to_end_is_waited_for_as_long_as_its_heartbeat_may_be_its_own(
    gone: tuple[JobObservation, ...], known: ActiveJob | None
) -> None:
    observation = after(*gone, known=known)
    assert left(observation) == {T: False}
    plan = plan_for(observation)
    [shown] = plan.services.ingestion.pending
    assert (shown.owner, shown.left_alone_until, shown.run) == ("ThisTable", at(NOW + WAIT), JOB)
    assert launches(plan) == []
    assert next_run(observation, seconds=159) is None
    following = next_run(observation, seconds=160)
    assert following is not None
    assert (following.abandoned, following.left_behind, following.dead) == ((T,), (T,), None)


def test_waiting_instant_says_which_run_and_until_when() -> None:
    observation = after()
    assert plan_for(observation).changes_in == 10, "then it is tried again, and says why it is not"
    following = again(observation, status_of(observation))
    waits = plan_for(following, now=NOW + minutes(1))
    ingestion = waits.services.ingestion
    assert ingestion.reason == "WaitingForHeartbeat"
    assert (
        f"The inflight deltacommit {T}, which run {JOB} left behind, is left alone until {at(NOW + WAIT)}: it has a "
        "heartbeat, and its writer may not have ended. Nothing starts on a Serialized table beside it."
    ) in ingestion.message
    assert "unknown run" not in ingestion.message
    assert not waits.services.cleaning.due, "nor is it rolled back before"
    assert waits.changes_in is not None
    assert waits.changes_in <= 100


def test_a_writer_without_a_heartbeat_is_kept_from_the_table_by_the_lease_alone() -> None:
    """It holds the lease as long as it lives, which the next run waits for."""
    observation = after(beating=())
    assert left(observation) == {T: False}
    following = next_run(observation)
    assert following is not None
    assert (following.abandoned, following.dead) == ((T,), None)


def test_unnamed_instant_is_still_the_runs_own_and_waits_for_its_heartbeat() -> None:
    """It died within a tenth of a second after it had made the instant, or is of a release before."""
    observation = after(KILLED, said=UNNAMED)
    assert left(observation) == {T: False}
    assert next_run(observation) is None
    assert next_run(observation, seconds=160) is not None


def test_the_document_of_another_run_names_nothing() -> None:
    assert left(after(KILLED, said=NAMED.copy_with(run="another-run"))) == {T: False}


@pytest.mark.parametrize(
    "changes",
    [
        # Somebody else began a write at the same time: of two, neither would be taken for its own.
        {"writes": (T, STRANGERS), "beating": (T, STRANGERS)},
        # It was told to do services beside its batches by a spec that says otherwise by now.
        {"continuous": {"services": "Alternating"}},
        {"remembered": {"takeover": TakeoverStatus(phase=TakeoverPhase.DONE, protection="Wanted")}},
        # Status had lost it, so that nobody knows what was pending before it.
        {"known": running(pending=None)},
    ],
)
def test_named_instant_is_the_runs_own_without_any_other_sign(changes: dict[str, Any]) -> None:
    assert left(after(KILLED, **changes)) == {T: True}
    assert left(after(KILLED, said=UNNAMED, **changes)) == {}


def test_a_driver_that_began_at_the_moment_at_which_it_was_given_up_has_left_what_it_named() -> None:
    given_up = running(state="StartTimeout", live=live(running_since=None))
    assert left(after(known=given_up)) == {T: False}
    assert left(after(known=given_up, said=UNNAMED)) == {}


def test_write_of_a_stranger_beside_a_named_instant_stays_the_strangers() -> None:
    observation = after(KILLED, writes=(T, STRANGERS), beating=(T, STRANGERS))
    owners = {one.time: (one.owner, one.run) for one in plan_for(observation).services.ingestion.pending}
    assert owners == {T: ("ThisTable", JOB), STRANGERS: ("Other", None)}
    assert next_run(observation) is None, "and nothing starts beside it"


@pytest.mark.parametrize(("name", "is_known"), [(JOB, True), ("somebody-elses", False)])
def test_writes_of_a_driver_after_its_pod_was_removed_by_force_are_its_runs(name: str, *, is_known: bool) -> None:
    """It holds the lease for as long as it lives; without its name the table would stand for an hour after that."""
    over = run(Outcome.FAILED, job=JOB, reason="NodeLost")
    observation = after(said=NAMED.copy_with(run=name))
    state = status(history=(over,))
    observation = replace(observation, table=observation.table.copy_with(status=state))
    found = plan_for(observation).left_by
    assert found == ((LeftInstant(time=T, run=JOB, ended_at=at(NOW)),) if is_known else ())
    later = again(observation, status_of(observation))
    assert [one.ended_at for one in plan_for(later, now=NOW + minutes(1)).left_by] == [at(NOW)] * is_known
    assert bool(next_run(observation, seconds=160)) is is_known


def test_an_instant_that_was_pending_before_the_run_is_not_its_own_whatever_it_says() -> None:
    assert left(after(KILLED, known=running(pending=(T,)))) == {}


@pytest.mark.parametrize("pod", ["another-pod", None])
def test_named_instant_is_dead_only_for_a_pod_that_was_seen_to_end(pod: str | None) -> None:
    """The Job controller may start a Job's program twice, and another pod of it may have been removed by force."""
    said = NAMED.copy_with(pod=pod)
    assert left(after(KILLED, said=said)) == {T: False}
    reported = failed_job(made=(T,), newest_instant=T)
    assert left(after(reported, said=said)) == {T: True}, "its report is that of the pod itself"


def test_a_job_of_the_name_that_is_not_the_runs_own_tells_nothing_of_its_end() -> None:
    """It was created anew under the name, because the first one came and went before its uid was known."""
    others = replace(KILLED, uid="uid-of-another", decided_at=ago(1))
    known = running(uid=None, live=live())
    assert left(after(replace(KILLED, uid="uid-of-it"), known=known)) == {T: True}
    assert left(after(others, known=known)) == {T: False}


def test_a_service_names_no_write_whatever_is_said_for_it() -> None:
    """The answer to an order lies in the table's folder, and may name the batch of the driver that lives."""
    asked = active("cleans", service="Cleaning", uid="uid-2", inside=JOB, base_instant=COMMIT, pending=())
    said = replace(failed_job(made=(T,), newest_instant=T), name="cleans", uid="uid-2", service=Service.CLEANING)
    assert left(after(said, known=asked, said=UNNAMED)) == {}


def test_named_instant_of_a_working_driver_is_its_own_however_long_it_takes() -> None:
    """Status had lost it, so that nobody knows what was pending before it, and its store shows no heartbeat."""
    living = job(class_version=VERSION, generation=1)
    first = after(living, known=running(pending=None, live=live()), beating=(), **LOCK)
    later = again(first, status_of(first))
    plan = plan_for(later, now=NOW + minutes(24 * 60))
    assert [(one.owner, one.left_alone_until) for one in plan.services.ingestion.pending] == [("ThisTable", None)]
    assert not plan.services.cleaning.due, "a cleaning beside it would roll back what is being written"
    unnamed = replace(later, snapshot=replace(later.snapshot, progress=UNNAMED))
    assert plan_for(unnamed, now=NOW + minutes(24 * 60)).services.cleaning.reason == "FailedWrite"


def test_no_instant_is_guessed_beside_a_named_one_in_an_optimistic_table() -> None:
    """What another tool has begun meanwhile keeps the time that it has."""
    two: dict[str, Any] = {"writes": (T, STRANGERS), "beating": (T, STRANGERS), **LOCK}
    assert left(after(KILLED, **two)) == {T: True}
    assert left(after(KILLED, said=UNNAMED, **two)) == {T: False, STRANGERS: False}


def test_an_end_that_has_not_come_yet_is_waited_for_no_longer_than_any() -> None:
    """The status is from another cluster, or the clock of the API server was set back."""
    said = LeftInstant(time=T, run=JOB, ended_at=at(NOW + minutes(24 * 60)))
    observation = after(remembered={"left_by": (said,)})
    assert [one.ended_at for one in plan_for(observation).left_by] == [at(NOW)]
    assert next_run(observation, seconds=160) is not None


@pytest.mark.parametrize("dry_run", [False, True])
def test_an_operation_that_was_only_tried_has_made_no_write(*, dry_run: bool) -> None:
    named = NamedOperationJob(kind=OperationKind.RESTORE, resource="back", uid="uid-op", dry_run=dry_run)
    known = active(service="Operation", operation=named, pending=())
    over = replace(KILLED, service=Service.OPERATION, class_version=None)
    assert left(after(over, known=known, said=None, beating=())) == ({} if dry_run else {T: False})


@pytest.mark.parametrize("action", ["clustering", "replacecommit", "compaction"])
@pytest.mark.parametrize("states", [("requested",), ("requested", "inflight")])
def test_the_plan_of_a_service_that_the_jvm_has_made_too_is_no_write_of_a_dead_writer(
    action: str, states: tuple[str, ...]
) -> None:
    """A driver names all instants of its JVM; before version 8 a clustering has the action of an overwrite."""
    said = NAMED.copy_with(made=(T, STRANGERS))
    names = [*write(T), *(f"{STRANGERS}.{action}.{state}" for state in states)]
    for clusterings in ([STRANGERS], None):
        shows = story(done("deltacommit", 5), *names, clusterings=clusterings, version=6)
        observation = after(KILLED, said=said, clustering={"mode": "Async"})
        observation = replace(observation, snapshot=replace(observation.snapshot, timeline=shows))
        assert left(observation) == {T: True, STRANGERS: False}
        following = next_run(observation)
        assert following is not None
        assert following.dead == (T,)


def test_of_two_runs_in_sequence_each_has_left_its_own() -> None:
    first = after(KILLED)
    remembered = status_of(first)
    second = running(name="second-run", pending=(T,), left_behind=(T,), live=live())
    again_killed = replace(KILLED, name="second-run")
    shows = replace(
        first.snapshot,
        timeline=story(done("deltacommit", 5), *write(T), *write(STRANGERS)),
        progress=progress(pod=POD, made=(STRANGERS,)).copy_with(run="second-run"),
    )
    table = first.table.copy_with(status=remembered.copy_with(active_jobs=(second,)))
    plan = plan_for(replace(first, table=table, snapshot=shows, jobs=(again_killed,)))
    assert {one.time: (one.run, one.dead) for one in plan.left_by} == {
        T: (JOB, True),
        STRANGERS: ("second-run", True),
    }


def test_instant_noted_by_an_earlier_version_stays_and_is_not_waited_for() -> None:
    observation = after(remembered={"left_behind": (T,)}, known=active(pending=()))
    quiet = replace(observation, table=observation.table.copy_with(status=status(left_behind=(T,))))
    assert plan_for(quiet).left_by == (LeftInstant(time=T),)
    [started] = launches(plan_for(quiet))
    assert (started.abandoned, started.left_behind, started.dead) == ((T,), (T,), None)


def test_instant_rolled_back_by_a_continuous_run_belongs_to_an_earlier_run() -> None:
    """By then neither the timeline nor the status holds anything of it."""
    rolled_back = AffectedInstant(instant=T, action="deltacommit", effect=Effect.ROLLED_BACK)
    over = failed_job(affected=(rolled_back,), newest_instant="")
    known = running(pending=(T,), abandoned=(T,), left_behind=(T,), dead=(T,), live=live())
    [run] = plan_for(after(over, known=known, writes=(), beating=())).finished
    assert run.affected is not None
    assert [one.owner for one in run.affected] == ["ThisTable"]


def test_request_names_instants_of_dead_writers() -> None:
    observation = after(KILLED)
    following = next_run(observation)
    assert following is not None
    pod = build_manifest(observation, following, default_image="i")["spec"]["template"]["metadata"]["annotations"]
    assert f'"abandoned":["{T}"],"dead":["{T}"]' in pod["hudi-operator.io/request"]


def test_a_service_that_its_driver_did_not_begin_has_not_failed_and_is_due_as_before() -> None:
    """The driver was recycled in the moment in which its Job had asked."""
    asked = active("cleans", service="Cleaning", uid="uid-2", inside=JOB, base_instant=COMMIT, pending=())
    not_begun = outcome(Outcome.NOTHING_TO_DO, reason=FailureReason.DRIVER_ENDED, message="It ended before.")
    observation = after(known=asked, said=UNNAMED, writes=(), beating=())
    observation = replace(
        observation,
        jobs=(job("cleans", uid="uid-2", service=Service.CLEANING, phase=JobPhase.OVER, outcome=not_begun),),
    )
    plan: Plan = plan_for(observation)
    cleaning = plan.services.cleaning
    assert [run.outcome for run in plan.finished] == [Outcome.NOTHING_TO_DO]
    assert (cleaning.failures, cleaning.infrastructure_failures, cleaning.conflicts) == (0, 0, 0)
    assert (cleaning.last_no_op_instant, plan.history) == (None, ())
