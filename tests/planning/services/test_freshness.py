"""How far a table is behind its source: what runs are believed, what is said, and who goes first then."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.services.test_order import OPTIMISTIC, launched, world
from tests.planning.world import (
    JOB,
    NOW,
    active,
    after_failures,
    again,
    ago,
    at,
    done,
    ended,
    failed,
    instant,
    job,
    memory,
    minutes,
    observe,
    outcome,
    plan_for,
    run,
    snapshot,
    spec,
    status,
    status_of,
    story,
    succeeded,
    table,
    timeline,
)

from hudi_jobs.contract import JobOutcome, Outcome
from hudi_operator.api.resources import parse_table
from hudi_operator.api.status.conditions import Condition, ConditionType, find_condition
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_parts import MOST_BACKLOG, FreshnessStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.decide import requeue_after
from hudi_operator.planning.facts.runs.freshness import Progress, merge_progress
from hudi_operator.planning.model import Observation, Undoing
from hudi_operator.planning.model.times import source_of
from hudi_operator.planning.order.budget import PATIENCE
from hudi_operator.planning.outcome.life import step_of
from hudi_operator.planning.outcome.status.transitions import transitions
from hudi_operator.timeline import Action

SOURCE = source_of(spec()) or ""
ASKED: dict[str, Any] = {"ingestion": {"freshness": "10m"}}
COMMIT = "20260310115900000"


def known(minutes_ago: float | None = 5, **changes: Any) -> FreshnessStatus:
    """What earlier runs have said, up to so many minutes ago."""
    moment = None if minutes_ago is None else at(NOW - minutes(minutes_ago))
    return FreshnessStatus(complete_up_to=moment, source=SOURCE).copy_with(**changes)


def ingested(minutes_ago: float | None = 5, *, last: float = 1, **changes: Any) -> ServiceStatus:
    """What is remembered of an ingestion whose last run began so many minutes ago."""
    rested = run(started_at=at(NOW - minutes(last)))
    return memory(**{"last_run": rested, "freshness": known(minutes_ago), **changes})


def after_run(
    said: JobOutcome | None,
    before: FreshnessStatus | None = None,
    *,
    commits: bool = True,
    remembered: dict[str, Any] | None = None,
    **changes: Any,
) -> FreshnessStatus | None:
    """What is known after a run has ended with this outcome."""
    one = table(
        status=status(active_jobs=(active(**(remembered or {})),), ingestion=memory(freshness=before)),
        **{**ASKED, **changes},
    )
    seen = snapshot((JOB, COMMIT)) if commits else snapshot()
    return plan_for(observe(one, snapshot=seen, jobs=(ended(outcome=said),))).services.ingestion.freshness


def fresh(observation: Observation, *, now: datetime = NOW) -> Condition | None:
    return find_condition(status_of(observation, now=now).conditions, ConditionType.FRESH)


def freshness_condition(observation: Observation, *, now: datetime = NOW) -> tuple[str, str]:
    found = fresh(observation, now=now)
    assert found is not None
    return found.status.value, found.reason


def seen(remembered: ServiceStatus | None = None, **changes: Any) -> Observation:
    one = table(status=status(ingestion=remembered or ingested()), **{**ASKED, **changes})
    return observe(one, snapshot=snapshot((JOB, COMMIT)))


@pytest.mark.parametrize(
    ("before", "said", "expected"),
    [
        (None, Progress(), None),
        (None, Progress(complete_up_to=at(NOW - minutes(3))), known(3)),
        (known(5), Progress(complete_up_to=at(NOW - minutes(3))), known(3)),
        # What has once been in the table stays there.
        (known(3), Progress(complete_up_to=at(NOW - minutes(5)), backlog_records=7), known(3, backlog_records=7)),
        (known(3, backlog_records=7), Progress(), known(3)),
        (None, Progress(backlog_records=7, backlog_bytes=0), known(None, backlog_records=7, backlog_bytes=0)),
        (None, Progress(complete_up_to="2026-03-10T13:58:00.5+02:00"), known(2)),
        # Never later than now, whatever a driver's clock says.
        (None, Progress(complete_up_to=at(NOW + minutes(90))), known(0)),
        (known(5), Progress(complete_up_to="2999-12-31T23:59:59Z"), known(0)),
        # What is no time says nothing.
        (known(5), Progress(complete_up_to="yesterday"), known(5)),
        (known(5), Progress(complete_up_to="9" * 100_000), known(5)),
        (None, Progress(complete_up_to="1969-12-31T23:59:59.999Z"), None),
        (None, Progress(backlog_records=-1, backlog_bytes=MOST_BACKLOG + 1), None),
        # What was stored and cannot be is forgotten.
        (known(-60), Progress(complete_up_to=at(NOW - minutes(3))), known(3)),
        (known(5, complete_up_to="never"), Progress(), None),
        # Of another source nothing counts.
        (known(1, source="another"), Progress(complete_up_to=at(NOW - minutes(3))), known(3)),
        (known(1, source=None), Progress(), None),
    ],
)
def test_the_newest_time_holds_and_the_backlog_is_the_newest_words(
    before: FreshnessStatus | None, said: Progress, expected: FreshnessStatus | None
) -> None:
    assert merge_progress(before, said, source=SOURCE, now=NOW) == expected


@given(
    before=st.text(max_size=40) | st.datetimes(timezones=st.just(UTC)).map(lambda one: one.isoformat()),
    said=st.text(max_size=40) | st.datetimes(timezones=st.just(UTC)).map(lambda one: one.isoformat()),
    number=st.integers(),
)
def test_complete_up_to_is_never_in_the_future_and_never_goes_back(before: str, said: str, number: int) -> None:
    first = merge_progress(None, Progress(complete_up_to=before), source=SOURCE, now=NOW)
    both = merge_progress(first, Progress(complete_up_to=said, backlog_records=number), source=SOURCE, now=NOW)
    times = [one.complete_up_to for one in (first, both) if one is not None and one.complete_up_to is not None]
    assert times == sorted(times)
    assert all(time <= at(NOW) for time in times)
    assert both is None or both.backlog_records is None or 0 <= both.backlog_records <= MOST_BACKLOG


SAID = {"complete_up_to": at(NOW - minutes(2)), "backlog_records": 4}
TOLD = known(2, backlog_records=4)


@pytest.mark.parametrize(
    ("said", "changes", "expected"),
    [
        (succeeded(**SAID), {}, TOLD),
        (outcome(Outcome.NOTHING_TO_DO, **SAID), {"commits": False}, TOLD),
        # A run that failed is not believed: neither by its own word, nor by the timeline, nor where the two differ.
        (outcome(Outcome.FAILED, reason="HudiError", **SAID), {"commits": False}, known()),
        (outcome(Outcome.FAILED, reason="HudiError", **SAID), {}, known()),
        (outcome(Outcome.CONFLICT, **SAID), {"commits": False}, known()),
        (succeeded(**SAID), {"commits": False}, known()),
        (JobOutcome(), {}, known()),
        (None, {"commits": False}, known()),
        # An older driver says nothing of it, and what was in the table still is.
        (succeeded(), {}, known()),
        # The spec was another one then: the source may have been, too.
        (succeeded(**SAID), {"remembered": {"generation": 1}, "generation": 2}, known()),
        (succeeded(**SAID), {"remembered": {"generation": 2}, "generation": 2}, TOLD),
    ],
)
def test_only_a_run_is_believed_that_did_what_it_says(
    said: JobOutcome | None, changes: dict[str, Any], expected: FreshnessStatus
) -> None:
    assert after_run(said, known(), **changes) == expected


def test_another_source_begins_anew_and_another_schedule_does_not() -> None:
    other = {"source": {"files": {"path": "s3a://landing/trains/", "format": "csv"}}, "freshness": "10m"}
    assert freshness_condition(seen(ingestion=other)) == ("Unknown", "FreshnessUnknown")
    later = {"schedule": {"every": "9m"}, "freshness": "10m"}
    assert freshness_condition(seen(ingestion=later)) == ("True", "Fresh")


def test_rows_undone_by_a_restore_are_no_longer_in_the_table() -> None:
    remembered = ingested(last_run=run(instant=ago(3)))
    undoing = Undoing(instant=instant(ago(2), Action.RESTORE), targets=(ago(3),))
    one = observe(
        table(status=status(ingestion=remembered), **ASKED),
        snapshot=snapshot(timeline=timeline(instant(ago(9)), instant(ago(2), Action.RESTORE)), undoings=(undoing,)),
    )
    assert freshness_condition(one) == ("Unknown", "FreshnessUnknown")
    after = again(one, status_of(one))
    refreshed = after.table.status.services.ingestion.copy_with(freshness=known(1))
    services = after.table.status.services.copy_with(ingestion=refreshed)
    stored = after.table.status.copy_with(services=services)
    later = replace(after, table=after.table.copy_with(status=stored))
    assert freshness_condition(later) == ("True", "Fresh")


FAILING = after_failures(2, started_at=at(NOW)).copy_with(freshness=known(99))


@pytest.mark.parametrize(
    ("remembered", "changes", "expected"),
    [
        (ingested(5), {}, ("True", "Fresh")),
        (ingested(10 - 1 / 60), {}, ("True", "Fresh")),
        (ingested(10), {}, ("False", "FreshnessMissed")),
        (ingested(10), {"suspend": True}, ("False", "FreshnessMissed")),
        (ingested(5), {"suspend": True}, ("True", "Fresh")),
        (ingested(10), {"managementPolicy": "Observe"}, ("Unknown", "Observed")),
        (ingested(5), {"managementPolicy": "Observe"}, ("Unknown", "Observed")),
        (memory(), {}, ("Unknown", "FreshnessUnknown")),
        (after_failures(2), {}, ("Unknown", "FreshnessUnknown")),
        (ingested(None), {}, ("Unknown", "FreshnessUnknown")),
        (ingested(-60), {}, ("Unknown", "FreshnessUnknown")),
        (ingested(-5), {}, ("True", "Fresh")),
        (FAILING, {}, ("False", "FreshnessMissed")),
    ],
)
def test_a_table_is_as_fresh_as_asked_or_says_why_not(
    remembered: ServiceStatus, changes: dict[str, Any], expected: tuple[str, str]
) -> None:
    assert freshness_condition(seen(remembered, **changes)) == expected


def test_table_without_a_declared_freshness_has_no_condition_fresh() -> None:
    assert fresh(seen(ingestion={"schedule": {"every": "5m"}})) is None
    assert fresh(seen(ingestion=None)) is None


MISSED = (
    "Everything that was in the source up to 2026-03-10T11:15:00Z is in the table, and its newest run left 7 records "
    "or 1 byte to read. The freshness of 10m has been missed since 2026-03-10T11:25:00Z; the table is at least 40m "
    "behind now."
)


@pytest.mark.parametrize(
    ("remembered", "changes", "ending"),
    [
        (
            {},
            {},
            "A shorter schedule reads the source sooner. Scheduled every 5m; the next run is at 2026-03-10T12:04:00Z.",
        ),
        ({}, {"suspend": True}, "The table is suspended: nothing is ingested until spec.suspend is false."),
        ({"more_input": True}, {}, "raise maxBytesPerRun or maxFilesPerRun, or give the driver more resources"),
        ({"more_input": True}, {}, "The last run reached its limits and left input unread."),
        (
            {"failures": 1, "last_run": run(Outcome.FAILED), "failures_generation": 1},
            {},
            "see status.services.ingestion.lastRun.",
        ),
    ],
)
def test_a_table_that_misses_it_says_since_when_by_how_much_and_what_helps(
    remembered: dict[str, Any], changes: dict[str, Any], ending: str
) -> None:
    freshness = known(45, backlog_records=7, backlog_bytes=1)
    found = fresh(seen(ingested(**{"freshness": freshness, **remembered}), **changes))
    assert found is not None
    assert found.message.startswith(f"{MISSED} ")
    assert ending in found.message


@pytest.mark.parametrize(
    ("source", "limits"),
    [
        ({"kafka": {"bootstrapServers": ["a:9092"], "topics": ["orders"]}}, "maxBytesPerRun or maxRecordsPerRun"),
        ({"hudi": {"path": "s3a://lake/orders"}}, "maxCommitsPerRun"),
    ],
)
def test_a_table_whose_runs_reach_their_limits_is_told_which_these_are(source: dict[str, Any], limits: str) -> None:
    asked = {"source": source, "freshness": "10m"}
    freshness = known(45, source=source_of(spec(ingestion=asked)))
    found = fresh(seen(ingested(freshness=freshness, more_input=True), ingestion=asked))
    assert found is not None
    assert f"leave input unread: raise {limits}, or give" in found.message


def test_a_table_that_is_not_fresh_is_ready_all_the_same() -> None:
    after = status_of(seen(ingested(99)))
    assert [(one.type.value, one.status.value) for one in after.conditions if one.type in {"Ready", "Fresh"}] == [
        ("Ready", "True"),
        ("Fresh", "False"),
    ]


@pytest.mark.parametrize(
    ("minutes_ago", "wakes_in"), [(5, 5 * 60), (9.5, 30), (10, 10 * 60), (19, 60), (20, 20 * 60), (35, 5 * 60)]
)
@pytest.mark.parametrize("changes", [{}, {"suspend": True}])
def test_the_table_is_looked_at_when_it_misses_it_and_each_time_that_doubles(
    minutes_ago: float, wakes_in: float, changes: dict[str, Any]
) -> None:
    rests = {"ingestion": {"freshness": "10m", "schedule": {"cron": "0 0 1 1 *"}}}
    one = seen(ingested(minutes_ago), **rests, **changes)
    plan = plan_for(one)
    assert not plan.actions
    assert plan.changes_in == wakes_in
    assert requeue_after(plan, poll=900) == wakes_in
    before, at_the_moment = status_of(one), NOW + timedelta(seconds=wakes_in)
    assert status_of(again(one, before), now=at_the_moment - timedelta(seconds=1)) == before
    assert status_of(again(one, before), now=at_the_moment) != before


def test_freshness_does_not_requeue_an_observed_table() -> None:
    assert plan_for(seen(ingested(9), managementPolicy="Observe")).changes_in is None


def events(before: HudiTableStatus, after: HudiTableStatus) -> list[tuple[bool, str]]:
    return [(one.warning, one.reason) for one in transitions(before, after) if one.reason.startswith("Fresh")]


def test_missed_freshness_posts_an_event_when_missed_and_when_met_again() -> None:
    met, missed, later = (status_of(seen(ingested(age))) for age in (5, 15, 45))
    nothing = status_of(seen(memory()))
    assert events(met, missed) == [(True, "FreshnessMissed")]
    assert events(missed, later) == []
    assert events(later, met) == [(False, "Fresh")]
    assert events(met, status_of(seen(ingested(4)))) == []
    assert events(HudiTableStatus(), nothing) == events(met, nothing) == events(HudiTableStatus(), met) == []
    assert events(nothing, missed) == [(True, "FreshnessMissed")]


def behind(commits: int = 20, *, age: float = 99, last: float = 6, **changes: Any) -> Observation:
    """A table all of whose services are due, with an ingestion that is due and this far behind."""
    asked = {"ingestion": {"freshness": "10m"}}
    remembered = {"ingestion": ingested(age, last=last), **changes.pop("remembered", {})}
    return world(commits, remembered=remembered, **{**asked, **changes})


def test_an_ingestion_that_misses_its_freshness_goes_before_services_that_are_far_behind() -> None:
    assert launched(plan_for(behind(60, age=5))) == ["Compaction"]
    plan = plan_for(behind(60))
    assert launched(plan) == ["Ingestion"]
    assert plan.services.ingestion.message.endswith(
        "The table misses its freshness, so ingestion goes before table services."
    )
    assert plan.services.compaction.passed_over == 1


def test_ingestion_that_is_not_due_keeps_no_service_waiting() -> None:
    assert launched(plan_for(behind(last=1))) == ["Compaction"]


def test_a_service_that_was_passed_over_for_long_goes_first_all_the_same() -> None:
    def started(number: int) -> list[str]:
        return launched(plan_for(behind(remembered={"cleaning": memory(due=True, passed_over=number)})))

    assert started(PATIENCE - 1) == ["Ingestion"]
    assert started(PATIENCE) == ["Cleaning"]


def test_a_service_says_that_it_waits_for_an_ingestion_that_goes_first() -> None:
    found = plan_for(behind(remembered={"compaction": memory(due=True, passed_over=2)})).services
    assert found.compaction.reason == "IngestionFirst"
    assert found.compaction.message.endswith(
        "Decided. Ingestion goes first, because the table misses its freshness: this service was skipped 3 times and "
        "goes first after 10."
    )
    assert found.cleaning.message.endswith("this service was skipped once and goes first after 10.")
    running = {"active_jobs": (active(),), "compaction": found.compaction}
    later = plan_for(behind(remembered=running, jobs=(job(),))).services.compaction
    assert (later.reason, later.passed_over) == ("IngestionFirst", 3)


def test_a_service_that_waits_for_a_run_which_did_not_go_first_says_only_that() -> None:
    running = {"active_jobs": (active(),)}
    assert plan_for(behind(remembered=running, jobs=(job(),))).services.compaction.reason == "Running"
    assert plan_for(behind(age=5)).services.compaction.reason == "Running"


def test_beside_one_another_neither_waits() -> None:
    plan = plan_for(behind(**OPTIMISTIC))
    assert launched(plan) == ["Ingestion", "Compaction"]
    assert plan.services.compaction.passed_over == 0


@pytest.mark.parametrize(
    ("action", "age", "expected"),
    [
        ("compaction", 5, "Compaction"),
        ("compaction", 99, "Ingestion"),
        ("clustering", 5, "Clustering"),
        # With updates it would fail before that.
        ("clustering", 99, "Clustering"),
    ],
)
def test_only_a_pending_clustering_goes_before_a_late_ingestion(action: str, age: float, expected: str) -> None:
    deltas = (done("deltacommit", 50 - number) for number in range(6))
    clusterings = [ago(45.5)] if action == "clustering" else []
    pending = story(*deltas, f"{ago(45.5)}.{action}.requested", clusterings=clusterings)
    one = table(
        status=status(ingestion=ingested(age, last=6), left_behind=(ago(45.5),)),
        **{**ASKED, "type": "MergeOnRead", "clustering": {"mode": "Async"}},
    )
    assert launched(plan_for(observe(one, snapshot=snapshot(timeline=pending)))) == [expected]


def stored(document: dict[str, Any]) -> HudiTableStatus:
    """The status that the operator reads of a stored one whose freshness is this."""
    raw = {
        "metadata": {"name": "flights", "namespace": "team-a", "uid": "u", "generation": 1},
        "spec": spec(**ASKED).model_dump(mode="json", by_alias=True, exclude_none=True, exclude_defaults=True),
        "status": {"services": {"ingestion": {"freshness": document, "failures": 3}}},
    }
    return parse_table(raw).status


@pytest.mark.parametrize(
    ("document", "kept"),
    [
        ({"completeUpTo": "9999-12-31T23:59:59Z", "source": SOURCE}, "9999-12-31T23:59:59Z"),
        ({"completeUpTo": "0000-00-00T00:00:00Z", "source": SOURCE}, "0000-00-00T00:00:00Z"),
        ({"completeUpTo": 7, "source": SOURCE}, None),
        ({"completeUpTo": "x" * 100_000, "source": SOURCE}, "x" * 100_000),
        ({"backlogRecords": -1, "backlogBytes": 2**70, "source": "s" * 100}, None),
        ({"backlogRecords": "many"}, None),
    ],
)
def test_hostile_values_in_a_status_leave_the_rest_and_say_nothing(document: dict[str, Any], kept: str | None) -> None:
    status = stored(document)
    assert status.services.ingestion.failures == 3
    found = status.services.ingestion.freshness
    assert found is None or found.complete_up_to == kept
    one = observe(table(status=status, **ASKED))
    assert freshness_condition(one) == ("Unknown", "FreshnessUnknown")
    figures = step_of(plan_for(one)).freshness
    assert (figures.complete_up_to, figures.backlog_records, figures.backlog_bytes) == (None, None, None)


def test_the_figures_for_the_metrics_have_no_target_where_somebody_has_stopped_the_table() -> None:
    def figures(**changes: Any) -> tuple[Any, ...]:
        one = seen(ingested(freshness=known(45, backlog_records=7)), **changes)
        found = step_of(plan_for(one)).freshness
        return found.complete_up_to, found.backlog_records, found.backlog_bytes, found.target

    known_figures = (NOW - minutes(45), 7, None)
    assert figures() == (*known_figures, minutes(10))
    assert figures(suspend=True) == figures(managementPolicy="Observe") == (*known_figures, None)
    assert figures(ingestion={"freshness": None}) == (*known_figures, None)
    assert figures(ingestion={"freshness": "0s"}) == (*known_figures, minutes(1))


def test_a_failed_run_leaves_the_freshness_and_what_is_not_believed_costs_nothing_else() -> None:
    assert after_run(failed(), known(), commits=False) == known()
