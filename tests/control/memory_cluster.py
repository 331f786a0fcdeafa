"""A cluster in memory: what the end of a table reads and writes, with a process that can be killed at every write.

It answers as the API server does where the finalizer depends on it: resourceVersions, 409, finalizers, uids, and pods
that outlive their Job.
"""

from __future__ import annotations

import contextlib
import copy
import itertools
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, TypeVar

from hudi_jobs.contract import AffectedInstant, FailureReason, JobOutcome, Outcome, TaskResult, encode_outcome, task_id
from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.jobs.names import ROLE_LABEL, SERVICE_LABEL, TABLE_LABEL
from hudi_operator.kube.api import NO_NOTES, Documents
from hudi_operator.kube.errors import (
    AlreadyExists,
    ApiUnavailable,
    Conflict,
    Forbidden,
    KubernetesError,
    NotFound,
)
from hudi_operator.kube.events import EventType
from hudi_operator.kube.keys import OPERATION, SAVEPOINT, TABLE, TABLE_CLASS
from hudi_operator.kube.objects import JOB, NAMESPACE, POD, Kind, ObjectKey
from hudi_operator.planning.model import TimelineSnapshot
from hudi_operator.planning.model.times import format_time

Document = dict[str, Any]
Result = TypeVar("Result")


class Killed(Exception):
    """The process was killed here."""


