"""Entries that another operator, or somebody at the metastore, changes: who keeps an entry, and how it comes back."""

from dataclasses import replace

import pytest
from tests.spark_jobs.catalogs.conftest import DATABASE, CatalogTrial
from tests.spark_jobs.conftest import Lake
from tests.spark_jobs.trials import IN_FULL, sampled

from hudi_jobs.contract import Outcome, Service, SyncTrouble

pytestmark = [pytest.mark.spark, pytest.mark.slow]

MONDAY = {"id": "1", "v": "a", "day": "mon"}
TUESDAY = {"id": "2", "v": "b", "day": "tue"}


def of_another_operator(trial: CatalogTrial) -> CatalogTrial:
    """Another table in a folder of its own, which another operator syncs to the same metastore."""
    folder = trial.lake.folder / "of-another"
    lake = Lake(trial.lake.spark, str(folder), folder, table=dict(trial.lake.table))
    return replace(trial, lake=lake, uid="uid-of-another", operator="operator-2")


@pytest.mark.parametrize("kind", sampled("CopyOnWrite", "MergeOnRead"))
def test_entry_of_two_operators_stays_with_the_first_until_its_table_is_deleted(trial: CatalogTrial, kind: str) -> None:
    trial.lake.table["type"] = kind
    other = of_another_operator(trial)
    trial.ingest(MONDAY)

    refused = other.ingest(TUESDAY)

    assert refused.outcome is Outcome.SUCCEEDED, refused
    assert other.record().trouble is SyncTrouble.TAKEN
    assert trial.metastore.entry(trial.table).properties["hudi-operator.table-uid"] == trial.uid
    assert list(trial.metastore.entry(trial.table).partitions) == ["mon"]

    trial.serve(Service.DELETION)
    result = other.serve()

    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.metastore.entry(trial.table).properties["hudi-operator.table-uid"] == other.uid
    assert list(trial.metastore.entry(trial.table).partitions) == ["tue"]


@IN_FULL
def test_entry_of_another_operator_under_a_name_of_a_merge_on_read_table_is_left_alone(trial: CatalogTrial) -> None:
    other = of_another_operator(trial)
    other.table = f"{trial.table}_ro"
    other.ingest(TUESDAY)
    trial.lake.table["type"] = "MergeOnRead"

    result = trial.ingest(MONDAY)

    assert result.outcome is Outcome.SUCCEEDED, result
    assert f"{trial.table}_ro of the Hive Metastore points to" in trial.record().message
    assert trial.table not in trial.metastore.names()
    assert trial.metastore.entry(other.table).properties["hudi-operator.table-uid"] == other.uid


def test_database_that_is_gone_is_a_failed_sync_and_the_entry_is_right_once_it_is_back(trial: CatalogTrial) -> None:
    trial.settings = {"database": "renamed"}
    trial.metastore.make_database("renamed")
    trial.ingest(MONDAY)
    trial.metastore.drop_database("renamed")

    committed = trial.ingest(TUESDAY)

    assert committed.outcome is Outcome.SUCCEEDED, committed
    assert trial.record().trouble is SyncTrouble.REFUSED
    assert "has no database renamed" in trial.record().message

    trial.metastore.make_database("renamed")
    result = trial.serve()

    assert result.outcome is Outcome.SUCCEEDED, result
    assert sorted(trial.metastore.entry(trial.table, database="renamed").partitions) == ["mon", "tue"]


def test_entry_renamed_at_the_metastore_is_made_anew_under_its_own_name(trial: CatalogTrial) -> None:
    trial.ingest(MONDAY)
    trial.metastore.rename(trial.table, f"{trial.table}_renamed")

    result = trial.serve()

    assert result.outcome is Outcome.SUCCEEDED, result
    assert list(trial.metastore.entry(trial.table).partitions) == ["mon"]
    assert f"{trial.table}_renamed" in trial.metastore.names(), f"the operator removes nothing else from {DATABASE}"
