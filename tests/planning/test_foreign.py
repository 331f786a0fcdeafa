"""Other writers on a serialized table: noticed, told, and nothing starts until a person has decided."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    active,
    ago,
    at,
    done,
    instant,
    job,
    memory,
    minutes,
    observe,
    plan_for,
    run,
    status,
    status_of,
    story,
    table,
)

from hudi_operator.api.conditions import ConditionType, find_condition
from hudi_operator.api.table_status import TimelineStatus
from hudi_operator.planning.model import LaunchJob, Observation, TimelineLook
from hudi_operator.timeline import Action, Instant, State, TableType, TimelineZone

MINE = ("flights-ingestion-1", ago(40))
SPEC: dict[str, Any] = {"type": "MergeOnRead"}
FILES = [done("deltacommit", 50), done("deltacommit", 40), done("deltacommit", 30)]


def unmarked(*minutes_ago: float, action: Action = Action.DELTA_COMMIT) -> tuple[Instant, ...]:
    return tuple(instant(ago(number), action) for number in minutes_ago)


def seen(
    *others: Instant,
    mine: tuple[tuple[str, str], ...] = (MINE,),
    files: list[str] = FILES,
    created: float = 45,
    annotations: dict[str, str] | None = None,
    remembered: dict[str, Any] | None = None,
    jobs: Any = (),
    zone: TimelineZone = TimelineZone.UTC,
    verified: float | None = None,
    **spec: Any,
) -> Observation:
    known = {} if verified is None else {"timeline": TimelineStatus(verified_up_to=ago(verified))}
    one = table(
        created=NOW - minutes(created),
        annotations=annotations,
        status=status(**known, **(remembered or {})),
        **{**SPEC, **spec},
    )
    kind = TableType.MERGE_ON_READ if one.spec.type == "MergeOnRead" else TableType.COPY_ON_WRITE
    found = TimelineLook(timeline=story(*files, zone=zone, kind=kind), runs=mine, unmarked=others)
    return observe(one, look=found, jobs=jobs)


def foreign(observation: Observation) -> list[str]:
    return [one.time for one in plan_for(observation).foreign]


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        (seen(), []),
        (seen(*unmarked(30)), [ago(30)]),
        (seen(*unmarked(30, 35, 50)), [ago(30), ago(35)]),
        # Before the first commit of ours the table may have been somebody else's.
        (seen(*unmarked(50)), []),
        # Without any commit of ours the creation of the resource counts.
        (seen(*unmarked(50), mine=()), []),
        (seen(*unmarked(44), mine=()), [ago(44)]),
        (seen(*unmarked(44), mine=(), zone=TimelineZone.LOCAL), []),
        (seen(*unmarked(30), managementPolicy="Observe"), []),
        (
            seen(*unmarked(30), concurrency={"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}),
            [],
        ),
    ],
    ids=range(9),
)
def test_a_commit_of_another_writer_is_foreign(observation: Observation, expected: list[str]) -> None:
    assert foreign(observation) == expected


@pytest.mark.parametrize(("accepted", "expected"), [(30, []), (31, [ago(30)]), (20, [])])
def test_commits_up_to_the_accepted_instant_are_no_longer_foreign(accepted: float, expected: list[str]) -> None:
    annotations = {"hudi-operator.io/acceptForeignCommits": ago(accepted)}
    assert foreign(seen(*unmarked(30), annotations=annotations)) == expected


RAN = run(started_at=at(NOW - minutes(32)), finished_at=at(NOW - minutes(28)), service="Compaction")


@pytest.mark.parametrize(
    ("action", "kind", "expected"),
    [
        (Action.COMMIT, "MergeOnRead", []),
        (Action.REPLACE_COMMIT, "MergeOnRead", []),
        (Action.REPLACE_COMMIT, "CopyOnWrite", []),
        # An ingestion always leaves its name, so these are somebody else's whenever they came.
        (Action.DELTA_COMMIT, "MergeOnRead", [ago(30)]),
        (Action.COMMIT, "CopyOnWrite", [ago(30)]),
    ],
)
def test_what_a_service_of_ours_made_without_leaving_its_name_is_not_foreign(
    action: Action, kind: str, expected: list[str]
) -> None:
    remembered = {"compaction": memory(last_run=RAN)}
    assert foreign(seen(*unmarked(30, action=action), remembered=remembered, type=kind, verified=40)) == expected
    assert foreign(seen(*unmarked(20, action=action), remembered=remembered, type=kind, verified=40)) == [ago(20)]


@pytest.mark.parametrize("action", [Action.COMMIT, Action.REPLACE_COMMIT])
def test_old_compactions_and_clusterings_are_not_foreign_in_the_first_look(action: Action) -> None:
    """An earlier version of the operator let them run inside the writer, where they name no run."""
    remembered = {"compaction": memory(last_run=RAN)}
    assert foreign(seen(*unmarked(20, action=action), remembered=remembered)) == []


@pytest.mark.parametrize(("verified", "expected"), [(29, []), (29.95, [ago(30)]), (31, [ago(30)])])
def test_only_what_completed_since_the_last_good_look_is_checked(verified: float, expected: list[str]) -> None:
    late = (instant(ago(30))._replace(action=Action.DELTA_COMMIT, completed_at=ago(29.9)),)
    assert foreign(seen(*late, verified=verified)) == expected


def test_what_was_verified_moves_on_and_stands_still_at_a_foreign_commit() -> None:
    assert plan_for(seen()).verified_up_to == ago(29.9)
    assert plan_for(seen(*unmarked(30), verified=35)).verified_up_to == ago(35)
    watched_no_more = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
    assert plan_for(seen(*unmarked(30), verified=35, **watched_no_more)).verified_up_to == ago(29.9)


def test_a_compaction_that_an_earlier_run_of_ours_had_planned_is_not_foreign() -> None:
    finished = (Instant(ago(90), Action.COMMIT, State.COMPLETED, ago(30)),)
    remembered = {"compaction": memory(last_run=RAN)}
    assert foreign(seen(*finished, remembered=remembered, verified=40)) == []


def test_what_a_run_under_way_has_made_is_not_foreign() -> None:
    remembered = {"active_jobs": (active(service="Clustering", started_at=at(NOW - minutes(31))),)}
    observation = seen(*unmarked(30, action=Action.REPLACE_COMMIT), remembered=remembered, jobs=(job(),))
    assert foreign(observation) == []


def test_an_instant_that_a_run_of_ours_is_known_to_have_made_is_not_foreign() -> None:
    remembered = {"history": (run(service="Clustering", instant=ago(30)),)}
    assert foreign(seen(*unmarked(30, action=Action.REPLACE_COMMIT), remembered=remembered)) == []


WRITING = [*FILES[:2], f"{ago(5)}.deltacommit.requested", f"{ago(5)}.deltacommit.inflight"]


@pytest.mark.parametrize(
    ("remembered", "expected"),
    [
        ({"compaction": memory(last_run=RAN)}, [ago(5)]),
        ({"ingestion": memory(last_run=run("Failed", started_at=at(NOW - minutes(6)), finished_at=at(NOW)))}, []),
        ({"history": (run(started_at=at(NOW - minutes(6)), finished_at=at(NOW - minutes(4.5))),)}, []),
        # Without any memory of runs nothing can be said of what they left.
        ({}, []),
    ],
)
def test_a_write_that_began_while_no_run_of_ours_was_at_work_is_foreign(
    remembered: dict[str, Any], expected: list[str]
) -> None:
    assert foreign(seen(files=WRITING, remembered=remembered)) == expected


def test_nothing_starts_beside_another_writer_and_the_conditions_say_who_must_decide_what() -> None:
    observation = seen(*unmarked(30, 35))
    plan, after = plan_for(observation), status_of(observation)

    assert not any(isinstance(action, LaunchJob) for action in plan.actions)
    assert plan.services.ingestion.reason == "ForeignWriter"
    alarm = find_condition(after.conditions, ConditionType.FOREIGN_WRITER)
    assert alarm is not None
    assert alarm.message == (
        f"Another writer made deltacommit {ago(30)}, deltacommit {ago(35)} on this Serialized table; nothing starts, "
        "because two writers without a lock lose data. Either let both write under a lock (spec.concurrency.mode: "
        "Optimistic, in all writers), or stop the other writer and set the annotation "
        f"hudi-operator.io/acceptForeignCommits={ago(30)}."
    )
    assert [(str(one.type), one.status, one.reason) for one in after.conditions[:2]] == [
        ("Ready", "False", "ForeignWriter"),
        ("Stalled", "True", "ForeignWriter"),
    ]


def test_the_remedy_that_the_message_names_works() -> None:
    others = unmarked(30, 35)
    annotations = {"hudi-operator.io/acceptForeignCommits": ago(30)}
    after = status_of(seen(*others, annotations=annotations))
    assert find_condition(after.conditions, ConditionType.FOREIGN_WRITER) is None
    assert find_condition(after.conditions, ConditionType.STALLED) is None


def test_a_job_that_runs_goes_on_when_another_writer_is_noticed() -> None:
    remembered = {"active_jobs": (active(),)}
    plan = plan_for(seen(*unmarked(30), remembered=remembered, jobs=(job(),)))
    assert [one.name for one in plan.active_jobs] == [active().name]
    assert plan.actions == ()


def test_many_foreign_commits_are_named_by_the_newest() -> None:
    observation = seen(*unmarked(*range(30, 38)))
    after = status_of(observation)
    alarm = find_condition(after.conditions, ConditionType.FOREIGN_WRITER)
    assert alarm is not None
    assert "and 5 more on this" in alarm.message
