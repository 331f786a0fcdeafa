"""The reconciler against a cluster in memory: killed at each write, with lost replies, and asked by polls."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from tests.control import jumping
from tests.control.memory_cluster import Killed, MemoryCluster
from tests.planning.world import IMAGE, UID, class_spec, instant, timeline
from tests.whole_status import whole

from hudi_jobs.contract import Location, Outcome
from hudi_operator.api.spec.table_class import ObjectStore
from hudi_operator.control.observation.ending import FINALIZER
from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.polling import LastReconcile
from hudi_operator.control.snapshots.reader import fingerprint
from hudi_operator.control.tables import Reconciler
from hudi_operator.kube.errors import ApiUnavailable, Conflict, KubernetesError
from hudi_operator.kube.keys import TableKey, table_key
from hudi_operator.kube.objects import Kind
from hudi_operator.planning.model import NamespaceObservation, TimelineSnapshot, TimelineTrouble
from hudi_operator.planning.model.times import format_time
from hudi_operator.runtime.controller import Trigger
from hudi_operator.telemetry.metrics import metrics

Document = dict[str, Any]
KEY = table_key("team-a", "flights")
READS_BEFORE_AN_ACTION = {
    "get HudiTable",
    "get HudiTableClass",
    "get Namespace",
    "get claim",
    "list Job",
    "list Pod",
}


class Cluster(MemoryCluster):
    """The cluster of a living table."""

    def __init__(self) -> None:
        super().__init__()
        self.unavailable_jobs = 0
        self.conflicts = 0

    def add_job(self, manifest: Mapping[str, Any]) -> Document:
        job = super().add_job(manifest)
        job["metadata"]["creationTimestamp"] = format_time(self.now())
        return job

    async def replace_status(self, kind: Kind, document: Document, status: Mapping[str, Any]) -> Document:
        if self.conflicts and document.get("status") != status:
            self.conflicts -= 1
            raise Conflict("somebody else wrote")
        return await super().replace_status(kind, document, status)

    async def create(self, kind: Kind, namespace: str, manifest: Mapping[str, Any]) -> Document:
        if self.unavailable_jobs:
            self.unavailable_jobs -= 1
            raise ApiUnavailable("too many requests", status=429)
        return await super().create(kind, namespace, manifest)


class Snapshots:
    """What the store shows is what the cluster says that it shows."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    async def read(self, _base: Location, _store: ObjectStore | None, **_limits: Any) -> TimelineSnapshot:
        return self._cluster.snapshot

    async def fingerprint(self, _base: Location, _store: ObjectStore | None, **_options: Any) -> int | None:
        return fingerprint(self._cluster.snapshot.timeline) if self._cluster.snapshot.trouble is None else None


class Operator:
    """One life of the operator after another, looking at one table."""

    def __init__(self, cluster: Cluster, **settings: Any) -> None:
        self.cluster = cluster
        self.deaths = 0
        self._settings = Settings(spark_image=IMAGE, **settings)
        self._start()

    def _start(self) -> None:
        snapshots = Snapshots(self.cluster)
        self._reconciler = Reconciler(kube=self.cluster, snapshots=snapshots, settings=self._settings)

    async def reconcile(self, trigger: Trigger = Trigger.EVENT) -> float | None:
        return await self._reconciler.reconcile(KEY, trigger)

    async def settle(self) -> None:
        """Reconcile, and let the cluster continue, until a reconcile changes nothing; a dead operator starts again."""
        for _ in range(30):
            before = (self.cluster.writes, len(self.cluster.jobs))
            try:
                await self.reconcile()
            except Killed:
                self.deaths += 1
                self._start()
                continue
            except KubernetesError:
                continue
            self.cluster.kubelet()
            if before == (self.cluster.writes, len(self.cluster.jobs)) and not self.status["activeJobs"]:
                return
        pytest.fail(f"the operator does not settle: {self.status}")

    @property
    def status(self) -> Document:
        return whole(self.cluster.tables["flights"])


