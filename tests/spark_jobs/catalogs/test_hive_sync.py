"""What a run leaves in a Hive Metastore, and when it opens a connection to it."""

import shutil
import time

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import StringType, StructField, StructType
from tests.spark_jobs.catalogs.conftest import CatalogTrial, MetastoreClient

from hudi_jobs.catalogs.sync import AFTER_A_COMMIT
from hudi_jobs.contract import Outcome, Service, SyncTrouble
from hudi_jobs.table import HudiTable
from toolkit.streams.metastore import HiveMetastore

pytestmark = pytest.mark.spark

MONDAY = {"id": "1", "v": "a", "day": "mon"}
TUESDAY = {"id": "2", "v": "b", "day": "tue"}


def test_first_commit_makes_the_entry_of_a_copy_on_write_table(trial: CatalogTrial) -> None:
    result = trial.ingest(MONDAY)

    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.record().behind_since is None
    assert trial.record().instant == result.instant
    entry = trial.metastore.entry(trial.table)
    assert entry.location.endswith(trial.lake.base_path)
    assert entry.properties["hudi-operator.table-uid"] == trial.uid
    assert entry.properties["EXTERNAL"] == "TRUE"
    assert {"id": "string", "v": "string"}.items() <= entry.columns.items()
    assert entry.partition_columns == {"day": "string"}
    assert list(entry.partitions) == ["mon"]


def test_run_that_changes_neither_columns_nor_partitions_opens_no_connection(trial: CatalogTrial) -> None:
    trial.ingest(MONDAY)
    before = trial.proxy.connections

    result = trial.ingest(MONDAY | {"v": "c"})

    assert result.outcome is Outcome.SUCCEEDED, result
    assert before > 0
    assert trial.proxy.connections == before


def test_new_partition_and_new_column_are_shown_after_their_commit(trial: CatalogTrial) -> None:
    trial.ingest(MONDAY)

    trial.ingest(TUESDAY)
    partitions = list(trial.metastore.entry(trial.table).partitions)
    trial.ingest(TUESDAY | {"extra": "x"})

    assert sorted(partitions) == ["mon", "tue"]
    assert trial.metastore.entry(trial.table).columns["extra"] == "string"


def test_comments_of_declared_columns_are_shown_and_follow_the_spec(trial: CatalogTrial) -> None:
    columns = [{"name": name, "type": "string", "comment": f"the {name}"} for name in MONDAY]
    trial.lake.table |= {"declared": {"columns": columns}}
    trial.ingest(MONDAY)
    first = trial.metastore.entry(trial.table).comments

    trial.lake.table |= {"declared": {"columns": [*columns[:1], {**columns[1], "comment": "a value"}, columns[2]]}}
    result = trial.ingest(TUESDAY)

    assert (first["id"], first["v"]) == ("the id", "the v")
    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.metastore.entry(trial.table).comments["v"] == "a value"


def test_merge_on_read_table_has_entries_for_both_kinds_of_query(trial: CatalogTrial) -> None:
    trial.lake.table |= {"type": "MergeOnRead"}

    trial.ingest(MONDAY)
    trial.ingest(TUESDAY)

    entries = {suffix: trial.metastore.entry(f"{trial.table}{suffix}") for suffix in ("", "_ro", "_rt")}
    assert {suffix: entry.reads for suffix, entry in entries.items()} == {
        "": "HoodieParquetRealtimeInputFormat",
        "_ro": "HoodieParquetInputFormat",
        "_rt": "HoodieParquetRealtimeInputFormat",
    }
    assert all(sorted(entry.partitions) == ["mon", "tue"] for entry in entries.values())
    assert all(entry.properties["hudi-operator.table-uid"] == trial.uid for entry in entries.values())


