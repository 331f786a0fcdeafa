"""When each table service is due by the timeline: Hudi's counts, thresholds and times."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import NOW, ago, at, done, memory, minutes, observe, plan_for, run, status, story, table

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.timeline import CountRange
from hudi_operator.planning.model import LaunchJob, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.timeline import Bounds, CleanSummary, TableType, Timeline

QUIET: dict[str, Any] = {"ingestion": None, "type": "MergeOnRead"}
"""A table that nothing is ingested into, so that only its services speak."""
OFF = {"mode": "Disabled"}
ALONE: dict[str, dict[str, Any]] = {
    "compaction": {"clustering": OFF, "cleaning": OFF, "archival": OFF},
    "clustering": {"compaction": OFF, "cleaning": OFF, "archival": OFF},
    "cleaning": {"compaction": OFF, "clustering": OFF, "archival": OFF},
    "archival": {"compaction": OFF, "clustering": OFF, "cleaning": OFF},
}

DELTAS = [done("deltacommit", 50 - number) for number in range(5)]
K = "compaction"


def planned(seen: Timeline | None, **spec: Any) -> Plan:
    remembered = spec.pop("remembered", {})
    left = tuple(one.time for one in seen.pending) if seen else ()
    one = table(status=status(left_behind=left, **remembered), **{**QUIET, **spec})
    return plan_for(observe(one, snapshot=TimelineSnapshot(timeline=seen)))


def served(service: str, seen: Timeline | None, **settings: Any) -> ServiceStatus:
    plan = planned(seen, **ALONE[service], **({service: settings} if settings else {}))
    found: ServiceStatus = getattr(plan.services, service)
    return found


def decided(found: ServiceStatus) -> tuple[bool, str, int | None, int | None]:
    return found.due, found.reason, found.counted, found.threshold


def launched(plan: Plan) -> list[tuple[str, str | None, str | None]]:
    jobs = [action.job for action in plan.actions if isinstance(action, LaunchJob)]
    return [(str(job.service), job.run_mode.value if job.run_mode else None, job.instant) for job in jobs]


BY_TIME = {"trigger": {"strategy": "TimeElapsed", "elapsed": "1h"}}
EITHER = {"trigger": {"strategy": "NumOrTime", "elapsed": "1h", "deltaCommits": 5}}
BOTH = {"trigger": {"strategy": "NumAndTime", "elapsed": "1h", "deltaCommits": 5}}
AFTER_REQUEST = {"trigger": {"strategy": "NumCommitsAfterLastRequest", "deltaCommits": 3}}
OLD = [done("deltacommit", 90 - number) for number in range(5)]
COMPACTED = [done("commit", 200), *DELTAS[:3]]


@pytest.mark.parametrize(
    ("names", "settings", "expected"),
    [
        ([], {}, (False, "BelowThreshold", None, None)),
        (DELTAS[:4], {}, (False, "BelowThreshold", 4, 5)),
        (DELTAS, {}, (True, "ThresholdReached", 5, 5)),
        (DELTAS, {"trigger": {"deltaCommits": 6}}, (False, "BelowThreshold", 5, 6)),
        (COMPACTED, {}, (False, "BelowThreshold", 3, 5)),
        # A delta commit that was requested before the compaction and completed after it counts.
        ([done("deltacommit", 210, 190), *COMPACTED], {}, (False, "BelowThreshold", 4, 5)),
        (COMPACTED, AFTER_REQUEST, (True, "ThresholdReached", 3, 3)),
        (
            [*COMPACTED, f"{ago(20)}.deltacommit.inflight"],
            {"trigger": {"deltaCommits": 3}},
            (True, "ThresholdReached", 3, 3),
        ),
        (DELTAS, BY_TIME, (False, "BelowThreshold", None, None)),
        (OLD[:1], BY_TIME, (True, "ThresholdReached", None, None)),
        (COMPACTED, BY_TIME, (True, "ThresholdReached", None, None)),
        (DELTAS, EITHER, (True, "ThresholdReached", 5, 5)),
        (OLD[:1], EITHER, (True, "ThresholdReached", 1, 5)),
        (DELTAS[:4], EITHER, (False, "BelowThreshold", 4, 5)),
        (DELTAS, BOTH, (False, "BelowThreshold", 5, 5)),
        (OLD[:1], BOTH, (False, "BelowThreshold", 1, 5)),
        (OLD, BOTH, (True, "ThresholdReached", 5, 5)),
    ],
)
def test_a_compaction_is_due_when_hudi_would_plan_one(
    names: list[str], settings: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert decided(served(K, story(*names), **settings)) == expected


@pytest.mark.parametrize(
    ("policy", "version", "is_told"), [("Observe", 6, True), ("Manage", 6, False), ("Observe", 9, False)]
)
def test_compaction_of_an_observed_table_says_that_late_changes_may_refuse_it(
    policy: str, version: int, is_told: bool
) -> None:
    raw = {
        "hoodie.table.version": str(version),
        "hoodie.table.type": "MERGE_ON_READ",
        "hoodie.table.precombine.field": "ts\u001b]0;x",
    }
    told = story(done("deltacommit", 50), version=version)
    told = replace(told, properties=replace(told.properties, raw=tuple(raw.items())))
    message = planned(told, managementPolicy=policy).services.compaction.message
    assert message is not None
    assert ("RowsWouldChange" in message) is is_told
    assert message.isprintable()


def test_a_compaction_that_waits_for_time_says_until_when_and_is_looked_at_then() -> None:
    plan = planned(story(*DELTAS), **ALONE[K], compaction=BY_TIME)
    assert plan.services.compaction.next_run_at == at(NOW + minutes(10))
    assert plan.services.compaction.message == f"1h since instant {ago(50)} end at 2026-03-10T12:10:00Z."


def test_a_new_plan_is_made_and_executed_in_one_run() -> None:
    assert launched(planned(story(*DELTAS))) == [("Compaction", "ScheduleAndExecute", None)]


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"compaction": OFF}, "Disabled"),
        ({"compaction": {"mode": "Inline"}}, "Inline"),
        ({"type": "CopyOnWrite"}, "Disabled"),
    ],
)
def test_a_service_that_does_not_run_by_itself_says_so(changes: dict[str, Any], reason: str) -> None:
    plan = planned(story(*DELTAS), **{**ALONE[K], **changes})
    assert (plan.services.compaction.due, plan.services.compaction.reason) == (False, reason)
    assert launched(plan) == []


COMMITS = [done("deltacommit", 40 - number) for number in range(4)]


@pytest.mark.parametrize(
    ("names", "clusterings", "expected"),
    [
        (COMMITS[:3], [], (False, "BelowThreshold", 3, 4)),
        (COMMITS, [], (True, "ThresholdReached", 4, 4)),
        ([done("replacecommit", 45), *COMMITS], [ago(45)], (True, "ThresholdReached", 4, 4)),
        ([*COMMITS, done("replacecommit", 5)], [ago(5)], (False, "BelowThreshold", 0, 4)),
        ([*COMMITS, done("replacecommit", 5)], [], (True, "ThresholdReached", 5, 4)),
        ([*COMMITS, done("replacecommit", 5)], None, (False, "CounterUncertain", None, 4)),
        ([*COMMITS[:2], done("replacecommit", 5)], None, (False, "BelowThreshold", None, 4)),
        ([done("replacecommit", 45), *COMMITS], None, (False, "CounterUncertain", None, 4)),
    ],
)
def test_a_clustering_is_due_every_so_many_commits(
    names: list[str], clusterings: list[str] | None, expected: tuple[Any, ...]
) -> None:
    assert decided(served("clustering", story(*names, clusterings=clusterings), mode="Async")) == expected


def commits(number: int, *, first: float = 100) -> list[str]:
    return [done("deltacommit", first - index) for index in range(number)]


CLEANED = CleanSummary(last_completed_commit=ago(90), earliest_retained=ago(98), savepoints=())


@pytest.mark.parametrize(
    ("names", "clean", "settings", "expected"),
    [
        (commits(3), None, {}, (False, "NothingToDo", 3, 1)),
        (commits(11), None, {}, (True, "ThresholdReached", 11, 1)),
        (commits(3), None, {"retainCommits": 2}, (True, "ThresholdReached", 3, 1)),
        (commits(3), None, {"policy": "KeepLatestFileVersions"}, (True, "ThresholdReached", 3, 1)),
        (commits(11), None, {"trigger": {"commits": 20}}, (False, "BelowThreshold", 11, 20)),
        ([*commits(11), done("clean", 1)], CLEANED, {}, (False, "BelowThreshold", 0, 1)),
        ([*commits(12), done("clean", 1)], CLEANED, {}, (False, "NothingToDo", 1, 1)),
        ([*commits(13), done("clean", 1)], CLEANED, {}, (True, "ThresholdReached", 2, 1)),
        ([*commits(11), done("clean", 1)], None, {}, (False, "CounterUncertain", None, 1)),
    ],
)
def test_a_cleaning_is_due_when_it_could_find_something(
    names: list[str], clean: CleanSummary | None, settings: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert decided(served("cleaning", story(*names, clean=clean), **settings)) == expected


@pytest.mark.parametrize(
    ("number", "expected"),
    [(30, (False, "BelowThreshold", 30, 31)), (31, (True, "ThresholdReached", 31, 31))],
)
def test_an_archival_is_due_above_the_number_of_commits_to_keep(number: int, expected: tuple[Any, ...]) -> None:
    settings = {"compaction": OFF, "clustering": OFF, "cleaning": OFF, "type": "CopyOnWrite"}
    seen = story(*(done("commit", 100 - index) for index in range(number)))
    assert decided(planned(seen, **settings).services.archival) == expected


def test_an_archival_that_is_blocked_says_by_what_and_is_not_tried() -> None:
    names = [f"{ago(300)}.clustering.requested", *(done("commit", 100 - index) for index in range(40))]
    found = served("archival", story(*names, clusterings=[ago(300)]))
    assert (found.due, found.reason, found.counted) == (False, "NothingToDo", 40)
    assert found.blocked_by == f"Commits from {ago(300)} on stay: an instant is pending there."


def test_a_cleaning_that_is_blocked_says_by_what() -> None:
    names = [*commits(5), f"{ago(80)}.clustering.requested", *commits(12, first=70)]
    found = served("cleaning", story(*names, clusterings=[ago(80)]))
    assert found.blocked_by == f"clustering {ago(80)} is pending: cleaning does not go past it."


def test_a_savepoint_is_named_where_files_are_kept_for_it() -> None:
    found = served("cleaning", story(*commits(12), done("savepoint", 100)))
    assert found.blocked_by == f"Files of savepoint {ago(100)} are kept."


@pytest.mark.parametrize("service", ALONE)
def test_nothing_is_due_before_there_is_a_table(service: str) -> None:
    found = served(service, None, mode="Async")
    assert (found.due, found.reason) == (False, "NoTable")


@pytest.mark.parametrize("service", ALONE)
def test_nothing_is_due_while_the_timeline_cannot_be_read(service: str) -> None:
    one = table(**{**QUIET, **ALONE[service], service: {"mode": "Async"}})
    plan = plan_for(observe(one, snapshot=TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="Down.")))
    found = getattr(plan.services, service)
    assert (found.due, found.reason, found.message) == (False, "StorageUnavailable", "Down.")


@pytest.mark.parametrize("completed", range(6))
def test_a_run_that_found_nothing_is_repeated_when_as_many_instants_have_completed_as_make_it_due(
    completed: int,
) -> None:
    settled = memory(last_run=run(Outcome.NOTHING_TO_DO, service="Compaction"), last_no_op_instant=ago(46))
    since = [done("deltacommit", 10 - number) for number in range(completed)]
    plan = planned(story(*DELTAS, *since), remembered={"compaction": settled}, **ALONE[K])

    if completed < 5:
        assert launched(plan) == []
        assert decided(plan.services.compaction) == (False, "NothingToDo", 5 + completed, 5)
        assert f"{completed} of 5 instants have completed since {ago(46)}" in plan.services.compaction.message
    else:
        assert launched(plan) == [("Compaction", "ScheduleAndExecute", None)]


def test_an_older_instant_that_completes_late_counts_as_movement() -> None:
    settled = memory(last_run=run(Outcome.NOTHING_TO_DO, service="Compaction"), last_no_op_instant=ago(46))
    late = [*DELTAS[:3], done("deltacommit", 47, 0.5), DELTAS[4]]
    plan = planned(story(*late), remembered={"compaction": settled}, **ALONE[K])
    assert "1 of 5 instants have completed" in plan.services.compaction.message


def test_a_run_that_found_nothing_is_repeated_when_the_timeline_no_longer_holds_what_it_saw() -> None:
    settled = memory(last_run=run(Outcome.NOTHING_TO_DO, service="Compaction"), last_no_op_instant=ago(600))
    assert launched(planned(story(*DELTAS), remembered={"compaction": settled}, **ALONE[K]))


def copied(least: int, most: int) -> Timeline:
    """A table whose files do not tell how many of its delta commits completed after the compaction."""
    seen = story(done("commit", 60), *DELTAS)
    changes: dict[str, Any] = {
        "delta_commits_since_compaction": None,
        "delta_commits_since_compaction_bounds": Bounds(least, most),
    }
    return replace(seen, counters=replace(seen.counters, **changes))


@pytest.mark.parametrize(
    ("bounds", "settings", "expected"),
    [
        ((5, 9), {}, (True, "ThresholdReached", None, 5)),
        ((4, 9), {}, (True, "ThresholdMayBeReached", None, 5)),
        ((0, 5), {}, (True, "ThresholdMayBeReached", None, 5)),
        ((0, 4), {}, (False, "BelowThreshold", None, 5)),
        ((0, 9), AFTER_REQUEST, (True, "ThresholdReached", 5, 3)),
        ((4, 9), EITHER, (True, "ThresholdReached", None, 5)),
        ((4, 9), {"trigger": {"strategy": "NumOrTime", "elapsed": "2h"}}, (True, "ThresholdMayBeReached", None, 5)),
        ((4, 9), BOTH, (True, "ThresholdMayBeReached", None, 5)),
        ((5, 9), BOTH, (True, "ThresholdReached", None, 5)),
        ((0, 4), BOTH, (False, "BelowThreshold", None, 5)),
    ],
)
def test_a_compaction_of_a_copied_table_is_due_when_the_threshold_may_be_reached(
    bounds: tuple[int, int], settings: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    assert decided(served(K, copied(*bounds), **settings)) == expected


def test_both_bounds_are_shown() -> None:
    found = served(K, copied(4, 9))
    assert found.counted_range == CountRange(at_least=4, at_most=9)
    assert found.message.startswith("Between 4 and 9 of 5 delta commits since the last compaction (")


def test_a_run_that_found_nothing_because_the_count_was_lower_is_not_repeated() -> None:
    settled = memory(last_run=run(Outcome.NOTHING_TO_DO, service="Compaction"), last_no_op_instant=ago(46))
    found = planned(copied(4, 9), remembered={"compaction": settled}, **ALONE[K])
    assert launched(found) == []
    assert (found.services.compaction.reason, found.services.compaction.counted_range) == (
        "NothingToDo",
        CountRange(at_least=4, at_most=9),
    )


def test_a_count_of_which_nothing_is_known_is_no_reason_to_run() -> None:
    seen = story(*DELTAS)
    unknown = replace(seen, counters=replace(seen.counters, delta_commits_since_compaction=None))
    for settings in ({}, BOTH, EITHER):
        found = served(K, unknown, **settings)
        assert (found.due, found.reason) == (False, "CounterUncertain")
        assert "status.timeline.problems" in found.message


def test_an_archival_waits_for_the_metadata_table_to_be_compacted() -> None:
    seen = story(*(done("commit", 100 - index) for index in range(40)), kind=TableType.COPY_ON_WRITE)
    one = table(**{**QUIET, **ALONE["archival"], "type": "CopyOnWrite"})
    behind = story(*(done("deltacommit", 100 - index) for index in range(40)))
    ahead = story(*(done("deltacommit", 100 - index) for index in range(39)), done("commit", 60.5))

    waiting = plan_for(observe(one, snapshot=TimelineSnapshot(timeline=seen, metadata=behind))).services.archival
    free = plan_for(observe(one, snapshot=TimelineSnapshot(timeline=seen, metadata=ahead))).services.archival
    assert (waiting.due, waiting.reason) == (False, "NothingToDo")
    assert waiting.blocked_by == "Commits from the first on stay: the metadata table was not compacted since."
    assert free.due
