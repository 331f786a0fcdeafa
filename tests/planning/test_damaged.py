"""A commit that cannot be understood is nobody's until a person has said whose it is, and blinds nothing else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.deciding import deciding, decision
from tests.planning.world import (
    JOB,
    NOW,
    active,
    again,
    ago,
    at,
    done,
    ended,
    finding,
    instant,
    memory,
    minutes,
    observe,
    plan_for,
    run,
    status,
    status_of,
    story,
    succeeded,
    table,
)

from hudi_jobs.contract import Outcome
from hudi_operator.api.status.conditions import Condition, ConditionType, find_condition
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.status.timeline import TimelineStatus
from hudi_operator.planning.model import CreateJob, Damaged, LaunchJob, Observation, TimelineSnapshot
from hudi_operator.timeline import Action, Problem

MINE = ("flights-ingestion-1", ago(40))
TORN = instant(ago(30), Action.DELTA_COMMIT)
PROBLEM = Problem(f".hoodie/timeline/{done('deltacommit', 30)}", "What this deltacommit did is not known: torn.")


def seen(*, verified: float | None = 35, remembered: dict[str, Any] | None = None, **changes: Any) -> Observation:
    """A table with commits of 50, 40 and 30 minutes ago, of which the last is damaged."""
    known = {} if verified is None else {"timeline": TimelineStatus(verified_up_to=ago(verified))}
    jobs, annotations = changes.pop("jobs", ()), changes.pop("annotations", None)
    snapshot = changes.pop("snapshot", {})
    one = table(
        type="MergeOnRead",
        created=NOW - minutes(45),
        annotations=annotations,
        status=status(**known, **(remembered or {})),
        **changes,
    )
    timeline = story(done("deltacommit", 50), done("deltacommit", 40), done("deltacommit", 30))
    damaged = (Damaged(instant=TORN, problem=PROBLEM),)
    return observe(
        one, snapshot=TimelineSnapshot(timeline=timeline, runs=(MINE,), damaged=damaged, **snapshot), jobs=jobs
    )


def launched(observation: Observation) -> list[str]:
    return [str(one.job.service) for one in plan_for(observation).actions if isinstance(one, LaunchJob)]


def condition(after: HudiTableStatus, kind: ConditionType) -> Condition | None:
    return find_condition(after.conditions, kind)


def test_nothing_starts_on_a_serialized_table_beside_a_commit_that_may_be_anybodys() -> None:
    observation = seen()

    assert launched(observation) == []
    after = status_of(observation)
    ready, stalled = condition(after, ConditionType.READY), condition(after, ConditionType.STALLED)
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "TimelineCorrupt")
    assert f"The writer of deltacommit {TORN.time} is not known" in ready.message
    assert stalled is not None
    assert stalled.reason == "TimelineCorrupt"
    # It is not said that somebody else has written either.
    assert finding(after, FindingCode.FOREIGN_WRITER) is None


def test_the_status_goes_on_telling_what_the_timeline_holds_and_names_the_file() -> None:
    timeline = status_of(seen()).timeline
    assert timeline is not None
    assert timeline.completed_commits == 3
    assert timeline.problems == (f"{PROBLEM.file}: {PROBLEM.reason}",)


def test_verified_up_to_stands_still_before_a_commit_of_an_unknown_writer() -> None:
    assert plan_for(seen()).verified_up_to == ago(35)
    # Restored and found to be another writer's, it is foreign afterwards.
    restored = again(seen(), status_of(seen()))
    snapshot = replace(restored.snapshot, damaged=(), unmarked=(TORN,))
    assert [one.time for one in plan_for(replace(restored, snapshot=snapshot)).foreign] == [TORN.time]


def test_accepting_the_damaged_commit_unblocks_the_table() -> None:
    accepted = deciding(seen(), decision(acceptCommits={"upTo": TORN.time}))
    assert launched(accepted) != []
    assert plan_for(accepted).verified_up_to == ago(29.9)
    # What readers of the table will meet is still reported.
    ready = condition(status_of(accepted), ConditionType.READY)
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "TimelineCorrupt")


@pytest.mark.parametrize(
    "ours",
    [{"verified": 29}, {"remembered": {"ingestion": memory(last_run=run(instant=TORN.time))}}],
    ids=["verified before it was damaged", "a run is remembered for it"],
)
def test_a_commit_that_is_known_to_be_ours_stays_ours(ours: dict[str, Any]) -> None:
    plan = plan_for(seen(**ours))
    assert plan.facts.writers.unknown == ()
    assert plan.foreign == ()


def test_a_compaction_without_a_readable_file_is_not_taken_for_one_of_ours() -> None:
    # An unmarked one may have been made inside a writer of ours: that is told by what the file says.
    remembered = {
        "ingestion": memory(last_run=run(started_at=at(NOW - minutes(31)), finished_at=at(NOW - minutes(29))))
    }
    compaction = instant(ago(30), Action.COMMIT)
    observation = seen(remembered=remembered)
    timeline = story(done("deltacommit", 50), done("deltacommit", 40), done("commit", 30))
    snapshot = replace(observation.snapshot, timeline=timeline, damaged=(Damaged(instant=compaction, problem=PROBLEM),))
    plan = plan_for(replace(observation, snapshot=snapshot))
    assert [one.time for one in plan.facts.writers.unknown] == [compaction.time]


LOCK = {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}


def test_beside_other_writers_under_a_lock_services_go_on_and_the_table_is_not_ready() -> None:
    observation = seen(concurrency=LOCK, compaction={"trigger": {"deltaCommits": 3}})
    assert "Compaction" in launched(observation)
    after = status_of(observation)
    ready = condition(after, ConditionType.READY)
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "TimelineCorrupt")
    assert condition(after, ConditionType.STALLED) is None


def test_an_observed_table_with_a_damaged_commit_is_not_ready() -> None:
    after = status_of(seen(managementPolicy="Observe", ingestion=None))
    ready = condition(after, ConditionType.READY)
    assert ready is not None
    assert (ready.status, ready.reason) == ("False", "TimelineCorrupt")
    assert PROBLEM.file in ready.message


def of_a_run(**changes: Any) -> dict[str, Any]:
    """An ingestion that began before the damaged commit was made."""
    job = active(JOB, **{"base_instant": ago(40), "started_at": at(NOW - minutes(31)), **changes})
    return {"remembered": {"active_jobs": (job,)}}


def test_end_of_a_run_stays_open_while_its_commit_may_be_the_damaged_one() -> None:
    died = seen(**of_a_run(), jobs=(ended(exit_code=1),))
    plan = plan_for(died)
    assert plan.finished == ()
    assert [one.name for one in plan.active_jobs] == [JOB]
    # Once the file is there again, the timeline tells.
    snapshot = replace(died.snapshot, damaged=(), runs=((JOB, TORN.time), MINE))
    assert [one.outcome for one in plan_for(replace(died, snapshot=snapshot)).finished] == [Outcome.SUCCEEDED]


def test_a_run_that_names_the_damaged_commit_as_its_own_is_believed() -> None:
    plan = plan_for(seen(**of_a_run(), jobs=(ended(outcome=succeeded(instant=TORN.time)),)))
    assert [(one.outcome, one.instant) for one in plan.finished] == [(Outcome.SUCCEEDED, TORN.time)]
    assert plan.facts.writers.unknown == ()


def created(observation: Observation) -> list[str]:
    return [one.job.name for one in plan_for(observation).actions if isinstance(one, CreateJob)]


def test_no_intent_is_carried_out_while_its_commit_may_be_the_damaged_one() -> None:
    decided = seen(**of_a_run(uid=None, started_at=at(NOW - minutes(1))))
    whole = replace(decided, snapshot=replace(decided.snapshot, damaged=()))
    assert created(whole) == [JOB]
    assert created(decided) == []


def test_reading_position_stays_as_it_was_remembered() -> None:
    remembered = {"ingestion": memory(checkpoint="known")}
    after = status_of(seen(remembered=remembered, snapshot={"checkpoint": "older"}))
    assert after.services.ingestion.checkpoint == "known"