LANDING: Document = {"source": {"files": {"path": "s3a://landing/flights/", "format": "csv"}}}


def living_table(*, every: str = "1h", **spec: Any) -> Cluster:
    """A new table whose ingestion is due."""
    cluster = Cluster()
    cluster.outcome = Outcome.NOTHING_TO_DO
    cluster.classes["standard"] = class_document()
    cluster.tables["flights"] = {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": "HudiTable",
        "metadata": {
            "name": "flights",
            "namespace": "team-a",
            "uid": UID,
            "generation": 1,
            "resourceVersion": "1",
            "creationTimestamp": format_time(datetime.now(UTC)),
        },
        "spec": {
            "tableClassName": "standard",
            "basePath": "s3a://lake/team-a/flights",
            "type": "CopyOnWrite",
            "recordKey": ["id"],
            "ingestion": {**LANDING, "schedule": {"every": every}},
            **spec,
        },
    }
    return cluster


def class_document(**changes: Any) -> Document:
    return {
        "metadata": {"name": "standard", "uid": "class-uid"},
        "spec": class_spec(**changes).model_dump(mode="json", by_alias=True, exclude_none=True),
    }


def last_run(operator: Operator) -> Document:
    """The last run of ingestion, without what differs from one history to another."""
    run = operator.status["services"]["ingestion"]["lastRun"]
    return {key: value for key, value in run.items() if key not in {"job", "startedAt", "finishedAt", "cost"}}


async def reference() -> Operator:
    operator = Operator(living_table())
    await operator.settle()
    return operator


def assert_same_end(operator: Operator, expected: Operator) -> None:
    cluster = operator.cluster
    assert len(cluster.created) == 1, "one decision, one Job"
    assert cluster.claims.keys() == expected.cluster.claims.keys()
    assert cluster.tables["flights"]["metadata"]["finalizers"] == [FINALIZER]
    assert last_run(operator) == last_run(expected)
    assert operator.status["activeJobs"] == []


@pytest.mark.parametrize("takes_effect", [False, True], ids=["before", "after"])
async def test_killed_at_any_write_the_next_process_comes_to_the_same_end(*, takes_effect: bool) -> None:
    expected = await reference()
    assert expected.cluster.writes >= 6
    for number in range(1, expected.cluster.writes + 1):
        operator = Operator(living_table())
        operator.cluster.kill_at = (number, takes_effect)
        await operator.settle()
        assert operator.deaths == 1
        assert_same_end(operator, expected)


async def test_a_lost_reply_to_any_write_neither_doubles_nor_drops_anything() -> None:
    expected = await reference()
    for number in range(1, expected.cluster.writes + 1):
        before = finished_runs(), launched_jobs()
        operator = Operator(living_table())
        operator.cluster.lose = number.__eq__
        await operator.settle()
        assert_same_end(operator, expected)
        assert (finished_runs(), launched_jobs()) == (before[0] + 1, before[1] + 1), f"write {number}"


def finished_runs(outcome: Outcome = Outcome.NOTHING_TO_DO) -> float:
    labels = {"service": "Ingestion", "outcome": outcome.value}
    return metrics.registry.get_sample_value("hudi_operator_jobs_total", labels) or 0.0


def launched_jobs() -> float:
    return metrics.registry.get_sample_value("hudi_operator_jobs_launched_total", {"service": "Ingestion"}) or 0.0


async def test_an_overloaded_api_server_is_no_refusal_of_a_job() -> None:
    operator = Operator(living_table())
    operator.cluster.unavailable_jobs = 2
    await operator.settle()
    assert len(operator.cluster.created) == 1
    ingestion = operator.status["services"]["ingestion"]
    assert ingestion["lastRun"]["outcome"] == "NothingToDo"
    assert ingestion.get("failures", 0) == 0


