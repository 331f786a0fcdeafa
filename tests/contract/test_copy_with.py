"""Copies of documents with changed fields: a name that is no field is an error for mypy and at run time."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from hudi_jobs.contract import Outcome, Service, TaskResult
from hudi_operator.api.status.runs import ActiveJob

ROOT = Path(__file__).parents[2]
HELPER = ROOT / "spark_jobs" / "hudi_jobs" / "contract" / "document.py"
SOURCES = sorted(
    path
    for folder in ("operator", "spark_jobs", "dev", "tests", "benchmarks")
    for path in (ROOT / folder).rglob("*.py")
    if path != HELPER
)
RESULT = TaskResult(id="team/trips/Ingestion", outcome=Outcome.SUCCEEDED, message="Done.")
JOB = ActiveJob(name="trips-1", service=Service.INGESTION, attempt=1, started_at="2026-03-10T11:00:00Z")


def test_copy_has_the_changed_fields_and_keeps_the_others() -> None:
    copy = RESULT.copy_with(message="Written.", rows_read=3)
    assert copy == TaskResult(id=RESULT.id, outcome=RESULT.outcome, message="Written.", rows_read=3)
    assert RESULT.message == "Done."


# mypy reports a `type: ignore` that is not needed, so these lines also test its plugin, dev/toolkit/mypy_copy_with.py.
def test_misspelled_field_of_a_contract_document_is_refused() -> None:
    with pytest.raises(TypeError, match="TaskResult has no field 'mesage'"):
        RESULT.copy_with(mesage="Written.")  # type: ignore[call-arg]


def test_misspelled_field_of_a_resource_is_refused() -> None:
    with pytest.raises(TypeError, match="ActiveJob has no field 'startedAt'"):
        JOB.copy_with(startedAt="2026-03-10T12:00:00Z")  # type: ignore[call-arg]


def test_mypy_knows_the_type_of_each_field_of_a_copy() -> None:
    RESULT.copy_with(message=3)  # type: ignore[arg-type]
    JOB.copy_with(attempt=None)  # type: ignore[arg-type]
    JOB.copy_with(uid=None)


@pytest.mark.parametrize("code", ["run.model_copy(update=changes)", 'run.model_copy(update={"reason": None})'])
def test_unchecked_copy_is_found(code: str) -> None:
    assert unchecked_copies(code) == [1]


def test_every_changed_copy_is_made_by_copy_with() -> None:
    found = {
        path: lines
        for path in SOURCES
        if "model_copy" in (code := path.read_text()) and (lines := unchecked_copies(code))
    }
    assert found == {}


def unchecked_copies(code: str) -> list[int]:
    """Return the lines of calls of `model_copy`, which accepts any name."""
    return [
        node.lineno
        for node in ast.walk(ast.parse(code))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "model_copy"
    ]
