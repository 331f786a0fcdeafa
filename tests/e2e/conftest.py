"""The operator in the real cluster, installed from the chart as a user would."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.stage import Stage

from localcluster.console import alone
from localcluster.settings import STATE
from toolkit.cluster import Cluster
from toolkit.store import Store

ORDER = (
    "test_release",
    "test_ingestion",
    "test_services",
    "test_shared_table",
    "test_bad_input",
    "test_examples",
    "test_catalog",
    "test_operations",
    "test_deletion",
    "test_continuous",
    "test_streams",
    "test_savepoints",
    "test_class_policy",
    "test_idle_sources",
    "test_costs",
    "test_driver_kills",
    "test_streams_chaos",
    "test_placement",
    "test_outages",
    "test_operator_kills",
    "test_afterwards",
)
"""What is read last must be run last; the rest goes from what most depends on to what least does."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the files of this folder in their order, after all others."""
    here = Path(__file__).parent
    items.sort(key=lambda item: ORDER.index(item.path.stem) if item.path.parent == here else -1)


@pytest.fixture(scope="session")
def stage() -> Iterator[Stage]:
    """The cluster with an operator that looks often, and one class for all tests."""
    if not os.environ.get("KUBECONFIG"):
        pytest.fail("set KUBECONFIG to a cluster for tests, or start one with `make cluster-up`")
    cluster = Cluster()
    values = {
        "operator": {"pollSeconds": 3, "maxPollSeconds": 10, "resyncSeconds": 60},
        "failedRunLogs": {"enabled": True},
    }
    with alone(STATE / "operator.lock", meanwhile="another part of the tests installs the operator"):
        cluster.install_operator(values=values)
    stage = Stage(cluster, Store(cluster.s3))
    stage.make_class(stage.class_name)
    try:
        yield stage
    finally:
        stage.clear()