def test_commit_succeeds_while_the_metastore_is_away_and_the_next_attempt_shows_it(
    trial: CatalogTrial, hive: HiveMetastore
) -> None:
    trial.ingest(MONDAY)
    hive.kill()
    began = time.monotonic()

    result = trial.ingest(TUESDAY)
    took = time.monotonic() - began
    tried, behind = trial.proxy.connections, trial.record()
    waits = trial.ingest(TUESDAY | {"v": "c"})

    assert result.outcome is Outcome.SUCCEEDED, result
    assert behind.trouble is SyncTrouble.UNAVAILABLE
    assert "does not answer" in behind.message
    assert took < 30
    assert (waits.outcome, trial.proxy.connections) == (Outcome.SUCCEEDED, tried)
    assert trial.record() == behind

    hive.start()
    caught_up = trial.serve()

    assert caught_up.outcome is Outcome.SUCCEEDED, caught_up
    assert trial.record().behind_since is None
    trial.metastore = MetastoreClient(trial.lake.spark, hive.uri)
    assert sorted(trial.metastore.entry(trial.table).partitions) == ["mon", "tue"]


def test_metastore_that_dies_in_the_middle_of_a_sync_is_right_after_the_next_sync(trial: CatalogTrial) -> None:
    trial.proxy.cut_after = 1500
    first = trial.ingest(MONDAY)
    behind_since = trial.record().behind_since
    trial.proxy.cut_after = None

    result = trial.serve()

    assert first.outcome is Outcome.SUCCEEDED, first
    assert behind_since is not None
    assert result.outcome is Outcome.SUCCEEDED, result
    assert list(trial.metastore.entry(trial.table).partitions) == ["mon"]


@pytest.mark.slow
def test_metastore_that_never_answers_costs_a_run_bounded_time(trial: CatalogTrial) -> None:
    trial.proxy.hangs = True
    began = time.monotonic()

    result = trial.ingest(MONDAY)

    assert time.monotonic() - began < AFTER_A_COMMIT + 120  # what an ingestion takes on a busy machine
    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.record().trouble is SyncTrouble.UNAVAILABLE


@pytest.mark.parametrize("mark", [None, pytest.param("uid-of-another", marks=pytest.mark.slow)])
def test_entry_of_somebody_else_is_left_alone(trial: CatalogTrial, mark: str | None) -> None:
    name = trial.table
    trial.table = f"{name}_first"
    trial.ingest(MONDAY)
    trial.metastore.copy(trial.table, name, mark=mark)
    trial.table = name

    result = trial.ingest(TUESDAY)

    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.record().trouble is SyncTrouble.TAKEN
    assert trial.metastore.entry(name).properties.get("hudi-operator.table-uid") == mark
    assert trial.metastore.entry(name).partitions == {}

    trial.settings = {"takeOver": True}
    taken = trial.serve()

    assert taken.outcome is Outcome.SUCCEEDED, taken
    assert trial.metastore.entry(name).properties["hudi-operator.table-uid"] == trial.uid


@pytest.mark.slow
def test_entry_of_another_folder_is_never_taken_over(trial: CatalogTrial) -> None:
    name = trial.table
    trial.table = f"{name}_first"
    trial.ingest(MONDAY)
    elsewhere = f"file:{trial.lake.folder}/elsewhere"
    trial.metastore.copy(trial.table, name, location=elsewhere, mark=trial.uid)
    trial.table, trial.settings = name, {"takeOver": True}

    trial.ingest(TUESDAY)

    assert trial.record().trouble is SyncTrouble.TAKEN
    assert "and not to this table" in trial.record().message
    assert trial.metastore.entry(name).location == elsewhere


def test_entry_dropped_by_hand_is_made_again_by_a_run_that_only_syncs(trial: CatalogTrial) -> None:
    trial.ingest(MONDAY)
    trial.metastore.drop(trial.table)

    result = trial.serve()

    assert result.outcome is Outcome.SUCCEEDED, result
    assert list(trial.metastore.entry(trial.table).partitions) == ["mon"]


def test_run_that_only_syncs_opens_its_table_once(trial: CatalogTrial, monkeypatch: pytest.MonkeyPatch) -> None:
    trial.ingest(MONDAY)
    opened: list[str] = []
    really = HudiTable.at

    def at(spark: SparkSession, base_path: str) -> HudiTable:
        opened.append(base_path)
        return really(spark, base_path)

    monkeypatch.setattr(HudiTable, "at", at)
    monkeypatch.setattr("hudi_jobs.exclusive.renew_statistics", lambda _: None)

    assert trial.serve().outcome is Outcome.SUCCEEDED
    assert opened == [trial.lake.base_path]


