"""Other writers on a serialized table: noticed, told, and nothing starts until a person has decided."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.deciding import UID as UID_OF_DECISION
from tests.planning.operations.deciding import answers, deciding, decision, parsed
from tests.planning.world import (
    NOW,
    OPERATOR,
    UID,
    active,
    ago,
    at,
    done,
    ended,
    finding,
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

from hudi_jobs.contract import Outcome, Service
from hudi_operator.api.resources import InvalidObject
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.timeline import TimelineStatus
from hudi_operator.planning.decide import requeue_after
from hudi_operator.planning.model import LaunchJob, Mark, Observation, TimelineSnapshot
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
    found = TimelineSnapshot(timeline=story(*files, zone=zone, kind=kind), runs=mine, unmarked=others)
    return observe(one, snapshot=found, jobs=jobs)


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


def completed(requested: float, ended: float, action: Action = Action.DELTA_COMMIT) -> Instant:
    return Instant(ago(requested), action, State.COMPLETED, ago(ended))


def accepting(value: str, *others: Instant, **changes: Any) -> Observation:
    files = [*FILES, done("deltacommit", 20)]
    return deciding(seen(*others, files=files, **changes), decision(acceptCommits={"upTo": value}))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (ago(30), []),
        (ago(40), [ago(30)]),
        (ago(20), []),
        # From before the active timeline: it accepts what was there then, and nothing that is active.
        (ago(90), [ago(30)]),
    ],
)
def test_an_instant_that_exists_accepts_what_had_completed_with_it(value: str, expected: list[str]) -> None:
    observation = accepting(value, *unmarked(30))
    assert foreign(observation) == expected
    assert answers(observation)[UID_OF_DECISION].state == "Succeeded"


WORTHLESS = (
    *("true", "yes", "True", "all", "*", "2027", "99991231235959999", "zzzz", "~", "\U0001f600", "9" * 14, "9" * 300),
    *(f" {ago(30)}", f"{ago(30)} ", f"{ago(30)}\n", f"{ago(30)}0", ago(30)[:-1], "-1", "0", "00000000000000000"),
    *(ago(31), ago(-5), "".join(chr(0xFEE0 + ord(digit)) for digit in ago(30)), f"{ago(30)},{ago(20)}"),
)


@pytest.mark.parametrize("value", WORTHLESS)
def test_a_decision_that_names_no_instant_accepts_nothing_and_fails(value: str) -> None:
    files = [*FILES, done("deltacommit", 20)]
    named = parsed(acceptCommits={"upTo": value})
    observation = deciding(seen(*unmarked(30), files=files), named)
    assert foreign(observation) == [ago(30)]
    if isinstance(named, InvalidObject):
        assert "acceptCommits.upTo" in named.message, "the API server refuses it as well"
        return
    answer = answers(observation)[UID_OF_DECISION]
    assert (answer.state, answer.reason) == ("Failed", "InstantNotFound")
    assert value in answer.message


def test_an_instant_that_has_not_completed_accepts_nothing() -> None:
    pending = [*FILES, f"{ago(10)}.deltacommit.requested", f"{ago(10)}.deltacommit.inflight"]
    observation = deciding(seen(*unmarked(30), files=pending), decision(acceptCommits={"upTo": ago(10)}))
    assert foreign(observation) == [ago(30)]
    assert answers(observation)[UID_OF_DECISION].reason == "InstantNotFound"


def test_a_value_that_was_accepted_accepts_nothing_that_completes_later() -> None:
    """Also what was requested before it: the person cannot have meant what was not there."""
    accepted = status_of(accepting(ago(30), *unmarked(30)))
    verified = accepted.timeline.verified_up_to if accepted.timeline else None
    assert verified == ago(19.9)
    late = (completed(45, 2), completed(5, 4), *unmarked(30))
    files = [*FILES, done("deltacommit", 20), done("deltacommit", 45, 2), done("deltacommit", 5, 4)]
    observation = seen(*late, files=files, verified=19.9)
    known = observation.table.status.copy_with(decisions=accepted.decisions)
    observation = replace(observation, table=observation.table.copy_with(status=known))
    assert foreign(observation) == [ago(45), ago(5)]


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
def test_unnamed_commit_of_our_service_is_not_foreign(action: Action, kind: str, expected: list[str]) -> None:
    remembered = {"compaction": memory(last_run=RAN)}
    assert foreign(seen(*unmarked(30, action=action), remembered=remembered, type=kind, verified=40)) == expected
    assert foreign(seen(*unmarked(10, action=action), remembered=remembered, type=kind, verified=40)) == [ago(10)]


@pytest.mark.parametrize(
    ("action", "operation", "expected"),
    [
        (Action.DELTA_COMMIT, "LOG_COMPACT", []),
        (Action.COMMIT, "COMPACT", []),
        (Action.REPLACE_COMMIT, "CLUSTER", []),
        (Action.REPLACE_COMMIT, "DELETE_PARTITION", []),
        (Action.REPLACE_COMMIT, "INSERT_OVERWRITE", [ago(30)]),
        # A bulk insert into a MergeOnRead table completes under the action of a compaction.
        (Action.COMMIT, "BULK_INSERT", [ago(30)]),
        (Action.DELTA_COMMIT, "UPSERT", [ago(30)]),
    ],
)
def test_the_operation_tells_what_a_writer_of_ours_may_have_done_without_its_name(
    action: Action, operation: str, expected: list[str]
) -> None:
    remembered = {"compaction": memory(last_run=RAN)}
    operations = ((ago(30), operation), (ago(20), operation))
    inside = seen(*unmarked(30, action=action), remembered=remembered, verified=40)
    assert foreign(replace(inside, snapshot=replace(inside.snapshot, operations=operations))) == expected
    outside = seen(*unmarked(10, action=action), remembered=remembered, verified=40)
    assert foreign(replace(outside, snapshot=replace(outside.snapshot, operations=((ago(10), operation),)))) == [
        ago(10)
    ]


@pytest.mark.parametrize("skew", [-10, -9, -1, 1, 9, 10])
def test_a_service_inside_a_writer_whose_clock_is_ten_minutes_off_is_not_foreign(skew: float) -> None:
    remembered = {"compaction": memory(last_run=RAN)}
    made = completed(30 - skew, 29 - skew, Action.COMMIT)
    assert foreign(seen(made, remembered=remembered, verified=60)) == []


@pytest.mark.parametrize("action", [Action.COMMIT, Action.REPLACE_COMMIT])
def test_old_compactions_and_clusterings_are_not_foreign_in_the_first_reconcile(action: Action) -> None:
    """An earlier version of the operator let them run inside the writer, where they name no run."""
    remembered = {"compaction": memory(last_run=RAN)}
    assert foreign(seen(*unmarked(20, action=action), remembered=remembered)) == []


@pytest.mark.parametrize(("verified", "expected"), [(29, []), (29.95, [ago(30)]), (31, [ago(30)])])
def test_only_commits_since_the_last_good_reconcile_are_checked(verified: float, expected: list[str]) -> None:
    late = (instant(ago(30))._replace(action=Action.DELTA_COMMIT, completed_at=ago(29.9)),)
    assert foreign(seen(*late, verified=verified)) == expected


def test_verified_up_to_moves_on_and_stands_still_at_a_foreign_commit() -> None:
    assert plan_for(seen()).verified_up_to == ago(29.9)
    assert plan_for(seen(*unmarked(30), verified=35)).verified_up_to == ago(35)
    watched_no_more: dict[str, Any] = {
        "concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}
    }
    assert plan_for(seen(*unmarked(30), verified=35, **watched_no_more)).verified_up_to == ago(29.9)


def test_a_first_reconcile_of_a_table_without_a_commit_verifies_that_there_is_none() -> None:
    plan = plan_for(seen(mine=(), files=[f"{ago(30)}.deltacommit.inflight"]))
    assert plan.verified_up_to == "0" * 17


def test_a_commit_that_a_first_reconcile_found_foreign_stays_so_when_a_run_of_ours_ends_after_it() -> None:
    first = seen(*unmarked(44), mine=(), files=[done("deltacommit", 50), done("deltacommit", 44)])
    plan = plan_for(first)
    assert [one.time for one in plan.foreign] == [ago(44)]
    assert plan.verified_up_to == ago(49.9)

    after = [done("deltacommit", 50), done("deltacommit", 44), done("clean", 20)]
    ours = {"history": (run(service="Cleaning", instant=ago(20)),)}
    later = seen(*unmarked(44), mine=(), files=after, verified=49.9, remembered=ours)
    assert foreign(later) == [ago(44)]


def test_a_compaction_that_an_earlier_run_of_ours_had_planned_is_not_foreign() -> None:
    finished = (Instant(ago(90), Action.COMMIT, State.COMPLETED, ago(30)),)
    remembered = {"compaction": memory(last_run=RAN)}
    assert foreign(seen(*finished, remembered=remembered, verified=40)) == []


def test_commit_of_an_active_run_is_not_foreign() -> None:
    remembered = {"active_jobs": (active(service="Clustering", started_at=at(NOW - minutes(31))),)}
    observation = seen(*unmarked(30, action=Action.REPLACE_COMMIT), remembered=remembered, jobs=(job(),))
    assert foreign(observation) == []


def test_an_instant_that_a_run_of_ours_is_known_to_have_made_is_not_foreign() -> None:
    remembered = {"history": (run(service="Clustering", instant=ago(30)),)}
    assert foreign(seen(*unmarked(30, action=Action.REPLACE_COMMIT), remembered=remembered)) == []


@pytest.mark.parametrize(
    "remembered",
    [
        {},
        {"compaction": memory(last_run=RAN)},
        {"history": tuple(run(Outcome.FAILED, job=f"run-{n}", finished_at=at(NOW - minutes(n))) for n in range(10))},
        {"active_jobs": (active(started_at=at(NOW - minutes(1))),)},
    ],
)
@pytest.mark.parametrize("offset", [0, 15, -4.9, 1000])
def test_a_write_that_has_not_completed_never_proves_another_writer(remembered: dict[str, Any], offset: float) -> None:
    time = ago(5 + offset)
    files = [*FILES[:2], f"{time}.deltacommit.requested", f"{time}.deltacommit.inflight"]
    assert foreign(seen(files=files, remembered=remembered)) == []
    assert foreign(seen(files=files, remembered=remembered, verified=39)) == []


def test_nothing_starts_beside_another_writer_and_the_conditions_say_who_must_decide_what() -> None:
    observation = seen(*unmarked(30, 35))
    plan, after = plan_for(observation), status_of(observation)

    assert not any(isinstance(action, LaunchJob) for action in plan.actions)
    assert plan.services.ingestion.reason == "ForeignWriter"
    alarm = finding(after, FindingCode.FOREIGN_WRITER)
    assert alarm is not None
    assert alarm.message == (
        f"Another writer made deltacommit {ago(30)}, deltacommit {ago(35)} on this Serialized table; nothing starts, "
        "because two writers without a lock lose data. Either let both write under a lock (spec.concurrency.mode: "
        "Optimistic, in all writers), or stop the other writer and create a HudiOperation with "
        f"acceptCommits: {{upTo: '{ago(30)}'}}."
    )
    assert [(str(one.type), one.status, one.reason) for one in after.conditions[:2]] == [
        ("Ready", "False", "ForeignWriter"),
        ("Stalled", "True", "ForeignWriter"),
    ]


def test_the_remedy_that_the_message_names_works() -> None:
    after = status_of(deciding(seen(*unmarked(30, 35)), decision(acceptCommits={"upTo": ago(30)})))
    assert finding(after, FindingCode.FOREIGN_WRITER) is None
    assert find_condition(after.conditions, ConditionType.STALLED) is None


def test_a_job_that_runs_goes_on_when_another_writer_is_noticed() -> None:
    remembered = {"active_jobs": (active(),)}
    plan = plan_for(seen(*unmarked(30), remembered=remembered, jobs=(job(),)))
    assert [one.name for one in plan.active_jobs] == [active().name]
    assert plan.actions == ()


def test_many_foreign_commits_are_named_by_the_newest() -> None:
    observation = seen(*unmarked(*range(30, 38)))
    after = status_of(observation)
    alarm = finding(after, FindingCode.FOREIGN_WRITER)
    assert alarm is not None
    assert "and 5 more on this" in alarm.message


def cleaned(ended: float, **changes: Any) -> Observation:
    """A clean has completed that names no run, because no clean does."""
    return seen(files=[*FILES, done("clean", ended + 0.1, ended)], verified=29, **changes)


BEGAN: dict[str, Any] = {"started_at": at(NOW - minutes(12)), "finished_at": at(NOW - minutes(11))}
INLINE: dict[str, Any] = {"cleaning": {"mode": "Inline"}}


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        # No run that cleans is remembered.
        (cleaned(10), [ago(10.1)]),
        (cleaned(10, remembered={"ingestion": memory(last_run=run(**BEGAN))}), [ago(10.1)]),
        # One of ours may have made it.
        (cleaned(10, remembered={"cleaning": memory(last_run=run(service="Cleaning", **BEGAN))}), []),
        (cleaned(10, remembered={"ingestion": memory(last_run=run(**BEGAN))}, **INLINE), []),
        (cleaned(10, remembered={"cleaning": memory(last_run=run(service="Cleaning", instant=ago(10.1)))}), []),
        (cleaned(10, remembered={"history": (run(service="Cleaning", instant=ago(10.1)),)}), []),
        (cleaned(10, remembered={"history": (run(service="Operation", **BEGAN),)}), []),
        (cleaned(10, remembered={"active_jobs": (active(service="Cleaning"),)}, jobs=(job(),)), []),
        # Too long before or after it.
        (cleaned(0.5, remembered={"cleaning": memory(last_run=run(service="Cleaning", **BEGAN))}), [ago(0.6)]),
        # What was there when the table was last reconciled.
        (cleaned(29.5), []),
        (cleaned(10, managementPolicy="Observe"), []),
    ],
    ids=range(11),
)
def test_a_clean_of_another_tool_proves_another_writer(observation: Observation, expected: list[str]) -> None:
    assert foreign(observation) == expected


def test_a_run_of_an_earlier_spec_may_have_cleaned_inline() -> None:
    ingesting = active(generation=7, started_at=at(NOW - minutes(11)))
    assert foreign(cleaned(10, remembered={"active_jobs": (ingesting,)}, jobs=(job(),))) == []
    assert foreign(cleaned(10, remembered={"active_jobs": (active(generation=1),)}, jobs=(job(),))) == [ago(10.1)]


def test_a_first_reconcile_says_nothing_of_old_cleans() -> None:
    assert foreign(seen(files=[*FILES, done("clean", 10)])) == []
    assert plan_for(seen(files=[*FILES, done("clean", 10)])).verified_up_to == ago(9.9)


def test_a_clean_that_was_accepted_is_not_foreign_and_the_message_names_it() -> None:
    alarm = finding(status_of(cleaned(10)), FindingCode.FOREIGN_WRITER)
    assert alarm is not None
    assert alarm.message.startswith(f"Another writer made clean {ago(10.1)} on this Serialized table")
    assert f"acceptCommits: {{upTo: '{ago(10.1)}'}}." in alarm.message
    assert foreign(deciding(cleaned(10), decision(acceptCommits={"upTo": ago(10.1)}))) == []


@pytest.mark.parametrize("action", [Action.COMMIT, Action.REPLACE_COMMIT])
def test_a_service_of_another_tool_is_foreign_when_no_run_has_ever_been(action: Action) -> None:
    files = [done("deltacommit", 50), done(action.value, 20)]
    assert foreign(seen(*unmarked(20, action=action), mine=(), files=files, verified=40)) == [ago(20)]


def test_a_job_that_is_not_remembered_may_have_made_anything() -> None:
    """As after a restore of the cluster from a backup: what it lost of its memory must not stop the table."""
    forgotten = ended("flights-cleaning-1", service=Service.CLEANING, created_at=NOW - minutes(11))
    assert foreign(cleaned(10, jobs=(forgotten,))) == []
    later = {"cleaning": memory(last_run=run(service="Cleaning", finished_at=at(NOW - minutes(1)), job="newer"))}
    assert foreign(cleaned(0.5, jobs=(forgotten,), remembered=later)) == []
    old = ended("flights-cleaning-1", service=Service.CLEANING, created_at=NOW - minutes(50))
    known = {
        "cleaning": memory(
            last_run=run(
                service="Cleaning", job="newer", started_at=at(NOW - minutes(41)), finished_at=at(NOW - minutes(40))
            )
        )
    }
    assert foreign(cleaned(10, jobs=(old,), remembered=known)) == [ago(10.1)]


def test_a_commit_of_a_run_that_is_not_remembered_shows_that_the_memory_is_older_than_the_table() -> None:
    mark = Mark(instant=completed(20, 19.9), run="forgotten", table_uid=UID, operator=OPERATOR)
    observation = cleaned(10)
    assert foreign(replace(observation, snapshot=replace(observation.snapshot, marks=(mark,)))) == []


@pytest.mark.parametrize("action", ["clean", "replacecommit"])
def test_in_local_time_only_commits_without_an_existing_job_are_foreign(action: str) -> None:
    """The times of runs are in UTC, and where the table's clock stands is not certain."""
    made = () if action == "clean" else unmarked(10, action=Action(action))
    local: dict[str, Any] = {"files": [*FILES, done(action, 10)], "verified": 29, "zone": TimelineZone.LOCAL}
    assert foreign(seen(*made, **local)) == [ago(10)]
    at_work = {"active_jobs": (active(service="Cleaning"),)}
    assert foreign(seen(*made, **local, remembered=at_work, jobs=(job(),))) == []


def partly_read(*others: Instant, **changes: Any) -> Observation:
    """A table of whose new commits one read has taken those up to 40 minutes ago."""
    observation = seen(*others, verified=50, **changes)
    return replace(observation, snapshot=replace(observation.snapshot, read_up_to=ago(39.9)))


def test_nothing_starts_before_all_new_commits_are_checked() -> None:
    observation = partly_read(remembered={"history": (run(job=MINE[0], instant=MINE[1]),)})
    plan = plan_for(observation)
    assert not any(isinstance(action, LaunchJob) for action in plan.actions)
    assert plan.services.ingestion.reason == "CheckingCommits"
    assert "until the operator has checked all of them" in plan.services.ingestion.message
    assert plan.verified_up_to == ago(39.9)
    assert requeue_after(plan, poll=60) == 1


def test_a_foreign_commit_is_named_before_all_are_checked_and_nothing_hurries() -> None:
    observation = partly_read(*unmarked(30))
    plan = plan_for(observation)
    assert [one.time for one in plan.foreign] == [ago(30)]
    assert plan.verified_up_to == ago(50)
    assert plan.services.ingestion.reason == "ForeignWriter"
    assert requeue_after(plan, poll=60) > 1
