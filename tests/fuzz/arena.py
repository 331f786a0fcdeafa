"""Two tenants and one operator in memory: what one puts into its objects and files changes nothing for the other."""

from __future__ import annotations

import copy
import json
import shutil
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any, cast

from tests.control.test_reconciler import Cluster, class_document
from tests.fuzz.hostile import changed, changed_text, spoil
from tests.planning.world import IMAGE

from hudi_jobs.contract import JobOutcome, Outcome, Service, TaskResult, encode_outcome, task_id
from hudi_operator.control.settings import Settings
from hudi_operator.control.snapshots.pool import StorePool
from hudi_operator.control.snapshots.reader import SnapshotReader
from hudi_operator.control.tables import Reconciler
from hudi_operator.kube.errors import KubernetesError, NotFound
from hudi_operator.kube.keys import TableKey, table_key
from hudi_operator.kube.objects import Kind
from hudi_operator.planning.model.times import format_time
from hudi_operator.runtime.controller import Trigger
from hudi_operator.storage.local import LocalFileSystem

Document = dict[str, Any]
GOOD, HOSTILE = table_key("team-a", "good"), table_key("team-b", "hostile")
BEGAN = datetime(2026, 3, 10, 12, tzinfo=UTC)
ROUND = timedelta(minutes=3)
NEWEST_JOBS = 20
"""How many of the hostile tenant's Jobs are kept, as a ResourceQuota would."""


class Folders:
    """A bucket whose folders lie below a local one."""

    identity = "fuzz"
    lists_from_offset = False

    def __init__(self, root: Path) -> None:
        self._root, self._local = root, LocalFileSystem()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._local, name)
        return lambda path, *rest, **named: method(f"{self._root}/{path.lstrip('/')}", *rest, **named)


class Tenants(Cluster):
    """Namespaces are kept apart, and what one table's objects are called does not depend on the other's."""

    def add_job(self, manifest: Mapping[str, Any]) -> Document:
        volumes = manifest["spec"]["template"]["spec"]["volumes"]
        mounted = {volume["secret"]["secretName"] for volume in volumes if "secret" in volume}
        allowed = {*ALLOWED_KAFKA["secretNames"], *ALLOWED_KAFKA["registries"][0]["secretNames"]}
        assert mounted <= allowed, "a Job mounts a Secret that no class allows"
        job = super().add_job(manifest)
        job["metadata"]["uid"] = f"uid-of-{job['metadata']['name']}"
        return job

    async def each(
        self, kind: Kind, namespace: str | None = None, *, label_selector: str | None = None
    ) -> AsyncIterator[Document]:
        async for document in super().each(kind, namespace, label_selector=label_selector):
            if namespace in (None, _namespace(document)):
                yield document

    def run(self, key: TableKey) -> None:
        """Let the Jobs that the operator has made for a table take a step: none, running, ended."""
        for name in [name for name in self.created if name.startswith(f"{key.name}-")]:
            job = self.jobs.get(name)
            if job is None or (job.get("status") or {}).get("conditions"):
                continue
            pod = self.pods.get(f"{name}-pod")
            if pod is None:
                self._start(job)
                self.pods[f"{name}-pod"]["metadata"]["namespace"] = key.namespace
            elif (pod.get("status") or {}).get("phase") == "Running":
                self._finish(job, pod, Outcome.NOTHING_TO_DO)

    def forget_old(self) -> None:
        """End what nobody waits for any more: Jobs over their TTL, with their pods."""
        for key in (GOOD, HOSTILE):
            names = [name for name, job in self.jobs.items() if _namespace(job) == key.namespace]
            for name in names[:-NEWEST_JOBS]:
                del self.jobs[name]
                self.pods.pop(f"{name}-pod", None)


def _namespace(document: Document) -> str | None:
    return cast("str | None", (document.get("metadata") or {}).get("namespace"))


def table_document(key: TableKey) -> Document:
    """Return a table with a source and everything that a timeline can make due."""
    return {
        "apiVersion": "hudi-operator.io/v1beta1",
        "kind": "HudiTable",
        "metadata": {
            "name": key.name,
            "namespace": key.namespace,
            "uid": f"uid-of-{key.name}",
            "generation": 1,
            "resourceVersion": "1",
            "creationTimestamp": format_time(BEGAN),
            "annotations": {},
        },
        "spec": {
            "tableClassName": "standard",
            "basePath": f"s3a://lake/{key.namespace}/{key.name}",
            "type": "MergeOnRead",
            "recordKey": ["id"],
            "ingestion": {
                "source": {"files": {"path": f"s3a://landing/{key.namespace}/", "format": "csv", "pathGlob": "*.csv"}},
                "schedule": {"every": "10m"},
                "freshness": "15m",
            },
            "compaction": {"trigger": {"deltaCommits": 3}},
            "clustering": {"mode": "Async", "trigger": {"commits": 4}},
            "cleaning": {"retainCommits": 1},
        },
    }


