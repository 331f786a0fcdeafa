"""Operations that are about no commit: when they begin, what is remembered, and what follows from how they end."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.operations.operations import (
    after_run,
    at_work,
    decided,
    entry,
    launches,
    of,
    operation,
    over,
    world,
)
from tests.planning.world import NOW, ago, at, done, minutes, status_of, story, table_class
from tests.planning.world import job as running_job

from hudi_jobs.contract import FailureReason, OperationKind, Outcome, RepairStep, Service, TableOperation
from hudi_operator.api.resources import HudiOperation
from hudi_operator.api.spec.operation_kinds.repair import REPAIR_FIELDS
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.api.status.timeline import LeftInstant
from hudi_operator.jobs.requests.request import build_request, service_run
from hudi_operator.planning.facts.operations.kinds.operation_registry import wording_of
from hudi_operator.planning.model import Observation, Undoing
from hudi_operator.timeline import Action, Instant, State

COMPACTION = {"service": "Compaction", "asked": '{"service":"Compaction"}'}
OPTIMISTIC = {"concurrency": {"mode": "Optimistic", "lock": {"zookeeper": {"connect": "zk:2181"}}}}
COMPACT = {"runService": {"service": "Compaction"}}


def asked(document: dict[str, Any], **changes: Any) -> HudiOperation:
    """A HudiOperation of another kind than a restore."""
    return operation(**document, **changes)


def remembered(kind: str, **changes: Any) -> Any:
    return entry(kind=kind, **changes)


def seen(document: dict[str, Any], kind: str = "RunService", **changes: Any) -> Observation:
    return world(asked(document), remembered=(remembered(kind),), **changes)


def request_of(observation: Observation) -> Any:
    """The request of the Job that is decided."""
    (launch,) = launches(observation)
    named = launch.job.operation
    assert named is not None
    assert observation.table_class is not None
    return build_request(
        table=observation.table,
        table_class=observation.table_class.spec,
        service=Service.OPERATION,
        run=launch.job.name,
        spark_conf={},
        operator="operator",
        operation=TableOperation(
            kind=named.kind,
            resource="team-a/back",
            uid=named.uid,
            service=service_run(observation.table.spec, named.service) if named.service is not None else None,
        ),
    )


def options(observation: Observation) -> dict[str, str]:
    """The options of Hudi that the driver takes, by its own rule."""
    (task,) = request_of(observation).tasks
    return {**task.hudi_options, **task.operation.service.options}


@pytest.mark.parametrize(("state", "may_end"), [("requested", True), ("inflight", False)])
def test_a_service_that_is_off_may_finish_the_plan_of_somebody_that_nobody_has_begun(
    state: str, *, may_end: bool
) -> None:
    names = dict.fromkeys(f"{ago(5)}.compaction.{one}" for one in ("requested", state))
    found = launches(seen(COMPACT, files=tuple(names)))
    assert [one.job.abandoned for one in found] == ([(ago(5),)] if may_end else [])


def test_a_service_is_run_whatever_its_mode_and_what_it_does_is_remembered() -> None:
    observation = seen(COMPACT)
    (launch,) = launches(observation)
    assert (launch.job.service, of(observation).kind) == (Service.OPERATION, OperationKind.RUN_SERVICE)
    named = of(observation).job
    assert named is not None
    assert (named.instant, named.service.service if named.service else None) == (None, "Compaction")
    assert "asks for the compaction" in status_of(observation).services.operation.message  # type: ignore[union-attr]
    assert options(observation)["hoodie.compact.inline.trigger.strategy"] == "TIME_ELAPSED", "no trigger counts"


def test_a_service_takes_the_options_of_the_operation_and_no_other_of_the_table() -> None:
    table: dict[str, Any] = {
        "partitionBy": ["day"],
        "clustering": {
            "mode": "Async",
            "plan": {"strategy": "SelectedPartitions", "partitions": {"names": ["day=1"]}, "maxGroups": 7},
            "execution": {"sortColumns": ["id"]},
        },
    }
    own = {"runService": {"service": "Clustering", "clustering": {"plan": {"maxGroups": 3}}}}
    found = options(seen(own, **table))
    assert found["hoodie.clustering.plan.strategy.max.num.groups"] == "3"
    assert "hoodie.clustering.plan.strategy.partition.selected" not in found
    assert found["hoodie.clustering.plan.strategy.sort.columns"] == "id", "what is left out is the table's"
    declared = options(seen({"runService": {"service": "Clustering"}}, **table))
    assert declared["hoodie.clustering.plan.strategy.partition.selected"] == "day=1"


def test_a_clean_and_an_archival_need_no_new_commits() -> None:
    clean = options(seen({"runService": {"service": "Cleaning", "cleaning": {"retainCommits": 2}}}))
    assert (clean["hoodie.clean.trigger.max.commits"], clean["hoodie.clean.commits.retained"]) == ("0", "2")
    archival = options(seen({"runService": {"service": "Archival", "archival": {"minCommits": 12}}}))
    assert (archival["hoodie.keep.min.commits"], archival["hoodie.keep.max.commits"]) == ("12", "13")


REFUSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "a compaction without log files": (COMPACT, {"type": "CopyOnWrite"}, "Only a MergeOnRead table"),
    "an archival of what cleaning needs": (
        {"runService": {"service": "Archival", "archival": {"minCommits": 10}}},
        {},
        "set archival.minCommits above 10",
    ),
    "a plan by partitions where there are none": (
        {"runService": {"service": "Clustering", "clustering": {"plan": {"strategy": "RecentDays"}}}},
        {},
        "The table has no partitions",
    ),
}


@pytest.mark.parametrize(("document", "table", "words"), REFUSED.values(), ids=REFUSED)
def test_service_run_that_can_never_succeed_is_refused_before_anything_stops(
    document: dict[str, Any], table: dict[str, Any], words: str
) -> None:
    observation = seen(document, **table)
    assert (of(observation).state, of(observation).reason) == (OperationState.FAILED, "OperationRefused")
    assert words in of(observation).message
    assert launches(observation) == []


def test_a_class_allows_a_kind_by_its_name() -> None:
    observation = seen(COMPACT, table_class=table_class(operations={"allowed": ["Restore"]}))
    assert of(observation).reason == "OperationNotAllowed"


def test_service_run_awaiting_approval_says_for_what() -> None:
    slow = table_class(operations={"allowed": ["RunService"], "approval": "Manual"})
    assert "The compaction waits for approval" in of(seen(COMPACT, table_class=slow)).message


def ended(kind: Outcome | None, **changes: Any) -> Any:
    job = decided(kind="RunService", instant=None, service=COMPACTION)
    return after_run(
        kind,
        remembered=remembered("RunService", state="Running", job=job),
        resource=(asked(COMPACT),),
        job=job,
        **changes,
    )


def test_a_service_that_is_done_has_succeeded_and_says_which_instant() -> None:
    found = of(ended(Outcome.SUCCEEDED, report={"phase": "Done", "instant": ago(1), "count": 3}, message="Done."))
    assert (found.state, found.report.instant if found.report else None) == (OperationState.SUCCEEDED, ago(1))
    assert of(ended(Outcome.NOTHING_TO_DO, report={"phase": "Done"})).state is OperationState.SUCCEEDED


def test_a_service_that_fails_leaves_a_whole_table_so_it_is_not_tried_without_end() -> None:
    failed: dict[str, Any] = {"reason": FailureReason.HUDI_ERROR, "report": {"phase": "Running"}, "message": "No."}
    found = of(ended(Outcome.FAILED, **failed))
    assert (found.begun, found.state, found.reason) == (False, OperationState.DRAINING, "Retrying")
    assert "nothing was changed" not in found.message
    job = decided(kind="RunService", instant=None, service=COMPACTION)
    tired = remembered("RunService", state="Running", job=job, failures=99)
    last = of(after_run(Outcome.FAILED, remembered=tired, resource=(asked(COMPACT),), job=job, **failed))
    assert (last.state, last.reason) == (OperationState.FAILED, "HudiError")
    assert "before they changed" not in last.message


def test_a_run_at_work_is_never_said_to_verify_by_a_restore_of_somebody_else() -> None:
    job = decided(kind="RunService", instant=None, service=COMPACTION)
    observation = world(
        asked(COMPACT),
        remembered=(remembered("RunService", state="Running", job=job),),
        told={"active_jobs": (at_work(**job),)},
        files=(done("restore", 1),),
        jobs=(replace(over(None), phase=running_job().phase),),
    )
    assert of(observation).state is OperationState.RUNNING


STUCK = {"repair": {"rollbackInflight": {"instant": ago(1)}}}
PENDING = (f"{ago(1)}.commit.requested",)


def test_a_repair_of_an_instant_is_told_which_and_finds_it_pending() -> None:
    observation = seen(STUCK, "Repair", files=PENDING)
    named = of(observation).job
    assert named is not None
    assert (named.instant, named.repair.step if named.repair else None) == (ago(1), "RollbackInflight")
    gone = seen(STUCK, "Repair")
    assert (of(gone).state, of(gone).reason) == (OperationState.FAILED, "InstantNotFound")


def test_a_repair_of_the_table_is_about_no_instant() -> None:
    observation = seen({"repair": {"rebuildMetadataTable": {}}}, "Repair")
    named = of(observation).job
    assert named is not None
    assert (named.instant, launches(observation)[0].job.operation) == (None, named)
    message = status_of(observation).services.operation.message  # type: ignore[union-attr]
    assert "asks for the rebuild of the metadata table" in message


def test_request_holds_the_age_of_orphans_in_seconds() -> None:
    observation = seen({"repair": {"removeOrphanFiles": {"olderThan": "1h30m"}}}, "Repair")
    named = of(observation).job
    assert named is not None
    assert (named.repair.step, named.repair.older_than_seconds) == ("RemoveOrphanFiles", 5_400)  # type: ignore[union-attr]
    asked_for = {"kind": "Repair", "resource": "team/a", "uid": "u", "repair": named.repair.model_dump()}  # type: ignore[union-attr]
    assert TableOperation.model_validate(asked_for).repair.older_than_seconds == 5_400  # type: ignore[union-attr]
    by_default = of(seen({"repair": {"removeOrphanFiles": {}}}, "Repair")).job
    assert by_default is not None
    assert by_default.repair.older_than_seconds == 86_400  # type: ignore[union-attr]


def test_every_step_has_a_field_of_the_spec_and_reads_as_words() -> None:
    assert set(REPAIR_FIELDS) == set(RepairStep)
    for step in RepairStep:
        job = NamedOperationJob.model_validate(decided(kind="Repair", instant=ago(1), repair={"step": step}))
        assert wording_of(job)


def test_a_repair_begins_beside_what_a_stranger_has_left_and_nothing_else_does() -> None:
    assert [one.job.service for one in launches(seen(STUCK, "Repair", files=PENDING))] == [Service.OPERATION]
    restore = world(operation(), remembered=(entry(),), files=PENDING)
    assert (of(restore).reason, launches(restore)) == ("Blocked", [])


def test_a_dry_run_looks_at_a_table_on_which_a_stranger_is_at_work_or_says_all_that_is_in_the_way() -> None:
    begins = world(operation(dryRun=True), remembered=(entry(dry_run=True),), files=PENDING)
    assert [one.job.operation and one.job.operation.dry_run for one in launches(begins)] == [True]
    rollback = Undoing(instant=Instant(ago(2), Action.ROLLBACK, State.INFLIGHT), targets=(ago(20),))
    hidden = replace(
        begins.snapshot,
        undoings=(rollback,),
        timeline=story(
            *(done("commit", number) for number in (30, 20, 10)),
            *PENDING,
            done("savepoint", 20),
            f"{ago(2)}.rollback.inflight",
        ),
        read_up_to=ago(30),
    )
    blocked = of(replace(begins, snapshot=hidden))
    assert (blocked.reason, launches(replace(begins, snapshot=hidden))) == ("Blocked", [])
    assert blocked.report is not None
    assert len(blocked.report.obstacles) >= 2, blocked.report
    assert blocked.report.obstacles[0] == blocked.message


@pytest.mark.parametrize("spec", [{}, OPTIMISTIC])
def test_an_operation_waits_for_the_heartbeat_of_a_write_whose_process_was_not_seen_to_end(
    spec: dict[str, Any],
) -> None:
    """Its driver would refuse it, which is for good."""
    left = LeftInstant(time=ago(1), run="run", ended_at=at(NOW))
    asked_for = operation(acceptOtherWriters=True)
    files = (*PENDING, f"{ago(1)}.commit.inflight")
    rested = world(asked_for, files=files, remembered=(entry(),), told={"left_by": (left,)}, **spec)
    beats = ((ago(1), int(NOW.timestamp() * 1000)),)
    waits = replace(rested, snapshot=replace(rested.snapshot, heartbeats=beats))
    told = of(waits)
    assert (told.state, told.reason, told.begun) == (OperationState.PENDING, "Blocked", False)
    assert "it has a heartbeat" in told.message
    assert launches(waits, now=NOW + minutes(159 / 60)) == []
    assert [one.job.service for one in launches(waits, now=NOW + minutes(160 / 60))] == [Service.OPERATION]


def test_failed_repair_leaves_the_defect_and_is_not_retried_without_end() -> None:
    job = decided(kind="Repair", instant=None, repair={"step": "RebuildMetadataTable"})
    tired = remembered("Repair", state="Running", job=job, failures=99)
    rebuild = asked({"repair": {"rebuildMetadataTable": {}}})
    report = {"phase": "Running"}
    failed = of(
        after_run(
            Outcome.FAILED,
            remembered=tired,
            resource=(rebuild,),
            job=job,
            reason=FailureReason.HUDI_ERROR,
            report=report,
        )
    )
    assert (failed.state, failed.begun) == (OperationState.FAILED, False)
    wrong = {"phase": "Verifying", "verified": False}
    differs = after_run(
        Outcome.FAILED,
        remembered=remembered("Repair", state="Running", job=job),
        resource=(rebuild,),
        job=job,
        reason=FailureReason.NOT_VERIFIED,
        report=wrong,
    )
    assert (of(differs).state, of(differs).reason) == (OperationState.FAILED, "NotVerified")
    assert launches(differs) == [], "rows that differ stop the table after a repair too"
