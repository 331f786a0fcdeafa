"""What is told and believed of a continuous ingestion while it runs, and what of it is written how often."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.planning.continuous_world import (
    DUE_FOR_CLEANING,
    LOCK,
    a_table,
    live,
    progress,
    running,
    seen,
    stops,
)
from tests.planning.world import (
    JOB,
    NOW,
    ago,
    at,
    done,
    ended,
    finding,
    memory,
    minutes,
    observe,
    outcome,
    plan_for,
    run,
    snapshot,
    status,
    status_of,
    story,
    table,
    table_class,
)

from hudi_jobs.contract import Outcome, ProgressState, Service
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType, find_condition
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.table_parts import FreshnessStatus
from hudi_operator.planning.model import (
    JobObservation,
    TimelineSnapshot,
    Undoing,
)
from hudi_operator.planning.model.healing import class_version_of
from hudi_operator.planning.model.times import source_of
from hudi_operator.planning.outcome.status.transitions import transitions

LOSSY = {"kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["orders"], "onDataLoss": "Skip"}}


def a_stream(one: HudiTable) -> HudiTable:
    spec = table(ingestion={"mode": "Continuous", "source": LOSSY}).spec
    return one.copy_with(spec=spec)


def losing(batches: int = 3) -> TimelineSnapshot:
    lost = progress(batches=batches, records_skipped=7, skipped=("orders-0: 1..7",))
    return snapshot((JOB, ago(2)), progress=lost)


def test_messages_that_were_gone_are_told_while_the_driver_runs() -> None:
    before = seen(a_stream(a_table()), shows=losing())
    after = status_of(before)
    found = finding(after, FindingCode.FILES_SKIPPED, FindingCode.RECORDS_SKIPPED)
    assert found is not None
    assert "7 offsets that are known, the last ones orders-0: 1..7" in found.message
    told = [one.reason for one in transitions(before.table.status, after)]
    assert told.count("RecordsSkipped") == 1
    again = before.table.copy_with(status=after)
    assert "RecordsSkipped" not in [one.reason for one in transitions(after, status_of(replace(before, table=again)))]


@pytest.mark.parametrize(
    ("found", "known"),
    [
        (None, "JobLost"),
        (ended(exit_code=137), "DriverDied"),
        (ended(outcome=outcome(Outcome.SUCCEEDED, records_skipped=7, skipped=("orders-0: 1..7",), batches=3)), None),
    ],
)
def test_messages_that_were_gone_stay_counted_however_the_run_ends(
    found: JobObservation | None, known: str | None
) -> None:
    observation = replace(seen(a_stream(a_table()), shows=losing()), jobs=() if found is None else (found,))
    after = status_of(observation)
    last = after.services.ingestion.last_run
    assert last is not None
    assert (last.reason, last.records_skipped, last.skipped) == (known, 7, ("orders-0: 1..7",))
    assert after.services.ingestion.records_skipped == 7
    condition = finding(after, FindingCode.FILES_SKIPPED, FindingCode.RECORDS_SKIPPED)
    assert condition is not None
    assert "7 offsets that are known" in condition.message


def test_a_driver_whose_first_batch_takes_longer_than_its_turn_is_not_ended_for_a_service() -> None:
    """What is due again and again, such as a service that fails, would have its batch cancelled each time."""
    one = a_table(type="CopyOnWrite", continuous={"serviceInterval": "30m"}, cleaning={"retainCommits": 2})
    others = tuple(("earlier", each.time) for each in DUE_FOR_CLEANING.completed)
    known = running(live=live(running_since=at(NOW - minutes(45))))
    for shows, ends in (
        (TimelineSnapshot(timeline=DUE_FOR_CLEANING, runs=others), False),
        (TimelineSnapshot(timeline=DUE_FOR_CLEANING, runs=((JOB, ago(11)), *others)), True),
        (TimelineSnapshot(timeline=DUE_FOR_CLEANING, runs=others, progress=progress(batches=0)), True),
    ):
        plan = plan_for(seen(one, known=known, shows=shows))
        assert stops(plan) == (["Draining"] if ends else [])


def test_a_commit_that_the_driver_names_counts_once_the_timeline_has_it() -> None:
    """Else a name from beyond all commits would make every write that a run leaves behind another's."""
    shows = snapshot((JOB, ago(2)), progress=progress(instant="9" * 17))
    told = status_of(seen(shows=shows)).active_jobs[0].live
    assert told is not None
    assert told.instant == ago(2)


