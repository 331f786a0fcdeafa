"""A metastore that is away for several runs of a table: every commit completes, and the catalog is right afterwards."""

import time

import pytest
from tests.spark_jobs.catalogs.conftest import CatalogTrial, MetastoreClient
from tests.spark_jobs.trials import IN_FULL

from hudi_jobs.contract import Outcome, SyncTrouble
from toolkit.streams.metastore import HiveMetastore

pytestmark = pytest.mark.spark

RUNS = 5
MOST_CONNECTIONS = 4
"""Connections of one attempt, with the repeated tries of the client."""


@IN_FULL
@pytest.mark.parametrize("kind", ["CopyOnWrite", "MergeOnRead"])
def test_metastore_away_during_five_runs_delays_no_commit_and_leaves_one_finding(
    trial: CatalogTrial, hive: HiveMetastore, kind: str
) -> None:
    trial.lake.table["type"] = kind
    trial.ingest({"id": "0", "v": "a", "day": "d0"})
    hive.kill()
    before = trial.proxy.connections
    began = time.monotonic()

    results = [trial.ingest({"id": str(run), "v": "a", "day": f"d{run}"}) for run in range(1, RUNS + 1)]
    took, tried, behind = time.monotonic() - began, trial.proxy.connections - before, trial.record()

    assert [each.outcome for each in results] == [Outcome.SUCCEEDED] * RUNS
    assert len({each.instant for each in results}) == RUNS
    attempts = 1 + took // 60  # the first run asks, and the next attempt is a minute later
    assert behind.trouble is SyncTrouble.UNAVAILABLE
    assert behind.attempts <= attempts
    assert 0 < tried <= MOST_CONNECTIONS * attempts

    hive.start()
    result = trial.serve()

    names = ("", "_ro", "_rt") if kind == "MergeOnRead" else ("",)
    client = MetastoreClient(trial.lake.spark, hive.uri)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert trial.record().behind_since is None
    assert trial.record().instant == results[-1].instant
    for suffix in names:
        assert sorted(client.entry(f"{trial.table}{suffix}").partitions) == [f"d{run}" for run in range(RUNS + 1)]
