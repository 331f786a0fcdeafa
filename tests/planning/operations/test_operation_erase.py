"""An erasure: what may begin, and that no status ever holds a key."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.operations.operations import after_run, allowing, decided, entry, launches, of, operation, world
from tests.planning.world import again, ago, plan_for, status_of, table_class

from hudi_jobs.contract import OperationKind, Outcome
from hudi_operator.api.resources import HudiOperation
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.jobs.requests.erasure import build_erase_task
from hudi_operator.planning.facts.operations.kinds.erase import MOST_BYTES

KEY = "customer-of-ours"
ALLOWED: dict[str, Any] = {"allowed": ["Erase"]}
DONE: dict[str, Any] = {
    "phase": "Done",
    "verified": True,
    "rowsBefore": 30,
    "erased": {"keys": 1, "digest": "0" * 64, "rows": 1, "commit": ago(1), "filesSearched": 90, "keysInBytes": 1},
}


def erasing(**changes: Any) -> HudiOperation:
    return operation(restore=None, erase=changes or {"keys": [{"id": KEY}]})


def seen(*resources: HudiOperation, **changes: Any) -> Any:
    known = {"table_class": allowing(**ALLOWED), "recordKey": ["id"], **changes}
    return world(*(resources or (erasing(),)), **known)


def test_its_job_is_decided_without_the_keys() -> None:
    (launch,) = launches(seen(remembered=(entry(kind="Erase"),)))
    assert launch.job.operation is not None
    assert (launch.job.operation.kind, launch.job.operation.instant) == (OperationKind.ERASE, None)
    assert KEY not in status_of(seen(remembered=(entry(kind="Erase"),))).model_dump_json()


def test_the_class_has_to_allow_it() -> None:
    assert of(seen(table_class=allowing(allowed=["Restore"]))).reason == "OperationNotAllowed"


@pytest.mark.parametrize(
    ("erase", "said"),
    [
        ({"keys": [{"name": KEY}]}, "the fields id"),
        ({"keys": [{"id": KEY, "v": "1"}]}, "the fields id"),
        ({"keys": [{"id": "x" * 256}] * (MOST_BYTES // 256)}, "Use keysFrom"),
    ],
)
def test_erasure_that_no_run_could_take_fails_at_once(erase: dict[str, Any], said: str) -> None:
    found = of(seen(erasing(**erase)))
    assert (found.state, found.reason) == (OperationState.FAILED, "OperationRefused")
    assert said in found.message
    assert KEY not in found.message


def test_a_file_of_keys_lies_below_the_source_paths_of_the_class() -> None:
    asked = erasing(keysFrom={"path": "s3a://lake/forget/keys.jsonl"})
    assert of(seen(asked)).reason == "OperationNotAllowed"
    allows = table_class(operations=ALLOWED, allowedSourcePaths=["s3a://lake/forget"])
    assert of(seen(asked, table_class=allows)).state is OperationState.DRAINING


def test_its_request_has_the_keys_and_where_else_they_may_lie() -> None:
    quarantine = {"policy": "Quarantine", "quarantinePath": "s3a://lake/bad"}
    files = {"files": {"path": "s3a://lake/in", "format": "csv"}}
    table = seen(ingestion={"source": files, "badRecords": quarantine}).table
    reports = table_class(operations={**ALLOWED, "reportPath": "s3a://lake/{namespace}/reports"}).spec
    task = build_erase_task(erasing(), table, reports)
    assert task is not None
    assert task.keys == ({"id": KEY},)
    assert task.quarantines == ("s3a://lake/bad",)
    assert task.report_file == "s3a://lake/team-a/reports/team-a/flights/back-uid-of-back.json"
    assert build_erase_task(operation(), table, reports) is None
    file = {"path": "s3a://lake/forget/keys.jsonl", "digest": "0f" * 32}
    task = build_erase_task(erasing(keysFrom=file), table, reports)
    assert task is not None
    assert (task.keys_from, task.keys_digest) == (file["path"], file["digest"])


def test_its_proof_is_shown() -> None:
    remembered = entry(kind="Erase", state="Running", job=decided(kind="Erase", instant=None))
    found = of(after_run(Outcome.SUCCEEDED, report=DONE, message="Erased.", remembered=remembered))
    assert found.state is OperationState.SUCCEEDED
    assert found.report is not None
    assert found.report.erased is not None
    assert (found.report.erased.rows, found.report.erased.files_searched) == (1, 90)


def test_files_that_still_hold_keys_fail_it_and_hold_nothing_else_back() -> None:
    remembered = entry(kind="Erase", state="Running", job=decided(kind="Erase", instant=None))
    report = {"phase": "Verifying", "erased": {"leftIn": ["s3a://lake/flights/export.txt"]}}
    ended = after_run(
        Outcome.FAILED, reason="NotErased", message="export.txt holds one.", report=report, remembered=remembered
    )
    found = of(ended)
    assert (found.state, found.reason) == (OperationState.FAILED, "NotErased")
    assert plan_for(ended).facts.operations.maintenance is None


def test_erasure_with_a_resource_removed_by_hand_says_that_the_keys_are_lost() -> None:
    left = entry(kind="Erase", state="Running", begun=True, job=decided(kind="Erase", instant=None))
    gone = world(remembered=(left,), table_class=allowing(**ALLOWED))
    found = of(gone)
    assert (found.state, found.reason) == (OperationState.FAILED, "KeysLost")
    assert launches(gone) == []
    assert status_of(again(gone, status_of(gone))).operations == (), "the table goes on"
