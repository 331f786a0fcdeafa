"""Tables with a schedule of a minute: which ticks start a Job, and which sources are listed."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.control.lake import Lake, snapshots_of
from tests.control.test_reconciler import KEY, Cluster, Snapshots, class_document, give_claim_to_another, living_table
from tests.planning.world import IMAGE
from tests.whole_status import whole

from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.looks import SourceLooker
from hudi_operator.control.tables import Reconciler
from hudi_operator.kube.keys import TableKey, table_key
from hudi_operator.runtime.controller import Trigger
from hudi_operator.storage import StorageError, StorageErrorKind

TICKS = 10


class Operator:
    """The operator before a table whose driver finds nothing to do; `tick` lets a minute pass."""

    def __init__(self, lake: Lake, cluster: Cluster | None = None, **options: Any) -> None:
        self.lake = lake
        self.cluster = cluster or living_table(every="1m")
        self.cluster.more_input = False
        self._now = datetime.now(UTC).replace(microsecond=0)
        self.cluster.clock = lambda: self._now
        self.looker = SourceLooker(snapshots_of(lake), now=self.cluster.now, pause_seconds=0, **options)
        self.start()

    def start(self) -> None:
        self._reconciler = Reconciler(
            kube=self.cluster,
            snapshots=Snapshots(self.cluster),
            settings=Settings(spark_image=IMAGE),
            looks=self.looker,
        )

    async def tick(self, times: int = 1) -> int:
        """Let minutes pass; return the number of Jobs that start."""
        before = len(self.cluster.created)
        for _ in range(times):
            self._now += timedelta(minutes=1)
            for _ in range(4):
                await self.reconcile()
                self.cluster.kubelet()
                self._now += timedelta(seconds=1)
        return len(self.cluster.created) - before

    async def reconcile(self, key: TableKey = KEY) -> None:
        await self._reconciler.reconcile(key, Trigger.EVENT)

    @property
    def status(self) -> dict[str, Any]:
        return whole(self.cluster.tables["flights"])

    @property
    def ingestion(self) -> dict[str, Any]:
        return dict(self.status["services"]["ingestion"])


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    lake = Lake(tmp_path)
    lake.deliver("landing/flights/first.csv")
    return lake


async def test_a_source_at_rest_starts_no_job_in_ten_ticks_and_a_new_file_starts_one(lake: Lake) -> None:
    operator = Operator(lake)
    assert await operator.tick() == 1
    assert await operator.tick(TICKS) == 0
    assert (operator.ingestion["due"], operator.ingestion["reason"]) == (False, "NoNewInput")
    assert len(lake.listed) == 1 + TICKS

    lake.deliver("landing/flights/second.csv")
    assert await operator.tick() == 1
    assert await operator.tick(TICKS) == 0


async def test_a_source_without_a_file_starts_no_job_until_there_is_one(tmp_path: Path) -> None:
    operator = Operator(Lake(tmp_path))
    assert await operator.tick(TICKS) == 0
    assert operator.ingestion["reason"] == "SourceNotFound"
    operator.lake.deliver("landing/flights/first.csv")
    assert await operator.tick() == 1


async def test_files_that_expire_cost_one_job(lake: Lake) -> None:
    second = lake.deliver("landing/flights/second.csv")
    operator = Operator(lake)
    await operator.tick(2)
    second.unlink()
    assert await operator.tick() == 1
    assert await operator.tick(TICKS) == 0


async def test_files_that_the_source_does_not_select_start_no_job(lake: Lake) -> None:
    operator = Operator(lake)
    files = operator.cluster.tables["flights"]["spec"]["ingestion"]["source"]["files"]
    operator.cluster.tables["flights"]["spec"]["ingestion"]["source"] = {"files": {**files, "pathGlob": "f*.csv"}}
    await operator.tick(2)
    for name in ("other.csv", "_SUCCESS", "sub/.hidden/f.csv"):
        lake.deliver(f"landing/flights/{name}")
    assert await operator.tick(TICKS) == 0
    lake.deliver("landing/flights/sub/f.csv")
    assert await operator.tick() == 1


async def test_a_new_process_finds_the_remembered_digest(lake: Lake) -> None:
    operator = Operator(lake)
    await operator.tick(2)
    operator.looker.forget(KEY)
    operator.start()
    assert await operator.tick(TICKS) == 0


@pytest.mark.parametrize("kind", [StorageErrorKind.ACCESS_DENIED, StorageErrorKind.TOO_LARGE, StorageErrorKind.ODD_KEY])
async def test_where_the_source_cannot_be_listed_each_tick_starts_a_job_and_the_status_says_why(
    lake: Lake, kind: StorageErrorKind
) -> None:
    lake.fails = StorageError(kind, "landing/flights cannot be listed for the sake of this test.")
    operator = Operator(lake)
    assert await operator.tick(TICKS) == TICKS
    assert "for the sake of this test" in operator.ingestion["message"]


async def test_an_operator_that_may_list_no_sources_starts_a_job_at_each_tick_and_says_why(lake: Lake) -> None:
    operator = Operator(lake, enabled=False)
    assert await operator.tick(TICKS) == TICKS
    assert lake.listed == []
    assert "objectStore.listSources" in operator.ingestion["message"]


def source_not_allowed(cluster: Cluster) -> None:
    cluster.classes["standard"]["spec"]["allowedSourcePaths"] = ["s3://landing/others"]


def base_path_not_allowed(cluster: Cluster) -> None:
    cluster.classes["standard"]["spec"]["allowedBasePaths"] = ["s3://lake/others"]


def namespace_not_allowed(cluster: Cluster) -> None:
    cluster.classes["standard"]["spec"]["allowedNamespaces"] = {"names": ["team-b"]}


def no_class(cluster: Cluster) -> None:
    cluster.classes.clear()


def invalid_class(cluster: Cluster) -> None:
    cluster.classes["standard"]["spec"] = {"allowedBasePaths": 3}


def claimed_by_another(cluster: Cluster) -> None:
    give_claim_to_another(cluster)


def suspended(cluster: Cluster) -> None:
    cluster.tables["flights"]["spec"]["suspend"] = True


AT_FIRST = [
    source_not_allowed,
    base_path_not_allowed,
    namespace_not_allowed,
    no_class,
    invalid_class,
    suspended,
]


@pytest.mark.parametrize(
    ("refusal", "at_first"),
    [*((one, True) for one in AT_FIRST), *((one, False) for one in (*AT_FIRST, claimed_by_another))],
)
async def test_no_path_is_listed_that_class_namespace_and_claim_do_not_allow(
    lake: Lake, refusal: Any, at_first: bool
) -> None:
    operator = Operator(lake)
    if not at_first:
        await operator.tick()
    refusal(operator.cluster)
    lake.listed.clear()
    operator.start()
    assert await operator.tick(3) == 0
    assert lake.listed == []


async def test_tables_that_are_created_together_keep_to_the_limit_of_their_class_while_sources_are_listed(
    lake: Lake,
) -> None:
    cluster = living_table(every="1m")
    cluster.classes["standard"] = class_document(jobQuota={"runningJobs": 2})
    first = cluster.tables["flights"]
    for number in range(9):
        metadata = {**first["metadata"], "name": f"t{number}", "uid": f"uid-{number}"}
        spec = {**first["spec"], "basePath": f"s3a://lake/team-a/t{number}"}
        cluster.tables[f"t{number}"] = {**first, "metadata": metadata, "spec": spec}
    operator = Operator(lake, cluster)
    keys = [table_key("team-a", name) for name in cluster.tables]

    await asyncio.gather(*(operator.reconcile(key) for key in keys))

    assert len(cluster.created) == 2