async def test_a_namespace_that_forbids_jobs_is_shown_and_backed_off_from() -> None:
    operator = Operator(living_table())
    operator.cluster.refusal = "exceeded quota"
    before = finished_runs(Outcome.FAILED)
    pause = await operator.reconcile()
    assert pause is not None
    assert operator.status["services"]["ingestion"]["lastRun"]["reason"] == "JobRefused"
    assert finished_runs(Outcome.FAILED) == before + 1
    assert operator.status["activeJobs"] == []
    writes = operator.cluster.writes
    await operator.reconcile()
    assert operator.cluster.created == []
    await operator.reconcile()
    assert operator.cluster.writes <= writes + 1, "no attempt before its time"


@pytest.mark.parametrize("minutes", [-10, 10])
async def test_a_wrong_clock_neither_puts_the_first_run_off_nor_gives_a_new_job_up(minutes: int) -> None:
    cluster = living_table()
    cluster.clock = lambda: datetime.now(UTC) + timedelta(minutes=minutes)
    cluster.tables["flights"]["metadata"]["creationTimestamp"] = format_time(cluster.now())
    operator = Operator(cluster)
    await operator.reconcile()
    await operator.reconcile()  # the Job controller has not made a pod yet
    assert [job["state"] for job in operator.status["activeJobs"]] == ["Starting"]
    assert [*cluster.jobs] == cluster.created


async def test_concurrent_write_makes_the_reconcile_begin_anew() -> None:
    operator = Operator(living_table())
    operator.cluster.conflicts = 2
    await operator.reconcile()
    assert len(operator.cluster.created) == 1


async def test_a_poll_of_a_quiet_table_makes_no_call_to_the_api_server() -> None:
    operator = await reference()
    operator.cluster.calls.clear()
    pauses = [await operator.reconcile(Trigger.POLL) for _ in range(5)]
    assert operator.cluster.calls == []
    assert all(pause is not None and pause > 0 for pause in pauses)


async def test_a_poll_does_not_put_off_what_is_due_by_time() -> None:
    operator = Operator(living_table(every="2s"))
    await operator.settle()
    operator._reconciler._polling.begin_reconcile(KEY)
    quiet = LastReconcile(
        location=Location.parse("s3a://lake/team-a/flights"),
        store=None,
        fingerprint=fingerprint(operator.cluster.snapshot.timeline),
        namespace=NamespaceObservation(),
        moved_at=-1e6,
        whole_at=asyncio.get_running_loop().time() + 1.5,
    )
    operator._reconciler._polling.end_reconcile(KEY, quiet, moved=True)
    pause = await operator.reconcile(Trigger.POLL)
    assert pause is not None
    assert 0 < pause <= 1.5


async def test_a_poll_shows_that_the_timeline_has_moved_without_looking_for_jobs() -> None:
    operator = await reference()
    operator.cluster.snapshot = replace(operator.cluster.snapshot, timeline=timeline(instant("20260310115900000")))
    operator.cluster.calls.clear()
    await operator.reconcile(Trigger.POLL)
    assert operator.status["timeline"]["completedCommits"] == 1
    assert "list Job" not in operator.cluster.calls
    operator.cluster.calls.clear()
    await operator.reconcile(Trigger.POLL)
    assert operator.cluster.calls == []


async def test_a_poll_sees_a_store_that_fails_and_one_that_is_back() -> None:
    operator = await reference()
    healthy = operator.cluster.snapshot
    operator.cluster.snapshot = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="It does not answer.")
    await operator.reconcile(Trigger.POLL)
    assert "StorageUnavailable" in {item["reason"] for item in operator.status["conditions"]}
    operator.cluster.snapshot = healthy
    await operator.reconcile(Trigger.POLL)
    assert "StorageUnavailable" not in {item["reason"] for item in operator.status["conditions"]}


async def due_operator() -> Operator:
    """An operator whose table was reconciled, and has a run that is due at the next reconcile."""
    operator = Operator(living_table(suspend=True))
    await operator.reconcile()
    operator.cluster.tables["flights"]["spec"]["suspend"] = False
    assert operator.cluster.created == []
    operator._reconciler._polling.forget(KEY)  # as when the time has come
    operator.cluster.calls.clear()
    return operator


