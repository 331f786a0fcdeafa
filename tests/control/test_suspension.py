"""The operator reads the suspend annotation of a namespace: live before each Job, shared and bounded in polls."""

from __future__ import annotations

import asyncio
import copy
from typing import Any

import pytest
from tests.control import jumping
from tests.control.test_reconciler import Cluster, Operator, due_operator, living_table
from tests.whole_status import whole

from hudi_operator.kube.errors import ApiUnavailable
from hudi_operator.kube.keys import TableKey, table_key
from hudi_operator.kube.objects import NAMESPACE, ObjectKey
from hudi_operator.runtime.controller import Trigger

OTHER = table_key("team-a", "other")
TEXT = "maria: bucket moves"
MINUTE = 61


class SilentCluster(Cluster):
    """A cluster whose API server answers no question about namespaces while it `is_silent`."""

    is_silent = False

    async def get(self, key: ObjectKey) -> dict[str, Any] | None:
        if key.kind == NAMESPACE and self.is_silent:
            raise ApiUnavailable("no answer", status=503)
        return await super().get(key)


def conditions(operator: Operator, name: str = "flights") -> dict[str, str]:
    found = whole(operator.cluster.tables[name])["conditions"]
    return {one["type"]: one["message"] for one in found}


async def quiet(cluster: Cluster | None = None) -> Operator:
    """An operator whose table has nothing to do, with a poll that reads timeline and namespace alone."""
    operator = Operator(cluster or living_table())
    await operator.settle()
    await operator.reconcile()
    operator.cluster.calls.clear()
    return operator


async def test_a_namespace_suspended_since_the_last_poll_starts_no_job() -> None:
    operator = await due_operator()
    operator.cluster.suspensions["team-a"] = TEXT
    await operator.reconcile(Trigger.POLL)
    assert operator.cluster.created == []
    assert TEXT in conditions(operator)["Suspended"]


async def test_a_table_suspended_by_its_annotation_starts_no_job_until_the_annotation_is_removed() -> None:
    cluster = living_table()
    cluster.tables["flights"]["metadata"]["annotations"] = {"hudi-operator.io/suspend": TEXT}
    operator = Operator(cluster)
    await operator.reconcile()
    assert cluster.created == []
    assert TEXT in conditions(operator)["Suspended"]
    del cluster.tables["flights"]["metadata"]["annotations"]
    await operator.reconcile()
    assert len(cluster.created) == 1
    assert "Suspended" not in conditions(operator)


def test_polls_of_a_quiet_table_read_the_namespace_once_a_minute() -> None:
    async def story() -> None:
        operator = await quiet()
        for _ in range(15):
            await operator.reconcile(Trigger.POLL)
            await asyncio.sleep(10)
        assert operator.cluster.calls == ["get Namespace", "get Namespace"]

    jumping.run(story)


def test_a_poll_sees_that_the_namespace_was_suspended_and_wakes_its_other_tables() -> None:
    async def story() -> None:
        operator = await quiet(with_another_table())
        woken: list[TableKey] = []
        operator._reconciler.wake = woken.append
        await operator._reconciler.reconcile(OTHER, Trigger.EVENT)
        operator.cluster.suspensions["team-a"] = TEXT
        await asyncio.sleep(MINUTE)
        await operator.reconcile(Trigger.POLL)
        assert TEXT in conditions(operator)["Suspended"]
        assert woken == [OTHER]
        await operator._reconciler.reconcile(OTHER, Trigger.POLL)
        assert TEXT in conditions(operator, "other")["Suspended"], "a woken table is observed in full"
        operator.cluster.calls.clear()
        await operator.reconcile(Trigger.POLL)
        assert (operator.cluster.calls, woken) == ([], [OTHER]), "an unchanged namespace wakes no table"

    jumping.run(story)


def with_another_table() -> Cluster:
    cluster = living_table()
    other = copy.deepcopy(cluster.tables["flights"])
    other["metadata"] |= {"name": "other", "uid": "other-uid"}
    other["spec"] |= {"basePath": "s3a://lake/team-a/other"}
    del other["spec"]["ingestion"]
    cluster.tables["other"] = other
    return cluster


def test_a_poll_sees_that_the_namespace_is_not_suspended_any_more() -> None:
    async def story() -> None:
        operator = Operator(living_table())
        operator.cluster.suspensions["team-a"] = TEXT
        await operator.reconcile()
        assert operator.cluster.created == []
        operator.cluster.suspensions.clear()
        await asyncio.sleep(MINUTE)
        await operator.reconcile(Trigger.POLL)
        assert len(operator.cluster.created) == 1

    jumping.run(story)


@pytest.mark.parametrize("forbidden", [True, False], ids=["forbidden", "without an answer"])
def test_a_namespace_that_cannot_be_read_keeps_its_table_suspended(*, forbidden: bool) -> None:
    async def story() -> None:
        cluster = living_in(SilentCluster())
        operator = await quiet(cluster)
        cluster.suspensions["team-a"] = TEXT
        await asyncio.sleep(1)
        await operator.reconcile()
        before = conditions(operator)["Suspended"]
        cluster.namespaces_are_secret = forbidden
        cluster.is_silent = not forbidden
        for _ in range(3):
            await asyncio.sleep(MINUTE)
            await operator.reconcile(Trigger.POLL)
        assert conditions(operator)["Suspended"] == before
        codes = [one["code"] for one in whole(cluster.tables["flights"])["findings"]]
        assert codes == (["NamespaceUnreadable"] if forbidden else [])

    jumping.run(story)


def living_in(cluster: SilentCluster) -> SilentCluster:
    living = living_table()
    cluster.outcome, cluster.classes, cluster.tables = living.outcome, living.classes, living.tables
    return cluster
