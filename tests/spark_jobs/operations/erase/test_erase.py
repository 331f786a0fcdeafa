"""An erasure: the keys are in no byte below the table afterwards, and every other row is what it was."""

import json
import re
import zlib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.spark_jobs.operations.asked import LOCK, commits, files, partitions, pending, refusal, report_of, rows
from tests.spark_jobs.operations.erase.erasing import (
    INDEXES,
    customer,
    customers,
    erase,
    erased,
    holding,
    put,
    quarantined,
    upsert,
)
from tests.spark_jobs.services.test_savepoint import die_while_deleting, files_of_savepoints
from tests.spark_jobs.services.test_services import NEW_FILES, SMALL, succeeded
from tests.spark_jobs.trials import ALL, IN_FULL

from hudi_jobs.contract import (
    ConcurrencyMode,
    FailureReason,
    OperationPhase,
    Outcome,
    SavepointStep,
    SavepointTask,
    Service,
)
from hudi_jobs.operations.erase import erase_check, erasure
from hudi_jobs.operations.erase.remaining import strays
from hudi_jobs.operations.erase.scan import File
from hudi_jobs.table_services.client import WriteClient, write_client

pytestmark = [pytest.mark.spark, pytest.mark.slow]

COMMITS, INDEXED = (40, 7) if ALL else (11, 3)
"""How many commits there are before the erasure, and how many of them, the last ones, write indexes too."""


def savepoint(lake: Any, instant: str) -> None:
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(instant, user="somebody", comment="mine")


def fails(*_: object) -> None:
    raise RuntimeError("the run ends here")


def data_files(lake: Any) -> set[str]:
    return {path.name for path in (lake.folder / "table").glob("*.parquet")}


def without(before: list[tuple[Any, ...]], *keys: str) -> list[tuple[Any, ...]]:
    return [row for row in before if row[0] not in keys]


def unknown(lake: Any) -> set[str]:
    """Files of the table beside which no key could be erased."""
    found = [File(path, size) for path, (size, _) in files(lake).items() if not path.endswith(".crc")]
    return strays(found, str(lake.folder / "table"))