def test_a_restore_that_undoes_commits_of_a_driver_that_runs_makes_its_freshness_unknown_once() -> None:
    one = a_table()
    restored = story(done("commit", 9), done("restore", 1))
    undoing = Undoing(instant=restored.instants[-1], targets=(ago(2),))
    shows = TimelineSnapshot(timeline=restored, runs=(("earlier", ago(9)),), undoings=(undoing,))
    memories = {"ingestion": memory(freshness=FreshnessStatus(complete_up_to=at(NOW), source=source_of(one.spec)))}
    before = seen(one, known=running(live=live(instant=ago(2))), shows=shows, memories=memories)
    after = status_of(before)
    assert after.services.ingestion.freshness is None
    assert after.active_jobs[0].live is not None
    assert after.active_jobs[0].live.instant is None
    known = FreshnessStatus(complete_up_to=at(NOW), source=source_of(one.spec))
    later = after.copy_with(
        services=after.services.replaced({Service.INGESTION: after.services.ingestion.copy_with(freshness=known)})
    )
    again = status_of(replace(before, table=one.copy_with(status=later)))
    assert again.services.ingestion.freshness == known


def test_a_table_whose_driver_finds_no_place_says_so() -> None:
    one = a_table(status=status(ingestion=memory(last_run=run())))
    full = table_class(jobQuota={"runningJobs": 2})
    found = status_of(observe(one, table_class=full, running_in_class=2))
    ready, ingestion = find_condition(found.conditions, ConditionType.READY), found.services.ingestion
    assert ready is not None
    assert (ready.status, ready.reason) == (ConditionStatus.UNKNOWN, "ClassQuotaReached")
    assert (ingestion.due, ingestion.reason) == (True, "ClassQuotaReached")
    for message in (ready.message, ingestion.message):
        assert "The class runs 2 jobs, which is its limit." in message


def test_a_service_that_finds_no_place_beside_a_driver_says_so() -> None:
    one = a_table(type="CopyOnWrite", cleaning={"retainCommits": 2}, **LOCK)
    shows = TimelineSnapshot(
        timeline=DUE_FOR_CLEANING, runs=tuple((JOB, each.time) for each in DUE_FOR_CLEANING.completed)
    )
    full = table_class(jobQuota={"runningJobs": 1})
    known = running(live=live(class_version=class_version_of(full)))
    done_before = memory(last_run=run(service=Service.CLEANING))
    observation = seen(one, known=known, shows=shows, memories={"cleaning": done_before}, table_class=full)
    cleaning = status_of(observation).services.cleaning
    assert (cleaning.due, cleaning.reason) == (True, "ClassQuotaReached")


def writes_of_an_idle_table(minutes_long: int) -> int:
    """How often the status changes while a driver looks at its source and finds nothing."""
    now = NOW
    one, known, writes = a_table(), status(active_jobs=(running(),)), 0
    for minute in range(minutes_long):
        now = NOW + minutes(minute)
        state = ProgressState.INGESTING if minute % 2 else ProgressState.WAITING
        told = progress(10 + 4 * minute, state=state, polled_at=at(now), complete_up_to=at(now))
        shows = snapshot((JOB, ago(2)), progress=told)
        observation = seen(one.copy_with(status=known), shows=shows)
        observation = replace(observation, table=one.copy_with(status=known))
        after = plan_for(observation, now=now).status
        writes += after != known
        known = after
    return writes


def test_an_idle_table_is_written_seldom() -> None:
    """A thousand such tables are not to keep the API server busy."""
    assert writes_of_an_idle_table(60) <= 32
