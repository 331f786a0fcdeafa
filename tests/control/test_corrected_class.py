"""A corrected class is noticed at once, by the events that the API server sends; labels of a namespace have none."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest
from tests.control import jumping
from tests.control.test_reconciler import KEY, Cluster, Operator, class_document, living_table
from tests.control.test_second_kind import Process
from tests.whole_status import whole

from hudi_jobs.contract import FailureReason, Outcome
from hudi_operator.control.class_reporter import TABLE_CLASSES
from hudi_operator.kube.keys import class_key
from hudi_operator.runtime.controller import Trigger

Document = dict[str, Any]


class Watched(Process):
    """An operator that hears of classes by events alone."""

    def class_event(self, kind: str, name: str = "standard") -> None:
        document = self.cluster.classes[name] if kind != "DELETED" else self.cluster.classes.pop(name)
        self.informer.object_event(TABLE_CLASSES, {"type": kind, "object": copy.deepcopy(document)})

    def change_class(self, **spec: Any) -> None:
        document = self.cluster.classes["standard"]
        document["metadata"]["generation"] = document["metadata"].get("generation", 1) + 1
        document["spec"] = {**class_document()["spec"], **spec}
        self.class_event("MODIFIED")

    async def start(self) -> None:
        await self.resync.resync()
        await self.work()

    @property
    def reason(self) -> str:
        return str(self.cluster.tables["flights"]["status"]["conditions"][0]["reason"])


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Watched:
    return Watched(monkeypatch)


WRONG: dict[str, Document] = {
    "TableClassInvalid": {"allowedBasePaths": 3},
    "ClassNotAllowed": {"allowedNamespaces": {"names": ["team-b"]}},
    "PathNotAllowed": {"allowedBasePaths": ["s3://elsewhere/"]},
    "SettingNotAllowed": {"allowedSparkConf": []},
    "SizeNotAllowed": {"limits": {"driverMemory": "1Gi"}},
}


@pytest.mark.parametrize("reason", WRONG)
async def test_corrected_class_starts_the_first_run_of_its_tables_by_its_event(watched: Watched, reason: str) -> None:
    watched.cluster.tables["flights"]["spec"] |= {
        "sparkConf": {"spark.sql.adaptive.enabled": "true"} if reason == "SettingNotAllowed" else {},
        "execution": {"driver": {"memory": "2Gi"}},
    }
    watched.cluster.classes["standard"]["spec"] |= WRONG[reason]
    await watched.start()
    assert (watched.reason, watched.cluster.created) == (reason, [])
    watched.change_class(allowedSparkConf=["spark.sql.adaptive.enabled"])
    assert KEY in await watched.work()
    assert len(watched.cluster.created) == 1


@pytest.mark.parametrize("name", ["standard", None], ids=["named", "default"])
async def test_class_that_is_created_after_its_table_starts_the_first_run_by_its_event(
    watched: Watched, name: str | None
) -> None:
    missing = watched.cluster.classes.pop("standard")
    if name is None:
        del watched.cluster.tables["flights"]["spec"]["tableClassName"]
        missing["metadata"]["annotations"] = {"hudi-operator.io/is-default-class": "true"}
    await watched.start()
    assert (watched.reason, watched.cluster.created) == ("TableClassNotFound", [])
    watched.cluster.classes["standard"] = missing
    watched.class_event("ADDED")
    assert KEY in await watched.work()
    assert len(watched.cluster.created) == 1


async def test_class_that_becomes_the_default_starts_the_first_run_of_tables_without_a_class(watched: Watched) -> None:
    del watched.cluster.tables["flights"]["spec"]["tableClassName"]
    await watched.start()
    assert watched.reason == "TableClassNotFound"
    watched.cluster.classes["standard"]["metadata"]["annotations"] = {"hudi-operator.io/is-default-class": "true"}
    watched.class_event("MODIFIED")
    await watched.work()
    assert len(watched.cluster.created) == 1


async def fails_as_invalid(watched: Watched) -> None:
    """Let the first run of the table fail because the driver cannot do what the class asks for."""
    await watched.start()
    watched.cluster.outcome = Outcome.FAILED
    watched.cluster.failure = FailureReason.INVALID_REQUEST
    watched.cluster.kubelet()
    watched.cluster.kubelet()
    assert len(watched.cluster.created) == 1


async def reconciled(watched: Watched) -> Document:
    watched.queue.add(KEY)
    await watched.work()
    ingestion: Document = whole(watched.cluster.tables["flights"])["services"]["ingestion"]
    return ingestion


async def test_run_that_failed_as_invalid_is_repeated_by_the_event_of_the_corrected_class(
    watched: Watched,
) -> None:
    await fails_as_invalid(watched)
    assert (await reconciled(watched))["reason"] == "WaitingForSpecChange"
    assert watched.reason == "InvalidRequest"
    watched.change_class()
    assert KEY in await watched.work()
    assert len(watched.cluster.created) == 2


def deleted(watched: Watched) -> None:
    watched.class_event("DELETED")


def not_valid(watched: Watched) -> None:
    watched.change_class(allowedBasePaths=3)


def not_allowed(watched: Watched) -> None:
    watched.change_class(allowedNamespaces={"names": ["team-b"]})


@pytest.mark.parametrize("spoil", [deleted, not_valid, not_allowed], ids=lambda spoil: spoil.__name__)
async def test_run_that_failed_while_its_class_was_not_usable_is_repeated_once_the_class_is_corrected(
    watched: Watched, spoil: Callable[[Watched], None]
) -> None:
    await fails_as_invalid(watched)
    before = copy.deepcopy(watched.cluster.classes["standard"])
    spoil(watched)
    await watched.work()
    assert (await reconciled(watched))["reason"] == "Blocked"
    if "standard" not in watched.cluster.classes:
        before["metadata"] |= {"uid": "another-uid"}
        watched.cluster.classes["standard"] = before
        watched.class_event("ADDED")
    else:
        watched.change_class()
    assert KEY in await watched.work()
    assert len(watched.cluster.created) == 2


async def test_event_of_a_class_concerns_no_table_of_another_class(watched: Watched) -> None:
    await watched.start()
    watched.cluster.classes["other"] = class_document()
    watched.cluster.classes["other"]["metadata"] = {"name": "other", "uid": "other-uid"}
    watched.class_event("ADDED", "other")
    assert await watched.work() == {class_key("other")}


def labelled_class(cluster: Cluster) -> None:
    cluster.classes["standard"]["spec"]["allowedNamespaces"] = {"selector": {"matchLabels": {"env": "prod"}}}


def test_label_that_a_namespace_gets_is_noticed_within_two_minutes_by_polls_alone() -> None:
    async def story() -> None:
        cluster = living_table()
        labelled_class(cluster)
        operator = Operator(cluster)
        waited = 0.0
        while waited < 3600:  # however long the table has waited
            waited += await passed(operator)
        assert (operator.status["conditions"][0]["reason"], cluster.created) == ("ClassNotAllowed", [])
        cluster.labels = {"team-a": {"env": "prod"}}
        waited = 0.0
        while not cluster.created:
            waited += await passed(operator)
            assert waited <= 120

    jumping.run(story)


async def passed(operator: Operator) -> float:
    pause = await operator.reconcile(Trigger.POLL)
    assert pause is not None
    await asyncio.sleep(pause)
    return pause