@pytest.mark.timeout(900)
def test_after_many_commits_with_all_that_holds_keys_not_one_byte_of_them_is_left(lake: Any, tmp_path: Path) -> None:
    lake.table = {"type": "MergeOnRead"}
    lake.spec = {"archival": {"minCommits": 5, "maxCommits": 8}, "cleaning": {"retainCommits": 4}}
    gone, longer = (customer(0), customer(19)), "-elsewhere"  # the least: statistics name it everywhere
    whole, named = f"{customer(0)}{longer}", customer(25)
    for number, name in enumerate((f"{named}.csv", "1.csv")):  # a checkpoint names the newest, and is carried over
        put(lake, number, f"{customers(0, 30, number)}{whole},{number}\n", name=name)
    for number in range(2, COMMITS):
        upsert(lake, number, extra=(whole,))
        if number == COMMITS // 3:
            succeeded(lake.serve(Service.COMPACTION))
        if number == COMMITS - INDEXED:
            succeeded(lake.serve(Service.CLEANING))
            succeeded(lake.serve(Service.ARCHIVAL))
            lake.metadata_table, lake.options = True, INDEXES  # which costs the most
    kept = commits(lake)[-3]
    savepoint(lake, kept)
    bad = quarantined(tmp_path / "quarantine", *gone, customer(8))
    others = quarantined(tmp_path / "quarantine", gone[0], table="orders")
    table, before = lake.folder / "table", rows(lake)
    assert unknown(lake) == set()
    archive, indexes = table / ".hoodie/timeline/history", partitions(lake)
    assert indexes >= {"column_stats", "record_index"}
    holders = holding(table, gone[0], but=longer)
    for holder in (r"[^/]*\.parquet", r"\.[^/]*\.log\.[^/]*", r".*/record_index/.*", r".*/column_stats/.*"):
        assert any(re.fullmatch(holder, name) for name in holders), holder
    (archived,) = holding(table / ".hoodie/timeline", named)
    assert re.fullmatch(r"history/.*\.parquet", archived)
    asked: dict[str, Any] = {"ids": gone, "quarantines": (str(tmp_path / "quarantine"),)}

    unchanged = files(lake)
    said = report_of(erase(lake, ids=(named,), dry_run=True)).obstacles
    assert any("Hudi's own folder names a key" in one and str(archive) in one for one in said), said
    assert f"{kept} of 'somebody'" in refusal(erase(lake, **asked))
    would = erase(lake, **asked, dry_run=True, release_savepoints=True)
    assert would.outcome is Outcome.SUCCEEDED
    assert {path for path in files(lake) if ".hudi-operator" not in path} == {
        path for path in unchanged if ".hudi-operator" not in path
    }
    began = datetime.now(UTC).replace(microsecond=0)
    report, proof = erased(
        erase(
            lake,
            **asked,
            task={"savepoint": SavepointTask(step=SavepointStep.KEEP, taken_over_at="before")},  # as yet it has none
            release_savepoints=True,
            report_file=str(tmp_path / "reports/forget.json"),
            requested_by={"name": "anna", "verified": True},
        )
    )

    assert rows(lake) == rows(lake, metadata=True) == without(before, *gone)
    assert partitions(lake) == indexes, "and so is what the metadata table has"
    for key in gone:
        assert holding(table, key, but=longer) == []
        assert holding(bad.parent, key) == []
        assert holding(tmp_path / "reports", key) == []
    assert holding(bad.parent, customer(8)), "others stay in the quarantine"
    assert len(others.read_text().splitlines()) == 1, "and so do those of another table, whatever the value means there"
    assert len(list(bad.parent.rglob("*.json"))) == 1
    assert (report.savepoints, report.rows_before, report.rows_after) == ((kept,), 31, 29)
    assert (proof.keys, proof.rows, proof.keys_in_bytes, proof.quarantined) == (2, 2, 2, 2)
    assert proof.files_searched == len([path for path in files(lake) if not path.endswith(".crc")])
    assert pending(lake) == []
    told = json.loads((tmp_path / "reports/forget.json").read_text())
    assert told["report"]["erased"]["digest"] == proof.digest
    assert [(one["rows"], one["rowsAfter"], one["equal"]) for one in told["partitions"]] == [(29, 29, True)]
    assert told["requestedBy"] == {"name": "anna", "verified": True}
    assert (told["uid"], told["table"]) == ("uid-of-erase", lake.base_path)
    assert began <= datetime.fromisoformat(told["finishedAt"]) <= datetime.now(UTC)
    assert list(archive.glob("*.parquet")), "the archive stays"
    upsert(lake, COMMITS)