class MemoryCluster:
    """Documents by name, and what happened to them."""

    def __init__(self) -> None:
        self.tables: dict[str, Document] = {}
        self.classes: dict[str, Document] = {}
        self.jobs: dict[str, Document] = {}
        self.pods: dict[str, Document] = {}
        self.others: dict[Kind, dict[str, Document]] = {}
        """Objects of all other kinds."""
        self.cut_off: set[str] = set()
        """Pods on a lost node: they go only when the node is back or removed."""
        self.claims: dict[str, Document] = {}
        self.events: list[tuple[str, str, str]] = []
        self.created: list[str] = []
        self.writes = 0
        self.calls: list[str] = []
        """What was asked for, in words."""
        self.kill_at: tuple[int, bool] | None = None
        """Number of the write at which the process dies, and whether the write takes effect."""
        self.lose: Callable[[int], bool] = lambda _number: False
        """Whether the reply to the write of this number is lost, which still takes effect."""
        self.refusal: str | None = None
        """What the API server says to every new Job, and every other new object."""
        self.labels: dict[str, dict[str, str]] = {}
        """Labels of namespaces."""
        self.suspensions: dict[str, str] = {}
        """Values of the suspend annotation of namespaces."""
        self.namespaces_are_secret = False
        """Whether the operator has no right to read namespaces."""
        self.refused: str | None = None
        """A namespace in which the operator has no rights."""
        self.warnings: dict[str, list[Document]] | None = {}
        """Events by the uid of the object that they are about; None where the operator may not read them."""
        self.log: bytes | KubernetesError = NotFound("the pod is gone", status=404)
        """The log of every container, or why nobody gets it."""
        self.terminating = False
        """Whether the namespace is being deleted."""
        self.snapshot = TimelineSnapshot()
        """What the store shows."""
        self.outcome: Outcome | None = Outcome.SUCCEEDED
        self.complete_up_to: str | None = None
        self.more_input: bool | None = None
        self.affected: tuple[AffectedInstant, ...] = ()
        """How the next Job ends; None when it does not."""
        self.failure: FailureReason | None = None
        """Why the next Job fails."""
        self.clock: Callable[[], datetime] = lambda: datetime.now(UTC)
        """What the API server's clock says."""
        self._numbers = itertools.count(1)

    # What the tests do

    def add_job(self, manifest: Mapping[str, Any]) -> Document:
        """Make a Job without counting it as the operator's."""
        job = copy.deepcopy(dict(manifest))
        number = next(self._numbers)
        job["metadata"] |= {"uid": f"job-{number}", "creationTimestamp": "2026-03-10T11:59:30Z"}
        self.jobs[job["metadata"]["name"]] = job
        return job

    def kubelet(self) -> None:
        """Start the pods of new Jobs, end those that run, and let go of those whose Job is deleted."""
        for job in self.jobs.values():
            pods = [pod for pod in self.pods.values() if _owner(pod) == job["metadata"]["uid"]]
            if not pods:
                self._start(job)
            elif self.outcome is not None and pods[0]["status"]["phase"] == "Running":
                self._finish(job, pods[0], self.outcome)
        alive = {job["metadata"]["uid"] for job in self.jobs.values()}
        self.pods = {name: pod for name, pod in self.pods.items() if name in self.cut_off or self._stays(pod, alive)}

    def add_executor(self, job: Document, number: int = 1) -> Document:
        """Start an executor of a Job; Spark names it after the run."""
        name = f"{job['metadata']['name']}-exec-{number}"
        labels = {**job["metadata"]["labels"], ROLE_LABEL: "executor"}
        pod = {
            "metadata": {"name": name, "uid": f"uid-of-{name}", "labels": labels},
            "spec": {"containers": [{"name": "executor"}]},
            "status": {"phase": "Running"},
        }
        self.pods[name] = pod
        return pod

    def of_service(self, service: str) -> list[str]:
        """Names of the Jobs of a service that were ever created."""
        return [name for name in self.created if f"-{service.lower()}-" in name]

    @staticmethod
    def _stays(pod: Document, alive: set[str]) -> bool:
        if pod["metadata"]["labels"].get(ROLE_LABEL) == "executor":
            return "deletionTimestamp" not in pod["metadata"]
        return _owner(pod) in alive

    def _start(self, job: Document) -> None:
        labels = {**job["spec"]["template"]["metadata"]["labels"]}
        labels["batch.kubernetes.io/controller-uid"] = job["metadata"]["uid"]
        labels["batch.kubernetes.io/job-name"] = job["metadata"]["name"]
        name = f"{job['metadata']['name']}-pod"
        self.pods[name] = {
            "metadata": {"name": name, "uid": f"uid-of-{name}", "labels": labels},
            "spec": job["spec"]["template"]["spec"],
            "status": {"phase": "Running"},
        }

    def _finish(self, job: Document, pod: Document, outcome: Outcome) -> None:
        labels = job["metadata"]["labels"]
        result = TaskResult(
            id=task_id(f"team-a/{labels[TABLE_LABEL]}", labels[SERVICE_LABEL]),
            outcome=outcome,
            reason=self.failure if outcome is Outcome.FAILED else None,
            message="Deleted 7 files.",
            affected=self.affected,
            complete_up_to=self.complete_up_to,
            more_input=self.more_input,
        )
        ended = {"exitCode": 0, "message": encode_outcome(JobOutcome(results=(result,)))}
        pod["status"] = {
            "phase": "Succeeded",
            "containerStatuses": [{"name": "driver", "state": {"terminated": ended}}],
        }
        job["status"] = {"conditions": [{"type": "Complete", "status": "True"}]}
        if job["metadata"]["labels"].get(SERVICE_LABEL) == "Deletion" and outcome is Outcome.SUCCEEDED:
            self.snapshot = TimelineSnapshot()

    # What the operator calls, as `KubernetesClient` has it

    def of_kind(self, kind: Kind) -> dict[str, Document]:
        """The documents of a kind by name."""
        kinds = {TABLE: self.tables, TABLE_CLASS: self.classes, JOB: self.jobs, POD: self.pods}
        return kinds[kind] if kind in kinds else self.others.setdefault(kind, {})

    async def get(self, key: ObjectKey) -> Document | None:
        self.calls.append(f"get {key.kind}")
        if key.kind == NAMESPACE:
            return self._namespace(key.name)
        self._admit(key.namespace)
        return copy.deepcopy(self.of_kind(key.kind).get(key.name))

    async def list(self, kind: Kind, namespace: str | None = None, *, label_selector: str | None = None) -> Documents:
        return [one async for one in self.each(kind, namespace, label_selector=label_selector)]

    async def each(
        self, kind: Kind, namespace: str | None = None, *, label_selector: str | None = None
    ) -> AsyncIterator[Document]:
        self.calls.append(f"list {kind}")
        self._admit(namespace)
        for document in list(self.of_kind(kind).values()):
            if label_selector is None or _selects(label_selector, document):
                yield copy.deepcopy(document)

    async def create(self, kind: Kind, _namespace: str, manifest: Mapping[str, Any]) -> Document:
        self.calls.append(f"create {kind}")
        if kind != JOB:
            return self._write(lambda: self._create_object(kind, manifest))
        return self._write(lambda: self._create_job(manifest))

    async def delete(self, key: ObjectKey, *, uid: str, version: str | None = None) -> bool:
        self.calls.append(f"delete {key.kind}")
        if key.kind == POD:
            return self._write(lambda: self._delete_pod(key.name, uid))
        return self._write(lambda: self._delete(self.of_kind(key.kind), key.name, uid, version))

    async def replace_status(self, kind: Kind, document: Document, status: Mapping[str, Any]) -> Document:
        self.calls.append(f"replace the status of {kind}")
        if document.get("status") == status:
            return document
        return self._write(lambda: self._replace(kind, document, status=dict(status)))

    async def set_finalizers(
        self, kind: Kind, document: Document, finalizers: Sequence[str], *, annotations: Mapping[str, str] = NO_NOTES
    ) -> Document:
        self.calls.append(f"set finalizers of {kind}")
        return self._write(lambda: self._set_finalizers(kind, document, finalizers, annotations))

    def now(self) -> datetime:
        return self.clock()

    def _namespace(self, name: str) -> Document | None:
        if self.namespaces_are_secret:
            raise Forbidden("namespaces is forbidden", status=403)
        if name not in self.labels and name not in self.suspensions:
            return None
        annotations = {SUSPEND_ANNOTATION: self.suspensions[name]} if name in self.suspensions else {}
        return {"metadata": {"name": name, "labels": dict(self.labels.get(name, {})), "annotations": annotations}}

    async def create_claim(
        self, name: str, *, holder: str, labels: Mapping[str, str], annotations: Mapping[str, str]
    ) -> Document:
        return self._write(lambda: self._claim(name, holder, labels, annotations))

    async def get_claim(self, name: str) -> Document | None:
        self.calls.append("get claim")
        return self.claims.get(name)

    async def list_claims(self, label_selector: str) -> Documents:
        self.calls.append("list claims")
        return [claim for claim in self.claims.values() if _selects(label_selector, claim)]

    async def delete_claim(self, name: str, *, uid: str) -> bool:
        return self._write(lambda: self._delete(self.claims, name, uid))

    async def create_event(
        self, about: Document, *, kind: EventType, reason: str, message: str, once: bool = False
    ) -> None:
        kinds = {"HudiSavepoint": SAVEPOINT, "HudiOperation": OPERATION}
        objects = self.of_kind(kinds[about["kind"]]) if about.get("kind") in kinds else self.tables
        assert about["metadata"]["name"] in objects, "an Event about an object that is gone"
        if once and any(one[1] == reason for one in self.events):
            return
        with contextlib.suppress(KubernetesError):
            self._write(lambda: self.events.append((kind.value, str(reason), message)))

    async def warnings_about(self, namespace: str, uid: str) -> Documents | None:
        self._admit(namespace)
        return None if self.warnings is None else self.warnings.get(uid, [])

    async def read_log(self, _namespace: str, pod: str, container: str, *, lines: int, most_bytes: int) -> bytes:
        self.calls.append("read log")
        assert (pod in self.pods, container) == (True, "driver"), "a log of another container"
        if isinstance(self.log, KubernetesError):
            raise self.log
        return b"\n".join(self.log.split(b"\n")[-lines:])[:most_bytes]

    async def namespace_is_terminating(self, _about: Document) -> bool:
        return self.terminating

    async def cluster_uid(self) -> str:
        return "cluster"

    def _admit(self, namespace: str | None) -> None:
        if namespace is not None and namespace == self.refused:
            raise Forbidden(f"nothing may be read in {namespace}", status=403)

    # How writes take effect

    def _write(self, effect: Callable[[], Result]) -> Result:
        self.writes += 1
        if self.kill_at == (self.writes, False):
            raise Killed
        done = effect()
        if self.kill_at == (self.writes, True):
            raise Killed
        if self.lose(self.writes):
            raise ApiUnavailable("the reply was lost")
        return done

    def _replace(self, kind: Kind, document: Document, **changes: Any) -> Document:
        documents, name = self.of_kind(kind), document["metadata"]["name"]
        if documents[name]["metadata"].get("resourceVersion") != document["metadata"].get("resourceVersion"):
            raise Conflict("the object has been modified", status=409)
        changed = {**copy.deepcopy(document), **changes}
        changed["metadata"]["resourceVersion"] = str(next(self._numbers))
        documents[name] = changed
        return copy.deepcopy(changed)

    def _set_finalizers(
        self, kind: Kind, document: Document, finalizers: Sequence[str], annotations: Mapping[str, str]
    ) -> Document:
        notes = {**(document["metadata"].get("annotations") or {}), **annotations}
        metadata = {**document["metadata"], "finalizers": list(finalizers), "annotations": notes}
        changed = self._replace(kind, document, metadata=metadata)
        if not finalizers and "deletionTimestamp" in metadata:
            del self.of_kind(kind)[metadata["name"]]
        return changed

    def _claim(self, name: str, holder: str, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Document:
        if name in self.claims:
            raise AlreadyExists(name)
        metadata = {"name": name, "uid": f"{name}-uid", "labels": dict(labels), "annotations": dict(annotations)}
        self.claims[name] = {"metadata": metadata, "spec": {"holderIdentity": holder}}
        return self.claims[name]

    def _create_object(self, kind: Kind, manifest: Mapping[str, Any]) -> Document:
        name, objects = manifest["metadata"]["name"], self.of_kind(kind)
        if self.refusal is not None:
            raise Forbidden(self.refusal, status=403)
        if name in objects:
            raise AlreadyExists(name, status=409)
        objects[name] = copy.deepcopy(dict(manifest))
        created = {"uid": f"uid-of-{name}", "generation": 1, "resourceVersion": "1"}
        objects[name]["metadata"] |= {**created, "creationTimestamp": format_time(self.now())}
        return objects[name]

    def _create_job(self, manifest: Mapping[str, Any]) -> Document:
        name = manifest["metadata"]["name"]
        if self.refusal is not None:
            raise Forbidden(self.refusal, status=403)
        if name in self.jobs:
            raise AlreadyExists(name, status=409)
        self.created.append(name)
        return self.add_job(manifest)

    def _delete_pod(self, name: str, uid: str) -> bool:
        """Mark a pod; its containers continue until the kubelet has heard of it."""
        if name not in self.pods or self.pods[name]["metadata"]["uid"] != uid:
            return False
        self.pods[name]["metadata"]["deletionTimestamp"] = "2026-03-10T12:00:00Z"
        return True

    @staticmethod
    def _delete(documents: dict[str, Document], name: str, uid: str, version: str | None = None) -> bool:
        if name not in documents:
            return False
        metadata = documents[name]["metadata"]
        if metadata["uid"] != uid or version not in {None, metadata.get("resourceVersion")}:
            raise Conflict("another object, or another version of it", status=409)
        del documents[name]
        return True


def _owner(pod: Document) -> str:
    return str(pod["metadata"]["labels"].get("batch.kubernetes.io/controller-uid"))


def _selects(selector: str, document: Document) -> bool:
    labels = document["metadata"].get("labels") or {}
    return all(labels.get(key) == value for key, value in (pair.split("=") for pair in selector.split(",")))