def test_comment_that_a_metastore_cannot_hold_hides_comments_and_nothing_else(trial: CatalogTrial) -> None:
    text, long = StringType(), {"comment": "x" * 257}
    # Hudi remembers a schema of the process by its columns alone, so these differ from those of the other tests.
    schema = StructType([StructField("id", text, metadata=long), StructField("w", text), StructField("day", text)])
    rows = trial.lake.spark.createDataFrame([tuple(MONDAY.values())], schema)
    options = trial.lake.hudi_options(Service.INGESTION)
    rows.write.format("hudi").options(**options).mode("overwrite").save(trial.lake.base_path)

    result = trial.serve()

    assert result.outcome is Outcome.SUCCEEDED, result
    assert list(trial.metastore.entry(trial.table).partitions) == ["mon"]
    assert trial.metastore.entry(trial.table).comments["id"] == ""


def test_entry_with_other_partition_columns_is_not_synced_until_somebody_drops_it(trial: CatalogTrial) -> None:
    trial.ingest(MONDAY)
    shutil.rmtree(trial.lake.folder / "table")
    trial.lake.table["partitionBy"] = []

    trial.ingest(TUESDAY)
    refused = trial.record()
    trial.metastore.drop(trial.table)
    result = trial.serve()

    assert refused.trouble is SyncTrouble.REFUSED
    assert "is partitioned by day, and the table by nothing. Drop the entry" in refused.message
    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.metastore.entry(trial.table).partition_columns == {}


def test_missing_database_is_named_and_not_made(trial: CatalogTrial) -> None:
    trial.settings = {"database": "nowhere"}

    result = trial.ingest(MONDAY)

    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.record().trouble is SyncTrouble.REFUSED
    assert "has no database nowhere" in trial.record().message


def test_table_that_cannot_be_compared_with_the_catalog_leaves_a_record_and_a_commit(
    trial: CatalogTrial, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ValueError("a partition lies outside of the table")

    monkeypatch.setattr("hudi_jobs.catalogs.sync._wanted", refuse)

    result = trial.ingest(MONDAY)

    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.record().trouble is SyncTrouble.REFUSED
    assert "could not be compared with the table: a partition lies outside" in trial.record().message


def test_deletion_of_a_table_drops_its_entries_and_no_other(trial: CatalogTrial) -> None:
    trial.ingest(MONDAY)
    others = f"{trial.table}_others"
    trial.metastore.copy(trial.table, others, mark="uid-of-another")

    result = trial.serve(Service.DELETION)

    assert result.outcome is Outcome.SUCCEEDED, result
    assert f"Dropped the catalog entries lake.{trial.table}." in result.message
    assert trial.table not in trial.metastore.names()
    assert others in trial.metastore.names()


def test_partition_dropped_by_another_tool_is_dropped_from_the_entry(trial: CatalogTrial) -> None:
    trial.ingest(MONDAY)
    trial.ingest(TUESDAY)
    options = trial.lake.hudi_options(Service.INGESTION) | {"hoodie.datasource.write.operation": "delete_partition"}
    gone = trial.lake.spark.createDataFrame([TUESDAY])
    gone.write.format("hudi").options(**options).mode("append").save(trial.lake.base_path)

    result = trial.ingest(MONDAY | {"v": "c"})

    assert result.outcome is Outcome.SUCCEEDED, result
    assert list(trial.metastore.entry(trial.table).partitions) == ["mon"]


@pytest.mark.slow
def test_deletion_of_a_table_leaves_an_entry_of_somebody_else(trial: CatalogTrial) -> None:
    trial.ingest(MONDAY)
    trial.uid = "uid-of-another"

    result = trial.serve(Service.DELETION)

    assert result.outcome is Outcome.SUCCEEDED, result
    assert "was ours to drop" in result.message
    assert trial.table in trial.metastore.names()


def test_partition_that_the_metastore_cannot_show_is_named_and_leaves_the_entry_as_it_was(trial: CatalogTrial) -> None:
    trial.ingest(MONDAY)

    result = trial.ingest(TUESDAY, {"id": "3", "v": "c", "day": "x=y"})

    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.record().trouble is SyncTrouble.REFUSED
    assert "day=x=y" in trial.record().message
    assert list(trial.metastore.entry(trial.table).partitions) == ["mon"]
    assert len(trial.lake.rows("id")) == 3
