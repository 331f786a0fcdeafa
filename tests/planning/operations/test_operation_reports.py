"""What a driver reports of an operation is what status shows, and what a dry run would do is all of that."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel
from tests.planning.operations.operations import after_run, decided, entry, of, operation
from tests.planning.world import ago

from hudi_jobs.contract import OperationReport, Outcome
from hudi_jobs.contract.operations.erase import EraseReport
from hudi_jobs.contract.operator_folder import ComparedPartition, Comparison
from hudi_operator.api.status.operation_status import (
    ComparedPartitionStatus,
    EraseReportStatus,
    OperationReportStatus,
    OperationState,
    VerificationStatus,
)
from hudi_operator.api.status.table_operations import TableOperation

SUCCEEDED, FAILED = OperationState.SUCCEEDED, OperationState.FAILED
DRY = entry(state="Running", dry_run=True, job=decided(dry_run=True))

SHOWN: list[tuple[type[BaseModel], type[BaseModel], set[str]]] = [
    (OperationReport, OperationReportStatus, {"phase"}),
    (EraseReport, EraseReportStatus, set()),
    (Comparison, VerificationStatus, {"listed"}),
    (ComparedPartition, ComparedPartitionStatus, set()),
]


@pytest.mark.parametrize(("said", "shown", "otherwise"), SHOWN)
def test_each_field_of_a_report_is_one_of_the_status_that_shows_it(
    said: type[BaseModel], shown: type[BaseModel], otherwise: set[str]
) -> None:
    """Another name would vanish without a word, because unknown fields are ignored."""
    assert otherwise <= set(said.model_fields)
    assert set(said.model_fields) - otherwise <= set(shown.model_fields)


def test_a_dry_run_that_is_refused_shows_all_that_its_driver_has_reported() -> None:
    report = {
        "phase": "Checking",
        "target": ago(20),
        "count": 48,
        "bytes": 2**30,
        "files": ["day=1/a.parquet", "day=2/b.parquet"],
        "obstacles": ["Savepoints keep commits that would be undone.", "Files of a commit are missing."],
    }
    message = "Savepoints keep commits that would be undone. The report names 1 more obstacle. Nothing was changed."
    refused: dict[str, Any] = {"reason": "OperationRefused", "message": message, "report": report}
    after = of(after_run(Outcome.FAILED, remembered=DRY, resource=(operation(dryRun=True),), **refused))
    assert (after.state, after.reason, after.begun, after.message) == (FAILED, "OperationRefused", False, message)
    assert after.report is not None
    assert after.report.model_dump(mode="json", by_alias=True, exclude_defaults=True) == {
        key: value for key, value in report.items() if key != "phase"
    }


MISSING = "Files of a commit are missing. Nothing was changed."
DRY_ENDS: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "nothing": ({"kind": Outcome.SUCCEEDED, "message": "Would undo 1 instant; nothing was written."}, ()),
    "missing files": ({"kind": Outcome.FAILED, "reason": "OperationRefused", "message": MISSING}, (MISSING,)),
}


@pytest.mark.parametrize(("end", "found"), DRY_ENDS.values(), ids=DRY_ENDS)
def test_a_dry_run_names_the_other_writers_of_an_optimistic_table_beside_what_its_driver_has_found(
    end: dict[str, Any], found: tuple[str, ...]
) -> None:
    report = {"phase": "Checking", "target": ago(20), "removedCount": 1, "obstacles": found}

    def ends(**spec: Any) -> TableOperation:
        asked, shared = operation(dryRun=True, **spec), {"concurrency": {"mode": "Optimistic"}}
        return of(after_run(**end, report=report, remembered=DRY, resource=(asked,), spec=shared))

    after = ends()
    assert (after.state, after.reason, after.begun) == (FAILED, "OtherWriters", False)
    assert after.report is not None
    others, *rest = after.report.obstacles
    assert "acceptOtherWriters: true" in others
    assert (tuple(rest), after.report.removed_count) == (found, 1)
    assert after.message == f"{others} {end['message']}"
    accepted = ends(acceptOtherWriters=True)
    assert accepted.report is not None
    assert (accepted.state, accepted.report.obstacles) == (FAILED if found else SUCCEEDED, found)
