"""Erasures of keys that have several rows: every one goes, or nothing is written."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark_jobs.operations.asked import ROLLBACK, commits, done, files, mend, operate, pending, refusal, rows
from tests.spark_jobs.operations.erase.erasing import customer, erase, erased, holding
from tests.spark_jobs.operations.repair.test_repair_of_keys import insert
from tests.spark_jobs.services.test_services import succeeded
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import Outcome, RepairStep
from hudi_jobs.operations.erase import erase_steps

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KEY = customer(1)
OTHERS = [(customer(number), "a", 1, 1) for number in (0, 2, 3)]


def table(lake: Any, kind: str, index: str, *, version: int = 9, metadata: bool = False) -> None:
    """Insert four records, as a tool does that looks for none that are there."""
    lake.table = {"type": kind, "partitionBy": ["p"], "orderingFields": ["ts"]}
    lake.spec = {"index": {"type": index, **({"buckets": 2} if index == "Bucket" else {})}}
    lake.metadata_table = metadata
    lake.options["hoodie.write.table.version"] = str(version)
    if index == "GlobalRecordLevel":
        lake.options["hoodie.metadata.global.record.level.index.enable"] = "true"
    insert(lake, [*OTHERS, (KEY, "a", 1, 1)])


def unchanged(lake: Any) -> dict[str, tuple[int, int]]:
    return {path: seen for path, seen in files(lake).items() if ".hudi-operator" not in path}


def require_both_rows_go(lake: Any) -> None:
    """See that the two rows of the key go, and nothing else, for readers with the metadata table and without."""
    before = rows(lake)
    _, proof = erased(erase(lake, ids=(KEY,)))
    assert proof.rows == 2
    assert rows(lake) == rows(lake, metadata=True) == [row for row in before if row[0] != KEY]
    assert holding(lake.folder / "table", KEY) == []


@pytest.mark.parametrize(
    ("kind", "index", "version"),
    [
        ("MergeOnRead", "Bloom", 6),
        pytest.param("CopyOnWrite", "GlobalSimple", 9, marks=IN_FULL),
        pytest.param("MergeOnRead", "Bucket", 9, marks=IN_FULL),
        pytest.param("CopyOnWrite", "Bucket", 6, marks=IN_FULL),
    ],
)
def test_all_rows_of_a_key_go_from_one_file_also_where_a_run_ended_after_the_first(
    lake: Any, monkeypatch: pytest.MonkeyPatch, kind: str, index: str, version: int
) -> None:
    table(lake, kind, index, version=version)
    if index == "Bucket":
        insert(lake, [(customer(5), "c", 1, 1), *((KEY, "c", value, value) for value in (2, 3))])
    else:
        insert(lake, [*((KEY, "a", value, value) for value in (2, 3)), (KEY, "b", 4, 4)])
    before = rows(lake)
    assert len([row for row in before if row[0] == KEY]) >= 3
    for more, dry_run in (("p = 'a'", True), ("(ts > 1 OR NULL)", False)):
        assert "Widen the predicate" in refusal(erase(lake, where=f"id = '{KEY}' AND {more}", dry_run=dry_run))

    def ends(*_: object) -> None:
        raise RuntimeError("the run ends here")

    with monkeypatch.context() as dying:
        dying.setattr(erase_steps, "_merge_logs", ends)
        assert erase(lake, ids=(KEY,)).outcome is Outcome.FAILED
    assert 0 < len([row for row in rows(lake) if row[0] == KEY]) < len([row for row in before if row[0] == KEY])

    report, proof = erased(erase(lake, ids=(KEY,)))

    assert rows(lake) == [row for row in before if row[0] != KEY]
    assert holding(lake.folder / "table", KEY) == []
    assert (proof.keys, proof.rows) == (1, len(before) - len(rows(lake)))
    assert (report.rows_after, pending(lake)) == (len(rows(lake)), [])


@IN_FULL
@pytest.mark.parametrize("kind", ["CopyOnWrite", "MergeOnRead"])
@pytest.mark.parametrize("partition", ["a", "b"])
def test_rows_go_of_which_an_index_of_record_keys_knows_one(lake: Any, kind: str, partition: str) -> None:
    table(lake, kind, "GlobalRecordLevel", metadata=True)
    insert(lake, [(KEY, partition, 2, 2)])
    require_both_rows_go(lake)


@IN_FULL
def test_a_key_goes_from_all_partitions_of_a_table_whose_index_of_record_keys_tells_them_apart(lake: Any) -> None:
    lake.table, lake.spec = {"type": "CopyOnWrite", "partitionBy": ["p"]}, {"index": {"type": "RecordLevel"}}
    lake.metadata_table = True
    for number in range(2):
        text = "".join(f"{customer(each)},{p},{number}\n" for each in range(4) for p in "ab")
        lake.put(f"{number}.csv", f"id,p,v\n{text}", at=number)
        succeeded(lake.ingest(operation="Upsert"))
    require_both_rows_go(lake)


@IN_FULL
def test_an_index_of_record_keys_beside_which_it_could_not_be_made_again_stops_no_rollback(lake: Any) -> None:
    table(lake, "CopyOnWrite", "GlobalRecordLevel", metadata=True)
    insert(lake, [(customer(0), "b", 2, 2)])
    before, seen = rows(lake), unchanged(lake)
    assert "repair.deduplicate" in refusal(erase(lake, ids=(KEY,)))
    assert "repair.deduplicate" in refusal(mend(lake, RepairStep.REBUILD_METADATA_TABLE))
    assert unchanged(lake) == seen
    insert(lake, [(customer(9), "b", 2, 2)])
    result = operate(lake, commits(lake)[-1], ROLLBACK)
    done(result)
    assert "remove rows with the same key" in result.message
    assert rows(lake) == before
    done(mend(lake, RepairStep.DEDUPLICATE, uid="uid-of-doubles"))
    _, proof = erased(erase(lake, ids=(KEY,), uid="uid-of-again"))
    assert proof.rows == 1
    assert rows(lake) == [(customer(0), "b", 2, 2), *OTHERS[1:]]


@IN_FULL
def test_an_index_of_record_keys_of_the_whole_table_stops_a_repair_that_leaves_keys_in_several_partitions(
    lake: Any,
) -> None:
    lake.options["hoodie.metadata.global.record.level.index.enable"] = "true"
    table(lake, "CopyOnWrite", "Simple", metadata=True)
    insert(lake, [(customer(0), "b", 2, 2), (customer(2), "a", 2, 2)])
    seen = unchanged(lake)
    for result in (mend(lake, RepairStep.DEDUPLICATE), erase(lake, ids=(KEY,))):
        assert "drop that" in refusal(result)
    assert unchanged(lake) == seen


@IN_FULL
@pytest.mark.parametrize("kind", ["CopyOnWrite", "MergeOnRead"])
def test_two_files_of_one_bucket_are_refused_until_none_is_there_twice(lake: Any, kind: str) -> None:
    table(lake, kind, "Bucket")
    insert(lake, [(customer(number), "a", 2, 2) for number in range(4)])
    seen = unchanged(lake)
    assert "two files of one bucket" in refusal(erase(lake, ids=(KEY,)))
    assert unchanged(lake) == seen
    done(mend(lake, RepairStep.DEDUPLICATE))
    _, proof = erased(erase(lake, ids=(KEY,), uid="uid-of-again"))
    assert proof.rows == 1
    assert rows(lake) == [(name, "a", 2, 2) for name, *_ in OTHERS]
    assert holding(lake.folder / "table", KEY) == []
