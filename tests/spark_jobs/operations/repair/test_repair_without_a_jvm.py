"""Which files are orphans, and which rows of a key win, told by values alone."""

from typing import Any

import pytest

from hudi_jobs.contract.table.index import obstacles
from hudi_jobs.operations.repair.duplicate_keys import key_columns, order_of
from hudi_jobs.operations.repair.known_files import File, Kind, Known, instant_of, kinds_of, oldest_version, paths_of
from hudi_jobs.spark.failures import TaskFailed

FIRST, DONE, GONE, SAVED = (f"2026031013{minute}00000" for minute in ("00", "10", "20", "30"))
BEFORE = "20260309000000000"
GROUP = "7a1d2f3e-0c11-4b6a-9a54-111122223333-0"
OLD, NOW, UNTIL = 100.0, 1_000.0, 500.0


def base(instant: str, folder: str = "day=1", attempt: str = "0-1-2") -> str:
    return f"{folder}/{GROUP}_{attempt}_{instant}.parquet"


def log(instant: str) -> str:
    return f"day=1/.{GROUP}_{instant}.log.1_0-1-2"


LISTED = base(DONE)
KNOWN = Known(
    version=9,
    instants=frozenset({FIRST, DONE, SAVED}),
    commits=frozenset({DONE}),
    listed=frozenset({LISTED}),
    kept=frozenset({base(GONE, attempt="7-7-7").rpartition("/")[2]}),
)
MARKED = (".hoodie_partition_metadata", "day=1/.hoodie_partition_metadata")


def kinds_by_path(*paths: str, version: int = 9, changed: float = OLD, **known: Any) -> list[Kind]:
    """What each path is taken for, beside the files that mark the partitions."""
    files = [File(path, 1, changed) for path in (*paths, *MARKED)]
    fields = {**KNOWN.__dict__, "version": version, **known}
    found = kinds_of(files, Known(**fields), until=UNTIL)
    return [next(kind for kind, those in found.items() if path in {file.path for file in those}) for path in paths]


@pytest.mark.parametrize(
    "path",
    [base(GONE), base(GONE, ".").removeprefix("./"), base(DONE, attempt="0-1-9"), log(GONE)],
    ids=["of no instant", "in a table without partitions", "of another attempt", "a log file"],
)
def test_a_file_that_no_instant_accounts_for_is_an_orphan_once_it_is_old(path: str) -> None:
    assert kinds_by_path(path) == [Kind.ORPHAN]
    assert kinds_by_path(path, changed=NOW) == kinds_by_path(path, changed=UNTIL) == [Kind.YOUNG]


@pytest.mark.parametrize("ending", [".parquet", ".orc"])
def test_partitions_are_told_by_marks_in_the_format_of_the_base_files_too(ending: str) -> None:
    """`hoodie.partition.metafile.use.base.format`, from 0.11 on (`HoodiePartitionMetadata.writeMetafileInFormat`)."""
    files = [File(path, 1, OLD) for path in (base(GONE), f"day=1/.hoodie_partition_metadata{ending}")]
    found = kinds_of(files, KNOWN, until=UNTIL)
    assert [file.path for file in found[Kind.ORPHAN]] == [base(GONE)]
    assert found[Kind.UNKNOWN] == []


@pytest.mark.parametrize(
    "path",
    [LISTED, base(FIRST), base(SAVED), base(GONE, attempt="7-7-7"), base(BEFORE)],
    ids=["listed", "of an instant that is archived or pending", "of a savepoint", "kept", "from before all instants"],
)
def test_a_file_that_something_may_account_for_is_none(path: str) -> None:
    assert kinds_by_path(path) == [Kind.ACCOUNTED]


@pytest.mark.parametrize(
    "path",
    [
        f"day=1/{GROUP}_{GONE}.parquet",
        f"day=1/{GROUP}_0-1-2_{GONE}.parquet.tmp",
        f"day=1/{GROUP}_0-1-2_{GONE}.parquet\n",
        f"day=1/.{GROUP}_{GONE}.log.1_0-1-2.cdc",
        "day=1/_SUCCESS",
        base(GONE, "day=2"),
        base(GONE, "other/day=1"),
        base(GONE, ".hoodie/day=1"),
    ],
    ids=["no attempt", "a draft", "a line", "changes", "a flag", "no partition", "no partition either", "Hudi's own"],
)
def test_file_that_is_no_data_file_of_a_partition_is_unknown_and_stays(path: str) -> None:
    assert kinds_by_path(path) == [Kind.UNKNOWN]


def test_files_of_another_table_below_this_one_are_unknown() -> None:
    inside = (base(GONE, "other/day=1"), "other/day=1/.hoodie_partition_metadata")
    assert kinds_by_path(inside[0]) == [Kind.UNKNOWN]
    assert kinds_by_path(*inside[:1], "other/.hoodie/hoodie.properties")[0] is Kind.UNKNOWN
    files = [File(path, 1, OLD) for path in (*inside, "other/.hoodie/hoodie.properties", base(GONE), *MARKED)]
    assert [file.path for file in kinds_of(files, KNOWN, until=UNTIL)[Kind.ORPHAN]] == [base(GONE)]


