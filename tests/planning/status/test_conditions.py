"""What the conditions say of a table in each of its situations."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import (
    JOB,
    NOW,
    active,
    after_failures,
    at,
    ended,
    failed,
    instant,
    job,
    memory,
    minutes,
    observe,
    run,
    snapshot,
    status,
    status_of,
    succeeded,
    table,
    timeline,
)

from hudi_jobs.contract import Outcome
from hudi_operator.api.resources import InvalidObject, ObjectMetadata
from hudi_operator.api.status.conditions import Condition, ConditionType, find_condition
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import Blocker, BlockerReason, JobPhase, PodTrouble, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.outcome.status.build import build_invalid_status

COMMITTED = snapshot((JOB, "20260310115900000"))
RAN = status(ingestion=memory(last_run=run()))


def words(after: HudiTableStatus) -> dict[str, str]:
    return {str(one.type): f"{one.status} {one.reason}" for one in after.conditions}


def condition(after: HudiTableStatus, kind: ConditionType) -> Condition:
    found = find_condition(after.conditions, kind)
    assert found is not None
    return found


WITHOUT_SERVICES: dict[str, Any] = {"cleaning": {"mode": "Disabled"}, "archival": {"mode": "Disabled"}}
SITUATIONS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, str]]] = {
    "never reconciled": (
        {},
        {},
        {"Ready": "Unknown Progressing", "Reconciling": "True Progressing"},
    ),
    "its first run has succeeded": (
        {"status": RAN},
        {"snapshot": COMMITTED},
        {"Ready": "True Succeeded"},
    ),
    "its run had nothing to do": (
        {"status": status(ingestion=memory(last_run=run(Outcome.NOTHING_TO_DO)))},
        {"snapshot": COMMITTED},
        {"Ready": "True NothingToDo"},
    ),
    "a later run is under way": (
        {"status": RAN.copy_with(active_jobs=(active(),))},
        {"snapshot": COMMITTED, "jobs": (job(),)},
        {"Ready": "True Succeeded"},
    ),
    "it waits for its first scheduled run": (
        {"ingestion": {"schedule": {"cron": "30 12 * * *"}}},
        {},
        {"Ready": "True WaitingForSchedule"},
    ),
    "its last run has failed": (
        {"status": status(ingestion=after_failures(3))},
        {"snapshot": COMMITTED},
        {
            "Ready": "False SourceNotFound",
            "Reconciling": "True ProgressingWithRetry",
        },
    ),
    "its spec can never succeed": (
        {"status": status(ingestion=after_failures(1, reason="InvalidRequest"))},
        {"snapshot": COMMITTED},
        {"Ready": "False InvalidRequest", "Stalled": "True InvalidRequest"},
    ),
    "its spec was corrected after a failure": (
        {"generation": 2, "status": status(ingestion=after_failures(1, reason="InvalidRequest", generation=1))},
        {"snapshot": COMMITTED},
        {"Ready": "Unknown Progressing", "Reconciling": "True Progressing"},
    ),
    "something stands in its way": (
        {"status": RAN},
        {"snapshot": COMMITTED, "blockers": (Blocker(reason=BlockerReason.PATH_CLAIMED, message="Taken."),)},
        {"Ready": "False BasePathClaimed", "Stalled": "True BasePathClaimed"},
    ),
    "its class is gone": (
        {},
        {"table_class": None, "blockers": (Blocker(reason=BlockerReason.CLASS_NOT_FOUND, message="Gone."),)},
        {"Ready": "False TableClassNotFound", "Stalled": "True TableClassNotFound"},
    ),
    "its store is down": (
        {"status": RAN},
        {"snapshot": TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="Down.")},
        {
            "Ready": "False StorageUnavailable",
            "Reconciling": "True ProgressingWithRetry",
        },
    ),
    "its job cannot start": (
        {"status": RAN.copy_with(active_jobs=(active(),))},
        {
            "snapshot": COMMITTED,
            "jobs": (job(phase=JobPhase.STARTING, trouble=PodTrouble.UNSCHEDULABLE, message="Full."),),
        },
        {"Ready": "False Unschedulable", "Reconciling": "True ProgressingWithRetry"},
    ),
    "it is suspended": (
        {"suspend": True, "status": RAN},
        {"snapshot": COMMITTED},
        {"Ready": "True Succeeded", "Suspended": "True Suspended"},
    ),
    "it is suspended before its first run": (
        {"suspend": True},
        {},
        {"Ready": "True Suspended", "Suspended": "True Suspended"},
    ),
    "it is suspended after a failure, so that nothing is tried again": (
        {"suspend": True, "status": status(ingestion=after_failures(1))},
        {"snapshot": COMMITTED},
        {"Ready": "False SourceNotFound", "Suspended": "True Suspended"},
    ),
    "it is only observed": (
        {"managementPolicy": "Observe"},
        {"snapshot": COMMITTED},
        {"Ready": "True Observed"},
    ),
    "it is only observed and is not there": (
        {"managementPolicy": "Observe", "ingestion": None},
        {},
        {"Ready": "False TableNotFound"},
    ),
    "it is only observed and cannot be read": (
        {"managementPolicy": "Observe", "ingestion": None},
        {"snapshot": snapshot(trouble=TimelineTrouble.UNREACHABLE, message="Down.")},
        {"Ready": "False StorageUnavailable", "Reconciling": "True ProgressingWithRetry"},
    ),
    "it has no ingestion": ({"ingestion": None}, {"snapshot": COMMITTED}, {"Ready": "True Succeeded"}),
}


def test_services_of_an_observed_table_say_what_would_be_due_and_never_that_they_are_at_it() -> None:
    clustering = {"mode": "Async", "trigger": {"commits": 1}}
    # An earlier run of ours says nothing of what other tools have left since.
    for remembered in (status(), status(clustering=memory(last_run=run(service="Clustering")))):
        one = table(managementPolicy="Observe", ingestion=None, clustering=clustering, status=remembered)
        clustered = status_of(observe(one, snapshot=COMMITTED)).services.clustering
        assert (clustered.due, clustered.reason) == (True, "Observed")
        assert "1 of 1 commits" in clustered.message
        assert "only observed" in clustered.message


@pytest.mark.parametrize("trouble", TimelineTrouble)
def test_of_a_timeline_that_cannot_be_read_no_service_says_that_it_is_done(trouble: TimelineTrouble) -> None:
    one = table(cleaning={"mode": "Async"}, status=status(cleaning=memory(last_run=run(service="Cleaning"))))

    after = status_of(observe(one, snapshot=snapshot(trouble=trouble, message="It is torn.")))

    for service in (after.services.cleaning, after.services.archival):
        assert (service.due, service.reason) == (False, trouble.value)


@pytest.mark.parametrize("situation", SITUATIONS)
def test_the_conditions_when(situation: str) -> None:
    spec, changes, expected = SITUATIONS[situation]
    trouble = changes["snapshot"].trouble if "snapshot" in changes else None
    healthy = "True NoFindings" if trouble is None else f"Unknown {trouble}"
    told = words(status_of(observe(table(**WITHOUT_SERVICES, **spec), **changes)))
    assert told.pop("Healthy") == healthy
    assert told == expected


def test_all_blockers_are_named_in_one_message() -> None:
    blockers = (
        Blocker(reason=BlockerReason.PATH_NOT_ALLOWED, message="Outside."),
        Blocker(reason=BlockerReason.INVALID_SCHEDULE, message="Never."),
    )
    after = status_of(observe(blockers=blockers))
    assert condition(after, ConditionType.STALLED).message == "Outside. Never."
    assert after.message == "Outside. Never."


def test_a_job_that_cannot_start_is_explained_with_advice() -> None:
    stuck = job(phase=JobPhase.STARTING, trouble=PodTrouble.IMAGE_PULL_FAILED, message="image x cannot be pulled.")
    after = status_of(observe(table(status=status(active_jobs=(active(),))), jobs=(stuck,)))
    assert condition(after, ConditionType.READY).message == (
        f"Job {JOB} cannot start: image x cannot be pulled. Check sparkImage and imagePullSecretNames of the class."
    )


@pytest.mark.parametrize("trouble", [PodTrouble.DEADLINE_EXCEEDED, PodTrouble.EVICTED, PodTrouble.OUT_OF_MEMORY])
def test_a_job_that_has_run_is_not_said_to_be_unable_to_start(trouble: PodTrouble) -> None:
    ending = job(phase=JobPhase.ENDING, trouble=trouble, message="It ended.")
    after = status_of(observe(table(status=status(active_jobs=(active(),))), jobs=(ending,)))
    assert all("cannot start" not in one.message for one in after.conditions)


def test_the_status_tells_what_runs_while_the_table_is_ready() -> None:
    one = table(status=RAN.copy_with(active_jobs=(active(),)))
    assert status_of(observe(one, jobs=(job(),), snapshot=COMMITTED)).message == "Ingestion is running."


def test_the_status_of_a_ready_suspended_table_says_so() -> None:
    assert status_of(observe(table(suspend=True, status=RAN), snapshot=COMMITTED)).message == "Suspended."


def test_a_transition_time_moves_only_with_its_status() -> None:
    first = status_of(observe(), now=NOW)
    later = table(status=first.copy_with(active_jobs=(active(),)))
    same = status_of(observe(later, jobs=(job(),)), now=NOW + minutes(1))
    over = ended(outcome=succeeded())
    other = status_of(observe(later, jobs=(over,), snapshot=COMMITTED), now=NOW + minutes(2))

    assert condition(same, ConditionType.READY).last_transition_time == at(NOW)
    assert condition(other, ConditionType.READY).last_transition_time == at(NOW + minutes(2))


def test_a_condition_that_comes_back_has_a_new_transition_time() -> None:
    before = status_of(observe(table(suspend=True)), now=NOW)
    between = status_of(observe(table(status=before)), now=NOW + minutes(1))
    after = status_of(observe(table(suspend=True, status=between)), now=NOW + minutes(2))
    assert find_condition(between.conditions, ConditionType.SUSPENDED) is None
    assert condition(after, ConditionType.SUSPENDED).last_transition_time == at(NOW + minutes(2))


def test_the_timeline_is_shown_and_outlasts_trouble_but_not_the_table() -> None:
    seen = status_of(observe(snapshot=TimelineSnapshot(timeline=timeline(instant("20260310110000000")))))
    remembered = table(status=seen)
    down = status_of(observe(remembered, snapshot=TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE)))
    gone = status_of(observe(remembered, snapshot=TimelineSnapshot()))

    assert seen.timeline is not None
    assert seen.timeline.completed_commits == 1
    assert down.timeline == seen.timeline
    assert gone.timeline is None


def test_a_long_timeline_is_shown_by_its_newest_end_and_its_oldest_pending_instants() -> None:
    from hudi_operator.timeline import Action, State  # noqa: PLC0415

    done = [instant(f"202603100{number:08d}") for number in range(50)]
    waiting = [instant(f"202603110{number:08d}", Action.CLEAN, State.REQUESTED) for number in range(150)]
    shown = status_of(observe(snapshot=TimelineSnapshot(timeline=timeline(*done, *waiting)))).timeline

    assert shown is not None
    assert [one.time for one in shown.instants] == [one.time for one in waiting[-10:]]
    assert [one.time for one in shown.pending] == [one.time for one in waiting[:10]]
    assert (shown.pending_count, shown.completed_commits) == (150, 50)


def test_a_spec_that_cannot_be_read_stalls_the_table_and_keeps_what_was_known() -> None:
    known = RAN.copy_with(active_jobs=(active(),), history=(run(),))
    invalid = InvalidObject(
        metadata=ObjectMetadata(name="flights", generation=7), message="spec.type: no such type", status=known
    )
    after = build_invalid_status(invalid, now=NOW)

    assert words(after) == {
        "Ready": "False InvalidSpec",
        "Stalled": "True InvalidSpec",
        "Healthy": "Unknown NotObserved",
    }
    assert after.message == (
        "The spec is not valid for this version of the operator: spec.type: no such type. Correct the spec."
    )
    assert (after.observed_generation, after.active_jobs, after.history) == (7, known.active_jobs, known.history)
    assert after.services == known.services


def test_a_failure_is_reported_with_its_next_attempt() -> None:
    one = table(status=status(active_jobs=(active(),)))
    after = status_of(observe(one, jobs=(ended(outcome=failed()),)))
    ingestion = after.services.ingestion
    assert ingestion.last_run is not None
    assert (ingestion.last_run.outcome, ingestion.last_run.message) == ("Failed", "It is not there.")
    assert ingestion.message == "Failed once (SourceNotFound); the next attempt is at 2026-03-10T12:00:10Z."