def test_a_predicate_erases_what_it_selects_also_where_a_run_ended_after_the_clean(
    lake: Any, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lake.metadata_table, lake.spec = True, SMALL | NEW_FILES
    for number in range(2):
        put(lake, number, customers(15 * number, 15 * number + 15), operation="Insert")
    succeeded(lake.serve(Service.CLUSTERING))
    before, key = rows(lake), customer(7)
    assert erase(lake, where="id = 'nobody'", uid="uid-of-nobody").outcome is Outcome.NOTHING_TO_DO
    where, kept = f"id = '{key}' OR upper(id) LIKE '%-00011'", lake.folder / "table/.hudi-operator"
    bad, old = quarantined(tmp_path / "quarantine", key, customer(9)), data_files(lake)
    asked: dict[str, Any] = {"where": where, "quarantines": (str(tmp_path / "quarantine"),)}
    with monkeypatch.context() as dying:
        dying.setattr(erasure, "remove_metadata_table", fails)
        assert erase(lake, **asked).outcome is Outcome.FAILED
    assert not bad.exists(), "what stays of it has another name"
    assert rows(lake) == without(before, key, customer(11)), "nothing but what was kept tells the keys any more"
    assert len(list(kept.glob("keys-of-*"))) == 1
    assert holding(kept, key) == []
    assert erase(lake, where="id = 'another'").reason is FailureReason.INVALID_REQUEST, "it opens nothing"
    report, proof = erased(erase(lake, **asked))
    removed = len(old - data_files(lake))
    assert (proof.quarantined, proof.files_removed) == (1, removed), "the first run has removed both"
    assert proof.files_removed
    assert list(kept.glob("keys-of-*")) == []
    assert rows(lake) == rows(lake, metadata=True) == without(before, key, customer(11))
    assert holding(lake.folder / "table", key) == []
    assert (proof.keys, proof.rows, proof.keys_in_bytes, report.rows_after) == (2, 2, 2, 28)
    assert proof.files_searched
    assert key not in caplog.text


@IN_FULL
def test_short_keys_are_compared_as_values_and_a_row_that_was_deleted_before_goes_from_its_file(lake: Any) -> None:
    lake.table, lake.metadata_table = {"type": "MergeOnRead"}, True
    lake.options = INDEXES | {"hoodie.partition.metafile.use.base.format": "true"}
    put(lake, 0, "id,v\n" + "".join(f"{number},0\n" for number in range(30)))
    put(lake, 1, "id,v\n7,0\n", operation="Delete")
    before = rows(lake)
    assert (lake.folder / "table/.hoodie_partition_metadata.parquet").exists()
    _, proof = erased(erase(lake, ids=(7, 8)))
    assert rows(lake) == without(before, "8")
    assert (proof.keys, proof.rows, proof.keys_in_bytes) == (2, 1, 0)
    stored = lake.spark.read.parquet(*map(str, (lake.folder / "table").glob("*.parquet")))
    assert stored.where("_hoodie_record_key IN ('7', '8')").count() == 0
    assert list((lake.folder / "table").glob(".*.log.*")) == []


def require_refused(lake: Any, path: Path, said: str, key: str, *, dry_run: bool) -> None:
    """A file stops the erasure of a key before it begins, and its dry run, and is gone afterwards."""
    was = {each: seen for each, seen in files(lake).items() if ".hudi-operator" not in each}
    sentence = refusal(erase(lake, ids=(key,), uid="uid-of-refused", dry_run=dry_run))
    assert path.name in sentence
    assert said in sentence
    assert key not in sentence
    assert {each: seen for each, seen in files(lake).items() if ".hudi-operator" not in each} == was
    path.unlink()


def test_files_that_may_hold_a_key_for_good_stop_an_erasure_before_it_begins(lake: Any) -> None:
    put(lake, 0, customers(0, 30))
    table, long, before = lake.folder / "table", "123456789", rows(lake)
    packed, parquet = table / "export.deflate", table / "exports/part-00000-c000.snappy.parquet"
    packed.write_bytes(zlib.compress(b"id,v\n123456789,0\n"))
    require_refused(lake, packed, "Move them out", long, dry_run=True)
    parquet.parent.mkdir()
    pq.write_table(pa.table({"id": [int(long)], "v": ["0"]}), parquet)
    require_refused(lake, parquet, "Move them out", long, dry_run=False)
    moved_away = table / ".hoodie/archived"
    moved_away.mkdir()
    named = moved_away / "20200310120000000.commit"
    named.write_text(f'{{"extraMetadata": {{"file": "/landing/{customer(7)}.csv"}}}}')
    require_refused(lake, named, "leave these files where they are", customer(7), dry_run=True)
    ours = table / ".hudi-operator/files/of-nobody.json"
    ours.write_text(f'["/landing/{customer(7)}.csv"]')
    require_refused(lake, ours, "The operator's own folder names a key", customer(7), dry_run=False)
    damaged = table / ".hudi-operator/order.json"
    damaged.write_text("{")
    require_refused(lake, damaged, "cannot be read as a whole", customer(7), dry_run=True)
    statistics = moved_away / "20200310120000000.deltacommit"
    commit = {"partitionToWriteStats": {"": [{"recordsStats": {"val": {"_hoodie_record_key": {"minValue": "1"}}}}]}}
    statistics.write_text(json.dumps(commit))
    require_refused(lake, statistics, "Upgrade the table", "nobody", dry_run=False)
    assert rows(lake) == before
    named.write_text('{"extraMetadata": {"file": "/landing/analytics/1.csv"}}')
    ours.write_text('["/landing/analytics/1.csv"]')
    would = report_of(erase(lake, ids=("analytics",), read_by=("team/analytics",), dry_run=True)).obstacles
    for said in (
        "also a name that the operator writes",
        "The operator's own folder names a key",
        "Hudi's own folder names a key",
    ):
        assert any(said in one for one in would), would
    named.unlink()
    ours.unlink()
    for name, changes in (
        ("analytics", {"read_by": ("team/analytics",)}),
        ("reports-of-7", {"report_file": "/r/reports-of-7/x"}),
    ):
        sentence = refusal(erase(lake, ids=(name,), uid="uid-of-refused", **changes))
        assert "also a name that the operator writes" in sentence
        assert name not in sentence
    fixed = ("services", "expected", "operations")  # names of documents and of their fields
    put(lake, 1, "id,v\n" + "".join(f"{name},0\n" for name in fixed))
    erased(erase(lake, ids=fixed))
    assert rows(lake) == before


@IN_FULL
def test_a_key_in_the_archive_of_version_6_stops_an_erasure_before_it_begins(lake: Any) -> None:
    lake.spec = {"tableVersion": 6, "cleaning": {"retainCommits": 1}, "archival": {"minCommits": 2, "maxCommits": 3}}
    lake.metadata_table = False  # one would keep instants from the archive until its own compaction
    put(lake, 0, customers(0, 9), name=f"{customer(7)}.csv")
    for number in range(1, 6):
        put(lake, number, customers(0, 9, number))
    succeeded(lake.serve(Service.CLEANING))
    succeeded(lake.serve(Service.ARCHIVAL))
    (archive,) = holding(lake.folder / "table/.hoodie", customer(7))
    assert ".commits_.archive." in archive
    for dry_run in (True, False):
        said = refusal(erase(lake, ids=(customer(7),), dry_run=dry_run))
        assert "Hudi's own folder names a key" in said
        assert archive in said
        assert customer(7) not in said
    erased(erase(lake, ids=(customer(8),), uid="uid-of-another"))


def test_a_file_that_still_holds_a_key_is_named_and_the_key_is_not(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    put(lake, 0, customers(0, 30))
    table, kept = lake.folder / "table", lake.folder / "table/.hudi-operator"
    late = (table / "export.txt", table / ".hoodie/names-a-key", table / f"{customer(7)}.txt")
    with monkeypatch.context() as beside:  # they come too late for the check
        beside.setattr(erasure, "erase_from", lambda *_: [path.write_text(f"id: {customer(7)}.") for path in late])
        result = erase(lake, where=f"id = '{customer(7)}'")
    assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.NOT_ERASED)
    assert "export.txt" in result.message
    assert "Do not remove files in .hoodie or .hudi-operator by hand" in result.message
    assert customer(7) not in result.message
    assert result.operation is not None
    assert result.operation.phase is OperationPhase.VERIFYING
    assert list(kept.glob("keys-of-*")) == [], "no run follows that needs them"
    for path in late:
        path.unlink()
    again = erase(lake, where=f"id = '{customer(7)}'")
    assert (again.reason, "with another HudiOperation that lists" in again.message) == (FailureReason.NOT_ERASED, True)
    erased(erase(lake, ids=(customer(7),), uid="uid-of-again"))
    assert len(rows(lake)) == 29
    stray = table / ".f1_20260310120000000.log.1_0-1-0"
    stray.write_text("a log file of nobody: short keys are not seen in it")
    result = erase(lake, ids=("7",), uid="uid-of-short")
    assert result.reason is FailureReason.NOT_ERASED
    assert "1 file" in result.message
    assert stray.name in result.message


def test_a_savepoint_of_which_a_killed_run_has_left_a_pending_one_is_gone_and_the_metadata_table_is_there(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.metadata_table, lake.options = True, INDEXES
    upsert(lake, 0)
    savepoint(lake, commits(lake)[-1])

    asked: dict[str, Any] = {"ids": (customer(7),), "release_savepoints": True}
    with monkeypatch.context() as dying:
        dying.setattr(WriteClient, "delete_savepoint", die_while_deleting)
        assert erase(lake, **asked).outcome is Outcome.FAILED
    assert files_of_savepoints(lake) == [f"{commits(lake)[-1]}.savepoint.inflight"]
    erased(erase(lake, **asked))
    assert files_of_savepoints(lake) == []
    assert (lake.folder / "table/.hoodie/metadata/.hoodie/hoodie.properties").exists()
    assert len(rows(lake, metadata=True)) == 29


def test_commit_during_the_check_ends_the_run_before_anything_is_erased(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    upsert(lake, 0)
    asked: dict[str, Any] = {"where": f"id = '{customer(7)}'", "release_savepoints": True}
    for come in (lambda: upsert(lake, 1, extra=("late",)), lambda: savepoint(lake, commits(lake)[-1])):
        with monkeypatch.context() as beside:
            beside.setattr(erase_check, "followed_by", lambda *_, come=come: come() or ())
            result = erase(lake, **asked)
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.CONFLICT)
        assert f"({commits(lake)[-1]}), so nothing was erased" in result.message
        assert list((lake.folder / "table/.hudi-operator").glob("keys-of-*")) == []
        assert len(rows(lake)) == 31
    report, _ = erased(erase(lake, **asked))
    assert (report.rows_before, report.rows_after) == (31, 30)


def test_beside_a_write_that_stays_pending_nothing_more_is_erased_until_it_is_dead(
    lake: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.spec, lake.options = {"concurrency": {"mode": "Optimistic"}}, LOCK
    upsert(lake, 0)
    concurrency = ConcurrencyMode.OPTIMISTIC
    asked: dict[str, Any] = {"ids": (customer(7),)}
    with monkeypatch.context() as dying:
        dying.setattr(erasure, "delete_rows", fails)
        assert erase(lake, **asked, task={"concurrency": concurrency, "abandoned": ()}).outcome is Outcome.FAILED
    with write_client(lake.spark, lake.base_path, lake.request().tasks[0].hudi_options) as client:
        begun = str(client._client.startCommit())
        for abandoned in ((), (begun,)):
            result = erase(lake, **asked, task={"concurrency": concurrency, "abandoned": abandoned})
            assert result.reason is FailureReason.CONFLICT, "it has a heartbeat"
            assert begun in result.message
        client._client.getHeartbeatClient().stop(begun)
    erased(erase(lake, **asked, task={"concurrency": concurrency, "abandoned": (begun,)}))
    assert len(rows(lake)) == 29


def test_impossible_erasure_is_refused_before_anything_is_written(lake: Any) -> None:
    put(lake, 0, f"{customers(0, 5)}id:{customer(3)},0\n{customer(9)},sent by {customer(4)}.\n")
    assert "Another record has the same key" in refusal(erase(lake, ids=(customer(3),)))
    assert "Another record has the same key" in refusal(erase(lake, where=f"id = '{customer(3)}'"))
    for dry_run in (True, False):
        sentence = refusal(erase(lake, ids=(customer(4),), dry_run=dry_run))
        assert "1 row with other keys holds one of these keys in another column (v)" in sentence
    before = files(lake)
    for where in (
        "id = (SELECT max(id) FROM rows)",
        "reflect('java.lang.System', 'exit', 1) = ''",
        "rand() > 0.5",
        "EXISTS (SELECT 1)",
        "id = current_user()",
        "id = 'secret-name",
        "nothing = 'secret-name'",
        "id",
        "input_file_name() = ''",
        "count(*) > 1",
        "explode(array(id)) = ''",
    ):
        sentence = refusal(erase(lake, where=where))
        assert "predicate" in sentence
        assert "secret-name" not in sentence
    (lake.folder / "table/keys.jsonl").write_text('"customer-00001"\n')
    assert "inside the table's folder" in refusal(erase(lake, keys_from=str(lake.folder / "table/keys.jsonl")))
    (lake.folder / "table/keys.jsonl").unlink()
    odd = quarantined(lake.folder / "quarantine", customer(1)).with_suffix(".txt")
    odd.write_text(customer(1))
    assert odd.name in refusal(erase(lake, ids=(customer(1),), quarantines=(str(lake.folder / "quarantine"),)))
    assert "fields id" in refusal(erase(lake, keys=({"name": "x"},)))
    assert "no file of keys" in refusal(erase(lake, keys_from=str(lake.folder / "keys.jsonl")))
    (lake.folder / "keys.jsonl").write_text('"customer-00001"\nnot-json-secret\n')
    assert "secret" not in refusal(erase(lake, keys_from=str(lake.folder / "keys.jsonl")))
    assert {path: seen for path, seen in files(lake).items() if ".hudi-operator" not in path} == {
        path: seen for path, seen in before.items() if ".hudi-operator" not in path
    }
    (lake.folder / "keys.jsonl").write_text('"customer-00001"\n{"id": "customer-00002"}\n')
    given = {"keys_from": str(lake.folder / "keys.jsonl")}
    would = report_of(erase(lake, **given, dry_run=True)).erased
    assert would is not None
    given["keys_digest"] = str(would.keys_digest)
    (lake.folder / "keys.jsonl").write_text('"customer-00001"\n"customer-00003"\n')
    assert "other keys than those of keysFrom.digest" in refusal(erase(lake, **given))
    (lake.folder / "keys.jsonl").write_text('{"id": "customer-00002"}\n\n{"id": "customer-00001"}\n')
    _, proof = erased(erase(lake, **given))
    assert (proof.rows, proof.keys_digest) == (2, would.keys_digest), "in any order"
