"""Whose table it is: another operator's, a copy's of this one, or this one's, by the record beside the table."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.operations.deciding import UID as UID_OF_DECISION
from tests.planning.operations.deciding import answers, deciding, parsed
from tests.planning.world import (
    JOB,
    OPERATOR,
    UID,
    active,
    ago,
    done,
    finding,
    job,
    observe,
    plan_for,
    run,
    status,
    status_of,
    story,
    table,
)

from hudi_jobs.contract import OwnerRecord
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.table_operations import DecisionsStatus
from hudi_operator.api.status.table_parts import OwnerStatus
from hudi_operator.api.status.timeline import TimelineStatus
from hudi_operator.planning.model import LaunchJob, Mark, Observation, TimelineSnapshot, TimelineTrouble
from hudi_operator.timeline import Action, Instant, State

OTHER = "other-cluster/hudi-operator"


def record(**changes: Any) -> OwnerRecord:
    fields = {
        "operator": OPERATOR,
        "table_uid": UID,
        "table": "team-a/flights",
        "run": JOB,
        "since": "2026-03-10T11:00:00Z",
        "renewed_at": "2026-03-10T11:59:00Z",
    }
    return OwnerRecord.model_validate(fields | changes)


def remembered(run_name: str = JOB) -> dict[str, Any]:
    return {"owner": OwnerStatus(operator=OPERATOR, table="team-a/flights", run=run_name)}


def seen(
    owner: OwnerRecord | None,
    *,
    take_over: str | None = None,
    problem: str = "",
    known: dict[str, Any] | None = None,
    jobs: Any = (),
    **spec: Any,
) -> Observation:
    one = table(status=status(**(known or {})), **spec)
    snapshot = TimelineSnapshot(timeline=story(done("commit", 30)), owner=owner, owner_problem=problem)
    observation = observe(one, snapshot=snapshot, jobs=jobs)
    return observation if take_over is None else deciding(observation, parsed(takeOver={"owner": take_over}))


def launches(observation: Observation) -> list[LaunchJob]:
    return [action for action in plan_for(observation).actions if isinstance(action, LaunchJob)]


def elsewhere(observation: Observation) -> str | None:
    found = finding(status_of(observation), FindingCode.OWNED_ELSEWHERE)
    return found.message if found else None


def test_nothing_starts_on_the_table_of_another_operator_until_a_person_names_it() -> None:
    foreign = record(operator=OTHER, table_uid="theirs", table="x/y", run="their-run")
    for refused in (seen(foreign), seen(foreign, take_over="true"), seen(foreign, take_over="their-run")):
        assert not launches(refused)
        after = status_of(refused)
        assert {one.type: one.reason for one in after.conditions if one.type in {"Ready", "Stalled"}} == {
            "Ready": "OwnedElsewhere",
            "Stalled": "OwnedElsewhere",
        }
        assert after.services.ingestion.reason == "OwnedElsewhere"
        assert f"x/y of another operator, {OTHER}," in (elsewhere(refused) or "")
        assert f"takeOver: {{owner: '{OTHER}'}}." in (elsewhere(refused) or "")

    named = seen(foreign, take_over=OTHER)
    assert launches(named)
    assert elsewhere(named) is None
    assert status_of(named).owner is None


@pytest.mark.parametrize("value", ["", "x" * 100_000, "\x00\n", OTHER + " ", OTHER.upper(), JOB, OPERATOR])
def test_a_decision_that_does_not_name_the_owner_changes_nothing(value: str) -> None:
    observation = seen(record(operator=OTHER), take_over=value)
    assert not launches(observation)
    answer = answers(observation).get(UID_OF_DECISION)
    if not 0 < len(value) <= 330:
        assert answer is None
        return
    assert answer is not None
    assert (answer.state, answer.reason) == ("Failed", "OwnerNotFound")
    assert f"create another HudiOperation that names {OTHER}." in answer.message
    assert answer.message.isprintable()


def test_a_takeover_is_forgotten_once_the_record_names_another_owner() -> None:
    named = seen(record(operator=OTHER), take_over=OTHER)
    known = {"decisions": named.table.status.decisions}
    ours = deciding(seen(record(), known=known))
    assert ours.table.status.decisions is None
    back = deciding(seen(record(operator=OTHER), known={"decisions": ours.table.status.decisions}))
    assert elsewhere(back) is not None, "the other operator has taken the table back, and nobody has decided that again"
    unread = deciding(seen(None, known=known))
    assert unread.table.status.decisions == DecisionsStatus(take_over=OTHER), "where no record was read it stays"


@pytest.mark.parametrize(("owner", "reason"), [(None, "OwnerNotFound"), (record(), "OwnerNotFound")])
def test_there_is_nothing_to_take_over_where_no_other_operator_is_the_owner(
    owner: OwnerRecord | None, reason: str
) -> None:
    assert answers(seen(owner, take_over=OTHER))[UID_OF_DECISION].reason == reason


def test_a_record_that_cannot_be_used_stops_everything_and_is_reported() -> None:
    observation = seen(None, problem="It cannot be used.", known=remembered())
    assert not launches(observation)
    assert elsewhere(observation) == "It cannot be used."
    assert status_of(observation).owner == remembered()["owner"]


def test_the_next_resource_of_this_operator_goes_on_where_the_last_one_was() -> None:
    observation = seen(record(table_uid="of-the-resource-before", run="its-run"))
    assert launches(observation)
    assert status_of(observation).owner == remembered("its-run")["owner"]


@pytest.mark.parametrize(
    "known",
    [
        {},
        remembered("new-run"),
        remembered() | {"active_jobs": (active("new-run"),)},
        remembered() | {"history": (run(job="new-run"),)},
        remembered() | {"cleaning": {"last_run": run(job="new-run", service="Cleaning")}},
    ],
)
def test_a_run_that_this_operator_knows_is_no_copys(known: dict[str, Any]) -> None:
    observation = seen(record(run="new-run"), known=known)
    assert elsewhere(observation) is None
    assert status_of(observation).owner == remembered("new-run")["owner"]


def test_a_run_whose_job_the_status_has_forgotten_is_no_copys() -> None:
    assert elsewhere(seen(record(run="new-run"), known=remembered(), jobs=(job("new-run"),))) is None


def test_a_run_that_only_a_copy_of_this_operator_can_have_started_stops_everything() -> None:
    copied = record(run="run-of-the-copy")
    observation = seen(copied, known=remembered())
    assert not launches(observation)
    assert "takeOver: {owner: 'run-of-the-copy'}." in (elsewhere(observation) or "")
    assert status_of(observation).owner == remembered()["owner"]

    accepted = seen(copied, known=remembered(), take_over="run-of-the-copy")
    assert launches(accepted)
    assert status_of(accepted).owner == remembered("run-of-the-copy")["owner"]
    assert elsewhere(seen(record(run="its-next-run"), known=remembered(), take_over="run-of-the-copy")) is not None


def test_a_run_that_fell_out_of_the_history_is_still_known_by_the_reconcile_before() -> None:
    failures = tuple(run(job=f"failed-{number}") for number in range(10))
    assert elsewhere(seen(record(), known=remembered() | {"history": failures})) is None


def test_a_table_that_is_only_observed_may_be_anybodys() -> None:
    assert elsewhere(seen(record(operator=OTHER), managementPolicy="Observe")) is None


def test_remembered_owner_outlives_a_store_that_does_not_answer() -> None:
    observation = seen(None, known=remembered())
    observation = observe(
        observation.table, snapshot=TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="Away.")
    )
    assert status_of(observation).owner == remembered()["owner"]


# Commits that name a run


def marked(instant: Instant, **changes: Any) -> Mark:
    return Mark(**{"instant": instant, "run": "some-run", "table_uid": UID, "operator": OPERATOR} | changes)


MINE = Instant(ago(40), Action.DELTA_COMMIT, State.COMPLETED, ago(39.9))
NEW = Instant(ago(20), Action.DELTA_COMMIT, State.COMPLETED, ago(19.9))


def with_commits(*marks: Mark, verified: float | None = 30, owner: OwnerRecord | None = None) -> Observation:
    verified_up_to = {} if verified is None else {"timeline": TimelineStatus(verified_up_to=ago(verified))}
    one = table(type="MergeOnRead", status=status(history=(run(job="mine", instant=ago(40)),), **verified_up_to))
    snapshot = TimelineSnapshot(
        timeline=story(done("deltacommit", 40), done("deltacommit", 20)),
        runs=tuple((mark.run, mark.instant.time) for mark in marks),
        marks=marks,
        owner=owner,
    )
    return observe(one, snapshot=snapshot)


def foreign(observation: Observation) -> list[str]:
    return [one.time for one in plan_for(observation).foreign]


OURS = marked(MINE, run="mine")


@pytest.mark.parametrize("verified", [30, None])
@pytest.mark.parametrize("changes", [{"operator": OTHER}, {"table_uid": "another"}, {"operator": None}])
def test_a_commit_for_another_table_or_of_another_operator_is_foreign(changes: Any, verified: float | None) -> None:
    assert foreign(with_commits(marked(NEW, **changes), OURS, verified=verified)) == [ago(20)]


def test_a_commit_of_this_operator_for_this_table_is_not_foreign() -> None:
    assert foreign(with_commits(marked(NEW), OURS)) == []


def test_commits_of_the_earlier_resource_are_old() -> None:
    assert foreign(with_commits(marked(NEW), marked(MINE, table_uid="before"))) == []


@pytest.mark.parametrize("verified", [30, None])
@pytest.mark.parametrize("name", ["mine", "not-mine"])
def test_commit_that_names_a_run_alone_is_foreign(name: str, verified: float | None) -> None:
    assert foreign(with_commits(marked(NEW, run=name, table_uid=None, operator=None), OURS, verified=verified)) == [
        ago(20)
    ]


def test_commits_of_the_former_owner_are_not_foreign_after_the_takeover() -> None:
    theirs = marked(NEW, operator=OTHER, table_uid="theirs")
    before = with_commits(theirs, OURS, owner=record(operator=OTHER))
    assert foreign(before) == []
    assert plan_for(before).verified_up_to == ago(19.9)
