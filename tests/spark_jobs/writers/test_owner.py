"""Two operators on one table: the record beside the table says whose it is, and the other one writes nothing."""

from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import OPERATOR_KEY, TABLE_KEY, FailureReason, Outcome, Service, TableOwner, decode_owner
from hudi_jobs.table import HudiTable

pytestmark = pytest.mark.spark

HERE = TableOwner(operator="cluster-a/hudi-operator", table_uid="uid-a", table="team/flights")
THERE = TableOwner(operator="cluster-b/hudi-operator", table_uid="uid-b", table="other/flights")
SERVICES = set(Service) - {Service.INGESTION, Service.OPERATION}


@pytest.fixture
def table(lake: Any) -> Any:
    """A table with a commit of one operator, and a file that has not been read."""
    lake.owner = HERE
    lake.table = {"type": "MergeOnRead"}
    lake.put("a.csv", "id,carrier\n1,AA\n")
    assert lake.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    lake.put("b.csv", "id,carrier\n2,DL\n", at=1)
    return lake


def owner_file(lake: Any) -> Path:
    return Path(lake.folder, "table/.hudi-operator/owner.json")


def files(lake: Any) -> dict[str, bytes]:
    """Everything in the table's folder but the leases."""
    found = Path(lake.folder, "table").rglob("*")
    own = ("ingestion.json", "services.json", ".lock")
    return {str(path): path.read_bytes() for path in found if path.is_file() and path.name not in own}


def test_a_second_operator_writes_nothing_whatever_it_runs(table: Any) -> None:
    before = files(table)
    table.owner = THERE
    for result in (table.ingest(operation="Insert"), *(table.serve(service) for service in SERVICES)):
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.OWNED_ELSEWHERE), result
        assert "team/flights of the operator cluster-a/hudi-operator" in result.message
    assert files(table) == before

    table.owner = HERE
    assert table.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    assert table.rows() == [("1", "AA"), ("2", "DL")]


def test_a_table_is_taken_over_from_the_owner_that_is_named_and_then_is_not_the_old_ones(table: Any) -> None:
    table.owner, table.take_over = THERE, "cluster-c/hudi-operator"
    assert table.ingest(operation="Insert").reason is FailureReason.OWNED_ELSEWHERE

    table.take_over = HERE.operator
    assert table.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    assert decode_owner(owner_file(table).read_bytes()).table_uid == THERE.table_uid

    table.owner, table.take_over = HERE, None
    table.put("c.csv", "id,carrier\n3,UA\n", at=2)
    assert table.ingest(operation="Insert").reason is FailureReason.OWNED_ELSEWHERE
    assert table.rows() == [("1", "AA"), ("2", "DL")]


def test_the_next_resource_of_the_same_operator_goes_on(table: Any) -> None:
    first = decode_owner(owner_file(table).read_bytes())
    assert table.serve(Service.CLEANING).outcome is Outcome.NOTHING_TO_DO
    second = decode_owner(owner_file(table).read_bytes())
    assert (second.since, second.run) == (first.since, f"run-{table.runs}")

    table.owner = TableOwner(operator=HERE.operator, table_uid="uid-new", table="team/flights")
    assert table.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    assert decode_owner(owner_file(table).read_bytes()).table_uid == "uid-new"


def test_commits_say_for_whom_they_were_made(table: Any) -> None:
    opened = HudiTable.open(table.spark, table.base_path)
    assert opened is not None
    commit = next(iter(opened.commits()))
    assert commit.notes.items() >= {TABLE_KEY: "uid-a", OPERATOR_KEY: "cluster-a/hudi-operator"}.items()


def test_a_record_that_cannot_be_read_is_respected(table: Any) -> None:
    owner_file(table).write_bytes(b"{")
    table.take_over = HERE.operator
    for result in (table.ingest(operation="Insert"), table.serve(Service.DELETION)):
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.OWNED_ELSEWHERE), result
        assert "remove the file owner.json" in result.message
    assert owner_file(table).read_bytes() == b"{"
    assert table.rows() == [("1", "AA")]


def test_a_run_for_nobody_leaves_an_owned_table_alone(table: Any) -> None:
    table.owner = None
    assert table.ingest(operation="Insert").reason is FailureReason.OWNED_ELSEWHERE


def test_another_table_at_the_path_is_not_recorded_as_ours(table: Any) -> None:
    owner_file(table).unlink()
    table.table = {"type": "CopyOnWrite"}
    assert table.ingest(operation="Insert").reason is FailureReason.TABLE_MISMATCH
    assert table.serve(Service.CLEANING).reason is FailureReason.TABLE_MISMATCH
    assert not owner_file(table).exists()
