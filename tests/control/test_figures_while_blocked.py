"""Figures of a table that is no longer read: which stay with the time of their reading, and which are cleared."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable

import pytest
from tests.control.test_before_it_is_allowed import (
    BLOCKS,
    CLAIMS,
    FOREIGN,
    FOREIGN_SNAPSHOT,
    Operator,
    class_of_others_by_label,
    class_of_others_by_name,
    no_class,
    path_of_another_namespace,
    path_outside,
    whole_prefix,
)
from tests.control.test_reconciler import Cluster, living_table

from hudi_operator.planning.model import TimelineSnapshot, TimelineTrouble


async def table_that_was_read() -> tuple[Cluster, Operator]:
    """A table whose figures were read while it was allowed."""
    cluster = living_table(ingestion=None)
    del cluster.tables["flights"]["spec"]["ingestion"]
    operator = Operator(cluster)
    await operator.reconcile()
    assert FOREIGN in json.dumps(cluster.tables["flights"]["status"])
    operator.snapshots.asked.clear()
    return cluster, operator


@pytest.mark.parametrize("block", BLOCKS[BLOCKS.index(whole_prefix) :], ids=lambda block: block.__name__)
async def test_figures_are_cleared_as_soon_as_the_path_is_refused_or_claimed_and_read_again_without_it(
    block: Callable[[Cluster], None],
) -> None:
    cluster, operator = await table_that_was_read()
    before = copy.deepcopy((cluster.classes, cluster.tables, cluster.claims))
    if block in CLAIMS:
        cluster.claims.clear()
        operator = Operator(cluster)  # no other table gets a claim while the operator knows of the first
    block(cluster)
    text = await operator.reconcile_in_every_way()
    assert operator.snapshots.asked == []
    assert FOREIGN not in text
    assert "staleSince" not in text
    cluster.classes, tables, cluster.claims = before
    cluster.tables["flights"]["spec"] = tables["flights"]["spec"]
    cluster.tables.pop("other", None)
    await operator.reconcile()
    assert FOREIGN in json.dumps(cluster.tables["flights"]["status"])


ONLY_THE_CLASS = BLOCKS[: BLOCKS.index(whole_prefix)]
"""Blocks that say nothing against the path of the table."""


@pytest.mark.parametrize("block", ONLY_THE_CLASS, ids=lambda block: block.__name__)
async def test_figures_of_the_last_reading_stay_with_their_time_while_only_the_class_is_in_the_way(
    block: Callable[[Cluster], None],
) -> None:
    cluster, operator = await table_that_was_read()
    shown = copy.deepcopy(cluster.tables["flights"]["status"])
    assert "staleSince" not in shown
    before = copy.deepcopy((cluster.classes, cluster.tables["flights"]["spec"]))
    block(cluster)
    await operator.reconcile_in_every_way()
    status = cluster.tables["flights"]["status"]
    assert operator.snapshots.asked == []
    assert (status["timeline"], status["table"]) == (shown["timeline"], shown["table"])
    assert status["timeline"]["completedCommits"] == 1, "the column COMMITS"
    assert status["summary"].get("newestCommit") == shown["summary"].get("newestCommit")
    for service in ("compaction", "clustering", "cleaning", "archival"):
        old, new = shown["services"][service], status["services"][service]
        assert (new.get("counted"), new.get("threshold")) == (old.get("counted"), old.get("threshold"))
        assert (new["reason"], new.get("due"), new.get("nextRunAt")) == ("Blocked", None, None)
    since = status["staleSince"]
    writes = cluster.writes
    await operator.reconcile_in_every_way()
    assert (cluster.tables["flights"]["status"]["staleSince"], cluster.writes) == (since, writes)
    cluster.classes, cluster.tables["flights"]["spec"] = before
    cluster.namespaces_are_secret, cluster.labels = False, {}
    await operator.reconcile()
    assert "staleSince" not in cluster.tables["flights"]["status"]


async def test_figures_stay_with_their_time_while_the_store_does_not_answer() -> None:
    cluster, operator = await table_that_was_read()
    shown = copy.deepcopy(cluster.tables["flights"]["status"])
    counts = [(name, one.get("counted"), one.get("threshold")) for name, one in shown["services"].items()]
    assert any(counted is not None for _, counted, _ in counts), counts
    silent = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="The store does not answer.")
    operator.snapshots.shown = silent
    await operator.reconcile()
    status = cluster.tables["flights"]["status"]
    assert status["timeline"] == shown["timeline"]
    assert [(name, one.get("counted"), one.get("threshold")) for name, one in status["services"].items()] == counts
    assert status["staleSince"]
    assert status["services"]["cleaning"]["reason"] == "StorageUnavailable"
    operator.snapshots.shown = FOREIGN_SNAPSHOT
    await operator.reconcile()
    assert "staleSince" not in cluster.tables["flights"]["status"]


@pytest.mark.parametrize("block", ONLY_THE_CLASS, ids=lambda block: block.__name__)
@pytest.mark.parametrize("theirs", CLAIMS, ids=lambda one: one.__name__)
async def test_figures_are_cleared_once_another_table_has_the_claim_whatever_is_wrong_with_the_class(
    block: Callable[[Cluster], None], theirs: Callable[[Cluster], None]
) -> None:
    cluster, operator = await table_that_was_read()
    cluster.claims.clear()
    theirs(cluster)
    block(cluster)
    text = await operator.reconcile_in_every_way()
    assert operator.snapshots.asked == []
    assert FOREIGN not in text


@pytest.mark.parametrize("block", [class_of_others_by_name, class_of_others_by_label], ids=lambda block: block.__name__)
@pytest.mark.parametrize("path", [path_outside, path_of_another_namespace, whole_prefix], ids=lambda one: one.__name__)
async def test_figures_are_cleared_if_a_class_refuses_the_namespace_and_the_path(
    block: Callable[[Cluster], None], path: Callable[[Cluster], None]
) -> None:
    cluster, operator = await table_that_was_read()
    path(cluster)
    block(cluster)
    text = await operator.reconcile_in_every_way()
    assert operator.snapshots.asked == []
    assert FOREIGN not in text


async def test_figures_that_were_cleared_with_a_refused_path_do_not_come_back_without_the_class() -> None:
    cluster, operator = await table_that_was_read()
    path_outside(cluster)
    await operator.reconcile()
    no_class(cluster)
    assert FOREIGN not in await operator.reconcile_in_every_way()


async def test_figures_of_an_unreadable_spec_stay_with_their_time() -> None:
    cluster, operator = await table_that_was_read()
    cluster.tables["flights"]["spec"]["type"] = "Unknown"
    text = await operator.reconcile_in_every_way()
    assert operator.snapshots.asked == []
    assert FOREIGN in text
    assert cluster.tables["flights"]["status"]["staleSince"]
