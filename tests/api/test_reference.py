"""The tables of fields in the documentation."""

import re
from pathlib import Path

import pytest

from hudi_operator.api.spec.table import HudiTableSpec, Ingestion
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from toolkit.generated.fields import documented_models, field_table, with_field_tables

PAGE = Path(__file__).parents[2] / "docs" / "spec.md"
STATUS_MODELS = {
    "Finding",
    "FreshnessStatus",
    "LiveStatus",
    *(
        "ActStatus",
        "ActiveJob",
        "AffectedStatus",
        "Condition",
        "CountRange",
        "FilesStatus",
        "RetainedStatus",
        "HudiSavepointStatus",
        "HudiTableClassStatus",
        "HudiTableStatus",
        "InstantStatus",
        "LeftInstant",
        "NamedSavepointJob",
        "OwnerStatus",
        "PendingStatus",
    ),
    *(
        "RescanStatus",
        "RunStatus",
        "ServiceStatus",
        "ServicesStatus",
        "HudiOperationStatus",
        "NamedOperationJob",
        "NamedServiceRun",
        "NamedRepair",
        "CascadedErasure",
        "ComparedPartitionStatus",
        "EraseReportStatus",
        "VerificationStatus",
        "OperationReportStatus",
        "TableOperation",
        "SummaryStatus",
        "TableSavepoint",
        "TableStatus",
        "TakeoverStatus",
        "TimelineStatus",
    ),
}
ELSEWHERE = {  # on their own pages
    *("HudiSavepointSpec", "HudiOperationSpec", "RestoreSpec", "RollbackSpec"),
    *("RunServiceSpec", "CompactionRun", "ClusteringRun", "CleaningRetention", "ArchivalRun"),
    *("RepairSpec", "InstantRepair", "TableRepair", "OrphanFilesRepair"),
    *("UpgradeSpec", "DowngradeSpec", "RescanSpec", "AcceptCommitsSpec", "TakeOverSpec"),
    "EraseSpec",
}
WRAPPERS = {"KeysFrom", "Lock", "Source", "TableReference"}  # each holds one field, which has the section

ROWS = {
    "a required object": "| `source` | object | required | Where input comes from. |",
    "an enum with its default": "`Upsert`, `Insert`, `BulkInsert`, `Delete`, `InsertOverwrite` | `Upsert` |",
    "an object whose default says something": "| `schedule` | object | `every: 5m` |",
    "a duration without a default": "| `freshness` | duration |  |",
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_says(row: str) -> None:
    assert row in field_table(Ingestion)


def test_what_stands_between_the_marks_is_replaced_and_nothing_else() -> None:
    page = "before\n<!-- fields of Transform -->\nold\n<!-- end of fields -->\nafter\n"
    made = with_field_tables(page)
    assert made.startswith("before\n<!-- fields of Transform -->\n| Field |")
    assert made.endswith("|\n<!-- end of fields -->\nafter\n")
    assert "old" not in made
    assert with_field_tables(made) == made


def test_a_mark_with_a_name_that_is_no_model_is_an_error() -> None:
    with pytest.raises(KeyError, match="Nothing"):
        with_field_tables("<!-- fields of Nothing -->\n<!-- end of fields -->")


def test_every_model_of_the_two_specs_has_a_table() -> None:
    shown = set(re.findall(r"<!-- fields of (\w+) -->", PAGE.read_text()))
    assert documented_models().keys() - STATUS_MODELS - WRAPPERS - ELSEWHERE == shown


@pytest.mark.parametrize("model", [HudiTableSpec, HudiTableClassSpec], ids=lambda model: model.__name__)
def test_every_field_of_a_spec_has_a_section(model: type[HudiTableSpec] | type[HudiTableClassSpec]) -> None:
    headings = set(re.findall(r"[A-Za-z]+", " ".join(re.findall(r"^### (.*)$", PAGE.read_text(), re.MULTILINE))))
    assert {field.alias for field in model.model_fields.values()} - headings == set()