async def test_actions_of_a_poll_rest_on_live_reads_of_the_same_reconcile() -> None:
    operator = await due_operator()
    await operator.reconcile(Trigger.POLL)
    assert len(operator.cluster.created) == 1
    calls = operator.cluster.calls
    before_the_decision = calls[: calls.index("replace the status of HudiTable")]
    assert set(before_the_decision) >= READS_BEFORE_AN_ACTION


async def test_a_class_that_no_longer_allows_the_path_stops_a_poll_that_remembers_another() -> None:
    operator = await due_operator()
    operator.cluster.classes["standard"] = class_document(allowedBasePaths=["s3://elsewhere/"])
    await operator.reconcile(Trigger.POLL)
    assert operator.cluster.created == []
    assert "PathNotAllowed" in {item["reason"] for item in operator.status["conditions"]}


async def test_a_claim_that_another_table_has_meanwhile_stops_a_poll_that_remembers_its_own() -> None:
    operator = await due_operator()
    give_claim_to_another(operator.cluster)
    await operator.reconcile(Trigger.POLL)
    assert operator.cluster.created == []
    assert "BasePathClaimed" in {item["reason"] for item in operator.status["conditions"]}


def test_a_table_that_waits_for_the_claim_of_another_takes_over_at_the_poll_after_its_release() -> None:
    async def story() -> None:
        operator = await due_operator()
        give_claim_to_another(operator.cluster)
        pause = await operator.reconcile()
        assert pause is not None
        operator.cluster.claims.clear()
        await asyncio.sleep(pause)
        await operator.reconcile(Trigger.POLL)
        assert len(operator.cluster.created) == 1

    jumping.run(story)


def give_claim_to_another(cluster: Cluster) -> None:
    (claim,) = cluster.claims.values()
    claim["spec"]["holderIdentity"] = "another-uid"
    claim["metadata"]["annotations"]["hudi-operator.io/table"] = "team-a/other"
    other = copy.deepcopy(cluster.tables["flights"])
    other["metadata"] |= {"name": "other", "uid": "another-uid"}
    cluster.tables["other"] = other


async def test_a_job_that_the_status_has_forgotten_keeps_a_poll_from_launching_another() -> None:
    operator = Operator(living_table())
    operator.cluster.outcome = None
    await operator.reconcile()
    operator.cluster.kubelet()
    operator.cluster.tables["flights"]["status"]["memory"]["activeJobs"] = []
    operator._reconciler._polling.forget(KEY)
    await operator.reconcile(Trigger.POLL)
    assert len(operator.cluster.created) == 1


async def test_a_corrected_spec_starts_a_run_of_its_own_while_the_failed_jobs_of_the_old_one_are_still_there() -> None:
    operator = Operator(living_table())
    operator.cluster.outcome = Outcome.FAILED
    await operator.settle()
    failed = list(operator.cluster.created)
    assert operator.status["services"]["ingestion"]["failures"] == 1

    operator.cluster.outcome = Outcome.NOTHING_TO_DO
    operator.cluster.tables["flights"]["metadata"]["generation"] = 2
    await operator.settle()
    assert len(operator.cluster.created) == len(failed) + 1
    assert len(set(operator.cluster.created)) == len(failed) + 1
    ingestion = operator.status["services"]["ingestion"]
    assert (ingestion["lastRun"]["outcome"], ingestion.get("failures", 0)) == ("NothingToDo", 0)
    assert ingestion["lastRun"]["job"] not in failed


async def test_the_next_run_waits_for_the_executors_of_a_killed_driver_and_removes_them() -> None:
    operator = Operator(living_table(every="1s"))
    cluster = operator.cluster
    await operator.reconcile()
    cluster.kubelet()
    (first,) = cluster.jobs.values()
    executor = cluster.add_executor(first)["metadata"]
    cluster.cut_off.add(executor["name"])
    cluster.outcome = Outcome.FAILED
    cluster.kubelet()
    for _ in range(3):
        await operator.reconcile()
    assert "deletionTimestamp" in cluster.pods[executor["name"]]["metadata"]
    assert [one["state"] for one in operator.status["activeJobs"]] == ["Ending"]
    assert executor["name"] in operator.status["activeJobs"][0]["message"]
    assert len(cluster.created) == 1

    cluster.cut_off.clear()
    cluster.kubelet()
    await operator.reconcile()
    assert operator.status["services"]["ingestion"]["failures"] == 1