def kafka_ingestion(key: TableKey) -> Document:
    """Return the ingestion of a table that reads topics, with everything that it may name."""
    return {
        "source": {
            "kafka": {
                "bootstrapServers": ["kafka:9093"],
                "topics": [f"{key.namespace}.orders"],
                "startingOffsets": {"partitions": [{"topic": f"{key.namespace}.orders", "partition": 0, "offset": 1}]},
                "onDataLoss": "Skip",
                "value": {"format": "Avro", "envelope": "None"},
                "columns": {"key": "message_key", "offset": "message_offset"},
                "registry": {"url": "https://registry/v1", "credentialsSecretName": "kafka-user"},
                "security": {
                    "protocol": "SASL_SSL",
                    "mechanism": "SCRAM-SHA-512",
                    "credentialsSecretName": "kafka-user",
                    "caSecretName": "kafka-ca",
                    "certificateSecretName": "kafka-client",
                },
                "maxRecordsPerRun": 1000,
            }
        },
        "schedule": {"every": "10m"},
    }


ALLOWED_KAFKA: Document = {
    "bootstrapServers": ["kafka:9093"],
    "topics": ["{namespace}.*"],
    "registries": [{"url": "https://registry/v1", "secretNames": ["registry-user"]}],
    "secretNames": ["kafka-user", "kafka-ca", "kafka-client"],
}


@dataclass
class Spent:
    """What a reconcile cost."""

    seconds: float = 0.0


