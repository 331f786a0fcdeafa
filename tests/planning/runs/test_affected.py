"""What runs do to instants that they did not begin: a line of history and one Event each, once."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import (
    JOB,
    NOW,
    active,
    again,
    ago,
    at,
    done,
    ended,
    memory,
    minutes,
    observe,
    outcome,
    plan_for,
    status,
    status_of,
    story,
    table,
)

from hudi_jobs.contract import AffectedInstant, Effect, JobOutcome, Outcome
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.status.timeline import PendingOwner, PendingStatus
from hudi_operator.planning.model import JobObservation, Observation, TimelineSnapshot
from hudi_operator.planning.outcome.status.transitions import Transition, transitions

WRITE, PLAN, CLEAN = ago(30), ago(25), ago(20)
FILES = (done("deltacommit", 50), done("deltacommit", 40))
WRITING, PLANNED = f"{WRITE}.deltacommit.inflight", f"{PLAN}.clustering.requested"
CLEANING = f"{CLEAN}.clean.requested"


def pending(time: str, action: str, owner: PendingOwner = PendingOwner.OTHER) -> PendingStatus:
    return PendingStatus(time=time, action=action, state="INFLIGHT", since=at(NOW - minutes(30)), owner=owner)


def cleaned(*affected: AffectedInstant, kind: Outcome = Outcome.NOTHING_TO_DO) -> JobObservation:
    return ended(service="Cleaning", outcome=outcome(kind, affected=affected))


def seen(job: JobObservation, *files: str, left_behind: tuple[str, ...] = (), **spec: Any) -> Observation:
    """A cleaning has ended before which a write, a clustering and a clean were pending."""
    remembered = status(
        active_jobs=(active(service="Cleaning", pending=(WRITE, PLAN, CLEAN)),),
        ingestion=memory(pending=(pending(WRITE, "deltacommit"),)),
        clustering=memory(pending=(pending(PLAN, "clustering", PendingOwner.THIS_TABLE),)),
        cleaning=memory(pending=(pending(CLEAN, "clean"),)),
        left_behind=left_behind,
    )
    snapshot = TimelineSnapshot(timeline=story(*FILES, *files))
    return observe(table(type="MergeOnRead", status=remembered, **spec), snapshot=snapshot, jobs=(job,))


def reported(observation: Observation, after: HudiTableStatus | None = None) -> list[Transition]:
    found = transitions(observation.table.status, after or status_of(observation))
    return [one for one in found if one.reason in set(Effect)]


ROLLED_BACK = AffectedInstant(instant=WRITE, action="deltacommit", effect=Effect.ROLLED_BACK)
REPLANNED = AffectedInstant(instant=PLAN, action="clustering", effect=Effect.REPLANNED, run="flights-clustering-1")


def test_every_instant_of_others_that_a_run_dealt_with_is_a_line_of_history_and_an_event() -> None:
    observation = seen(cleaned(ROLLED_BACK, REPLANNED))
    (line,) = plan_for(observation).history
    assert [(one.time, one.effect, one.owner) for one in line.affected or ()] == [
        (WRITE, "RolledBack", "Other"),
        (PLAN, "Replanned", "ThisTable"),
    ]
    assert reported(observation) == [
        Transition(
            warning=True,
            reason="RolledBack",
            message=f"Rolled back deltacommit {WRITE} of another tool or an unknown run.",
        ),
        Transition(
            warning=False,
            reason="Replanned",
            message=f"Rolled back, and planned again, the clustering {PLAN} of run flights-clustering-1.",
        ),
    ]


def test_effect_is_reported_once_also_by_a_process_that_starts_later() -> None:
    observation = seen(cleaned(ROLLED_BACK))
    after = status_of(observation)
    later = again(observation, after)
    assert reported(later) == []
    assert status_of(later).history == after.history


def test_leftover_of_this_tables_run_is_not_called_another_tools() -> None:
    (event,) = reported(seen(cleaned(ROLLED_BACK), left_behind=(WRITE,)))
    assert (event.warning, event.message) == (False, f"Rolled back deltacommit {WRITE} of an earlier run.")


def test_a_run_that_failed_tells_too_what_it_did_before() -> None:
    assert len(reported(seen(cleaned(ROLLED_BACK, kind=Outcome.FAILED)))) == 1


def test_a_run_that_did_nothing_to_others_and_found_nothing_leaves_no_line() -> None:
    observation = seen(cleaned(), WRITING, PLANNED, CLEANING)
    assert plan_for(observation).history == ()
    assert reported(observation) == []


DIED = ended(service="Cleaning", exit_code=137)


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ((WRITING, PLANNED, CLEANING), []),
        ((PLANNED, CLEANING), [("RolledBack", WRITE)]),
        # A write is completed by nobody but its writer.
        ((done("deltacommit", 30, 10), CLEANING, PLANNED), []),
        ((WRITING, PLANNED, done("clean", 20, 10)), [("Finished", CLEAN)]),
        ((WRITING, CLEANING), [("RolledBack", PLAN)]),
    ],
)
def test_timeline_tells_the_effects_of_a_driver_that_died(
    files: tuple[str, ...], expected: list[tuple[str, str]]
) -> None:
    (line,) = plan_for(seen(DIED, *files)).history
    assert [(one.effect, one.time) for one in line.affected or ()] == expected


def test_beside_others_the_end_of_an_instant_is_taken_for_a_dead_runs_doing_by_nobody() -> None:
    shared: dict[str, Any] = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
    (line,) = plan_for(seen(DIED, **shared)).history
    assert line.affected is None


def test_archived_instant_does_not_count_as_rolled_back() -> None:
    observation = seen(DIED)
    archived = story(done("deltacommit", 10))
    (line,) = plan_for(observe(observation.table, snapshot=TimelineSnapshot(timeline=archived), jobs=(DIED,))).history
    assert line.affected is None


def test_a_result_without_a_list_is_one_of_an_older_driver() -> None:
    older = ended(JOB, service="Cleaning", outcome=JobOutcome.model_validate({"results": [
        {"id": "team-a/flights/cleaning", "outcome": "NothingToDo", "message": "There is nothing."}
    ]}))  # fmt: skip
    assert reported(seen(older)) == []