async def test_a_run_whose_driver_ended_beside_an_injected_container_is_over_and_its_job_is_removed() -> None:
    operator = Operator(living_table())
    cluster = operator.cluster
    await operator.reconcile()
    cluster.kubelet()
    cluster.kubelet()
    ((name, job),) = cluster.jobs.items()
    del job["status"]
    (pod,) = cluster.pods.values()
    pod["status"]["phase"] = "Running"
    pod["status"]["containerStatuses"].append({"name": "istio-proxy", "state": {"running": {}}})
    await operator.reconcile()
    assert name not in cluster.jobs
    assert operator.status["activeJobs"] == []
    assert operator.status["services"]["ingestion"]["lastRun"]["outcome"] == "NothingToDo"


async def test_a_status_that_was_lost_leads_to_no_finished_job() -> None:
    operator = await reference()
    operator.cluster.outcome = None
    operator.cluster.tables["flights"]["status"] = {}
    await operator.reconcile()
    assert len(set(operator.cluster.created)) == 2
    assert "lastRun" not in operator.status["services"]["ingestion"]


async def test_how_far_a_table_is_behind_is_a_metric_and_one_event_as_long_as_the_table_is_there() -> None:
    cluster = living_table(ingestion={**LANDING, "schedule": {"every": "1h"}, "freshness": "2h"})
    cluster.complete_up_to = "2026-03-10T12:00:00Z"
    operator = Operator(cluster)
    await operator.settle()
    await operator.reconcile()
    assert operator.status["services"]["ingestion"]["freshness"]["completeUpTo"] == cluster.complete_up_to
    fresh = next(one for one in operator.status["conditions"] if one["type"] == "Fresh")
    assert (fresh["status"], fresh["reason"]) == ("False", "FreshnessMissed")
    assert [one[:2] for one in cluster.events if one[1] == "FreshnessMissed"] == [("Warning", "FreshnessMissed")]
    assert behind() == 1773144000
    del cluster.tables["flights"]
    await operator.reconcile()
    assert behind() is None


def behind() -> float | None:
    labels = {"table_namespace": "team-a", "table": "flights"}
    return metrics.registry.get_sample_value("hudi_operator_table_complete_up_to_timestamp_seconds", labels)


async def test_a_table_that_is_gone_is_forgotten() -> None:
    operator = await reference()
    del operator.cluster.tables["flights"]
    assert await operator.reconcile() is None
    operator.cluster.calls.clear()
    assert await operator.reconcile(Trigger.POLL) is None
    assert "get HudiTable" in operator.cluster.calls


async def test_a_table_that_waits_for_its_class_is_looked_at_when_a_job_of_the_class_ends() -> None:
    operator = Operator(living_table())
    operator.cluster.classes["standard"] = class_document(jobQuota={"runningJobs": 1})
    woken: list[TableKey] = []
    operator._reconciler.wake = woken.append
    other = table_key("team-a", "other")
    operator._reconciler._running.record(other, class_name="standard", jobs=1)
    await operator.reconcile()
    assert operator.status["services"]["ingestion"]["reason"] == "ClassQuotaReached"
    assert woken == []

    operator._reconciler._running.record(other, class_name="standard", jobs=0)
    assert woken == [KEY]
    await operator.reconcile(Trigger.POLL)
    assert len(operator.cluster.created) == 1


async def test_a_finalizer_that_was_removed_by_hand_comes_back_with_the_next_reconcile() -> None:
    cluster = living_table()
    operator = Operator(cluster)
    await operator.reconcile()
    cluster.tables["flights"]["metadata"]["finalizers"] = []
    await operator.reconcile()
    assert cluster.tables["flights"]["metadata"]["finalizers"] == [FINALIZER]