@dataclass
class Arena:
    """A good table, a hostile one, and what the good one's owner saw in each round."""

    folder: Path
    source: Path
    cluster: Tenants = field(default_factory=Tenants)
    seen: list[str] = field(default_factory=list)
    longest: float = 0.0
    """Processor seconds of the most expensive reconcile so far."""

    def __post_init__(self) -> None:
        self._now = BEGAN
        self.cluster.clock = lambda: self._now
        self.cluster.classes["standard"] = class_document(
            jobQuota={"runningJobs": 4, "runningJobsPerNamespace": 2}, allowedKafka=[ALLOWED_KAFKA]
        )
        for key in (GOOD, HOSTILE):
            self.cluster.tables[key.name] = table_document(key)
            self._restore(key)
        self._reconciler = self._start()

    def _start(self) -> Reconciler:
        snapshots = SnapshotReader(StorePool(opener=lambda _url, _options: cast("Any", Folders(self.folder))))
        kube = self.cluster
        return Reconciler(kube=kube, snapshots=snapshots, settings=Settings(spark_image=IMAGE))

    def _restore(self, key: TableKey) -> None:
        """Put the table's files as they were first."""
        place = self.folder / key.namespace / key.name
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(self.source, place)

    async def round(self) -> None:
        """Look at both tables, and let their Jobs continue."""
        self._now += ROUND
        for key in (HOSTILE, GOOD):
            if key.name in self.cluster.tables:
                await self._reconcile(key)
                self.cluster.run(key)
        self.cluster.forget_old()
        good = self.cluster.tables[GOOD.name]
        jobs = sorted(name for name in self.cluster.jobs if name.startswith(f"{GOOD.name}-"))
        self.seen.append(json.dumps([good.get("status"), jobs], sort_keys=True))

    async def _reconcile(self, key: TableKey) -> None:
        began = time.process_time()
        try:
            await self._reconciler.reconcile(key, Trigger.EVENT)
        except (KubernetesError, NotFound):
            assert key == HOSTILE, "the API server refuses nothing of the good table"
        self.longest = max(self.longest, time.process_time() - began)

    def strike(self, dice: Random) -> None:
        """Change something that belongs to the hostile tenant."""
        act = dice.choice(
            (
                self._change_spec,
                self._change_table,
                self._change_job,
                self._forge_job,
                self._change_pod,
                self._change_files,
            )
        )
        act(dice)
        if dice.random() < 0.1:
            self.cluster.tables[HOSTILE.name] = self._as_stored(table_document(HOSTILE))
        if dice.random() < 0.1:
            self._restore(HOSTILE)
        if dice.random() < 0.05:
            self._reconciler = self._start()

    def _as_stored(self, table: Document) -> Document:
        """What the API server keeps whatever is applied: the table's identity, and a version."""
        kept = table_document(HOSTILE)["metadata"]
        metadata = table.get("metadata")
        table["metadata"] = {**(metadata if isinstance(metadata, dict) else {}), **kept}
        for name in ("annotations", "labels"):
            given = metadata.get(name) if isinstance(metadata, dict) else None
            given = given if isinstance(given, dict) else {}
            table["metadata"][name] = {str(one): text for one, text in given.items() if isinstance(text, str)}
        table["metadata"]["resourceVersion"] = f"{self._now.timestamp()}-{len(self.seen)}"
        table["apiVersion"], table["kind"] = "hudi-operator.io/v1beta1", "HudiTable"
        return table

    def _current(self) -> Document:
        return copy.deepcopy(self.cluster.tables.get(HOSTILE.name) or table_document(HOSTILE))

    def _change_spec(self, dice: Random) -> None:
        table = self._current()
        spec = table_document(HOSTILE)["spec"]
        if dice.random() < 0.4:
            spec["ingestion"] = kafka_ingestion(HOSTILE)
        table["spec"] = changed(spec, dice, times=dice.randrange(1, 3))
        self.cluster.tables[HOSTILE.name] = self._as_stored(table)

    def _change_table(self, dice: Random) -> None:
        table = self._current()
        if dice.random() < 0.5:
            names = ("requested-at", "accept-foreign-commits", "take-over", "rescan", "retain")
            given = dict.fromkeys([f"hudi-operator.io/{dice.choice(names)}"], changed_text('"2026"', dice))
            table["metadata"]["annotations"] = {**table["metadata"].get("annotations", {}), **given}
        else:
            table["status"] = changed(table.get("status") or {}, dice, times=dice.randrange(1, 4))
        self.cluster.tables[HOSTILE.name] = self._as_stored(table)

    def _change_job(self, dice: Random) -> None:
        names = [name for name, job in self.cluster.jobs.items() if _namespace(job) == HOSTILE.namespace]
        if names:
            name = dice.choice(names)
            self.cluster.jobs[name] = self._own(changed(self.cluster.jobs[name], dice, times=2, typed=True), name, dice)

    def _forge_job(self, dice: Random) -> None:
        """Make a Job that looks like one of the operator's, of any table, and never starts."""
        jobs = list(self.cluster.jobs.values())
        if jobs:
            name = f"{HOSTILE.name}-forged-{dice.randrange(5)}"
            forged = copy.deepcopy(dice.choice(jobs))
            forged["spec"] = {**forged.get("spec", {}), "suspend": True} if isinstance(forged.get("spec"), dict) else {}
            forged.pop("status", None)
            self.cluster.jobs[name] = self._own(forged, name, dice)

    def _own(self, document: Document, name: str, dice: Random) -> Document:
        """What the API server keeps of a Job or pod that a tenant writes in its namespace."""
        metadata = document.get("metadata")
        metadata = metadata if isinstance(metadata, dict) else {}
        for kept in ("labels", "annotations"):
            given = metadata.get(kept)
            given = given if isinstance(given, dict) else {}
            metadata[kept] = {str(one): text for one, text in given.items() if isinstance(text, str)}
            if metadata[kept] and dice.random() < 0.3:
                metadata[kept][dice.choice(sorted(metadata[kept]))] = "9" * 5_000
        created = {"creationTimestamp": format_time(self._now)}
        document["metadata"] = {
            **metadata,
            **created,
            "name": name,
            "namespace": HOSTILE.namespace,
            "uid": f"uid-of-{name}",
        }
        return document

    def _change_pod(self, dice: Random) -> None:
        names = [name for name, pod in self.cluster.pods.items() if _namespace(pod) == HOSTILE.namespace]
        if not names:
            return
        name = dice.choice(names)
        pod = changed(self.cluster.pods[name], dice, times=dice.randrange(3), typed=True)
        if dice.random() < 0.6:
            figures = {"complete_up_to": format_time(BEGAN), "backlog_records": dice.choice((0, 7, 2**70))}
            results = (
                TaskResult(
                    id=task_id(f"{HOSTILE.namespace}/{HOSTILE.name}", dice.choice(list(Service))),
                    outcome=dice.choice(list(Outcome)),
                    message="x",
                    **figures,
                ),
            )
            message = changed_text(encode_outcome(JobOutcome(results=results)), dice)
            ended = changed(
                {"exitCode": 0, "message": message, "reason": "Completed"}, dice, times=dice.randrange(2), typed=True
            )
            statuses = [{"name": "driver", "state": {"terminated": ended}}]
            pod["status"] = {"phase": "Succeeded", "containerStatuses": statuses}
        pod.setdefault("status", {})
        self.cluster.pods[name] = self._own(pod, name, dice)

    def _change_files(self, dice: Random) -> None:
        spoil(self.folder / HOSTILE.namespace / HOSTILE.name, dice)