def test_log_files_of_older_versions_do_not_tell_who_has_written_them() -> None:
    assert kinds_by_path(log(GONE), base(GONE), version=6) == [Kind.UNKNOWN, Kind.ORPHAN]
    assert instant_of(log(GONE).rpartition("/")[2], 8) == GONE


@pytest.mark.parametrize(("said", "version", "oldest"), [("9", 9, 9), ("6", 9, 6), ("9", 6, 6), ("", 9, 0)])
def test_log_files_keep_their_names_when_a_table_gets_a_newer_version(said: str, version: int, oldest: int) -> None:
    assert oldest_version({"hoodie.table.initial.version": said}, version) == oldest
    assert kinds_by_path(log(GONE), version=oldest) == [Kind.ORPHAN if oldest == 9 else Kind.UNKNOWN]


def test_without_any_instant_nothing_is_an_orphan() -> None:
    assert kinds_by_path(base(GONE), instants=frozenset(), commits=frozenset()) == [Kind.ACCOUNTED]


def test_a_commit_lists_what_it_wrote_in_all_ways_in_which_it_says_so() -> None:
    stat = {"path": "day=1/a", "baseFile": "b", "logFiles": [".c"], "cdcStats": {"day=1/.d": 1}}
    outside = {"path": "../elsewhere"}
    commit = {"partitionToWriteStats": {"day=1": [stat, outside], "": [{"path": "e", "baseFile": "f"}]}}
    assert set(paths_of(commit)) == {"day=1/a", "day=1/b", "day=1/.c", "day=1/.d", "e", "f"}
    assert list(paths_of({})) == []


MODEL = "org.apache.hudi.common.model."
PLAIN = {"hoodie.table.version": "9", "hoodie.table.recordkey.fields": "id", "hoodie.table.ordering.fields": "ts"}
BY_TIME = {"hoodie.record.merge.mode": "COMMIT_TIME_ORDERING"}


def test_the_index_says_whether_a_key_is_one_of_its_partition_or_of_the_table() -> None:
    assert key_columns({"hoodie.index.type": "SIMPLE"}) == ("_hoodie_partition_path", "_hoodie_record_key")
    assert key_columns({"hoodie.index.type": "BUCKET"}) == ("_hoodie_partition_path", "_hoodie_record_key")
    assert key_columns({"hoodie.index.type": "GLOBAL_BLOOM"}) == ("_hoodie_record_key",)
    with pytest.raises(TaskFailed, match="not known where that index looks up a key"):
        key_columns({})


def test_the_table_says_which_row_is_the_newest() -> None:
    places = ("_hoodie_commit_seqno", "_hoodie_file_name")
    assert order_of(PLAIN) == ("ts", "_hoodie_commit_time", *places)
    assert order_of(PLAIN | BY_TIME) == ("_hoodie_commit_time", "ts", *places)
    assert order_of({"hoodie.table.version": "9"}) == ("_hoodie_commit_time", *places)
    old = {"hoodie.table.version": "6", "hoodie.table.precombine.field": "ts"}
    assert order_of(old | {"hoodie.compaction.payload.class": f"{MODEL}OverwriteWithLatestAvroPayload"})[1] == "ts"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"hoodie.table.recordkey.fields": ""}, "no record key"),
        ({"hoodie.populate.meta.fields": "false"}, "no meta fields"),
        ({"hoodie.table.cdc.enabled": "true"}, "CDC"),
        ({"hoodie.bootstrap.base.path": "s3a://old"}, "bootstrapped"),
        ({"hoodie.record.merge.mode": "CUSTOM"}, "a custom class"),
        ({"hoodie.compaction.payload.class": f"{MODEL}PartialUpdateAvroPayload"}, "a custom class"),
        ({"hoodie.table.legacy.payload.class": f"{MODEL}AWSDmsAvroPayload"}, "a custom class"),
        ({"hoodie.record.merge.strategy.id": "00000000-0000-0000-0000-000000000000"}, "a custom strategy"),
        ({"hoodie.table.partial.update.mode": "IGNORE_DEFAULTS"}, "column by column"),
        ({"hoodie.record.merge.property.a": "b"}, "column by column"),
        ({"hoodie.table.keygenerator.type": "TIMESTAMP"}, "another key or partition"),
        ({"hoodie.table.keygenerator.type": "COMPLEX"}, "another key or partition"),
        ({"hoodie.table.keygenerator.class": "com.example.Own"}, "another key or partition"),
    ],
)
def test_a_table_whose_rows_cannot_be_told_or_written_again_is_refused(changes: dict[str, str], why: str) -> None:
    assert list(obstacles(PLAIN)) == list(obstacles(PLAIN | BY_TIME)) == []
    (sentence,) = obstacles(PLAIN | changes)
    assert why in sentence
