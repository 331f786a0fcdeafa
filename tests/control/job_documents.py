"""Jobs and pods as Kubernetes 1.34 writes them, and what the decision sees of them."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from tests.planning.world import IMAGE, JOB, active, observe, table, table_class

from hudi_jobs.contract import JobOutcome, Outcome, TaskResult, encode_outcome
from hudi_operator.control.jobs.job_view import observe_jobs
from hudi_operator.jobs.decided_job import build_manifest
from hudi_operator.planning.model import JobObservation

CREATED = datetime(2026, 3, 10, 12, 0, 0, tzinfo=UTC)
NOW = CREATED + timedelta(minutes=1)
JOB_UID = "8d3a5b0e-6f0f-4a37-9d0f-2c9a7a0b1c11"
TASK = "team-a/flights/ingestion"
OUTCOME = JobOutcome(results=(TaskResult(id=TASK, outcome=Outcome.SUCCEEDED, rows_read=3),))

Document = dict[str, Any]


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def the_job(*, status: Document | None = None, **metadata: Any) -> Document:
    """Our own manifest with what the API server and the Job controller add to it."""
    decided = active(name=metadata.get("name", JOB), attempt=2, base_instant="20260310110000000")
    document = copy.deepcopy(build_manifest(observe(table(), table_class=table_class()), decided, default_image=IMAGE))
    document["metadata"] |= {
        "uid": JOB_UID,
        "resourceVersion": "1234",
        "generation": 1,
        "creationTimestamp": stamp(CREATED),
        **metadata,
    }
    document["status"] = status if status is not None else {"active": 1, "startTime": stamp(CREATED), "ready": 0}
    return document


def finished(kind: str, reason: str, message: str = "") -> Document:
    goal = {"Complete": "SuccessCriteriaMet", "Failed": "FailureTarget"}[kind]
    moment = stamp(NOW)
    conditions = [
        {"type": each, "status": "True", "reason": reason, "message": message, "lastTransitionTime": moment}
        for each in (goal, kind)
    ]
    return {"conditions": conditions, "startTime": stamp(CREATED), "uncountedTerminatedPods": {}}


COMPLETE = finished("Complete", "CompletionsReached", "Reached expected number of succeeded pods")
FAILED = finished("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit")
TOO_SLOW = finished("Failed", "DeadlineExceeded", "Job was active longer than specified deadline")


def the_pod(
    phase: str = "Running",
    *,
    name: str = f"{JOB}-x7k2p",
    state: Document | None = None,
    conditions: list[Document] | None = None,
    job_uid: str = JOB_UID,
    role: str = "driver",
    deleted: bool = False,
    **status: Any,
) -> Document:
    container = {
        "name": role,
        "image": IMAGE,
        "imageID": "",
        "ready": phase == "Running",
        "restartCount": 0,
        "started": phase == "Running",
        "state": state if state is not None else {"running": {"startedAt": stamp(CREATED)}},
        "lastState": {},
    }
    labels = {
        "batch.kubernetes.io/controller-uid": job_uid,
        "batch.kubernetes.io/job-name": JOB,
        "controller-uid": job_uid,
        "job-name": JOB,
        "hudi-operator.io/role": role,
        "hudi-operator.io/service": "Ingestion",
    }
    return {
        "metadata": {
            "name": name,
            "namespace": "team-a",
            "labels": labels,
            "uid": f"uid-of-{name}",
            "creationTimestamp": stamp(CREATED + timedelta(seconds=1)),
            **({"deletionTimestamp": stamp(NOW)} if deleted else {}),
        },
        "spec": {"containers": [{"name": role, "image": IMAGE}]},
        "status": {
            "phase": phase,
            "conditions": conditions or [],
            "containerStatuses": [container] if state != {} else [],
            "qosClass": "Burstable",
            **status,
        },
    }


def waiting(reason: str, message: str = "") -> Document:
    return the_pod("Pending", state={"waiting": {"reason": reason, "message": message}})


def terminated(code: int, word: str, message: str = "", **status: Any) -> Document:
    state = {
        "terminated": {
            "exitCode": code,
            "reason": word,
            "message": message,
            "startedAt": stamp(CREATED),
            "finishedAt": stamp(NOW),
            "containerID": "containerd://0123",
        }
    }
    return the_pod("Succeeded" if code == 0 else "Failed", state=state, **status)


UNSCHEDULABLE = the_pod(
    "Pending",
    state={},
    conditions=[
        {
            "type": "PodScheduled",
            "status": "False",
            "reason": "Unschedulable",
            "message": "0/1 nodes are available: 1 Insufficient memory.",
        }
    ],
)
SCHEDULING_GATED = the_pod(
    "Pending", state={}, conditions=[{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
)
EVICTED = the_pod(
    "Failed",
    state={},
    reason="Evicted",
    message="The node was low on resource: memory.",
    conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "TerminationByKubelet"}],
)
DRAINED = terminated(
    143,
    "Error",
    conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI"}],
)

CUT_OFF = the_pod(
    deleted=True,
    conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}],
)
CANNOT_BE_TOLD = the_pod("Unknown", deleted=True, reason="NodeLost", message="Node a which was running pod b is lost")
COLLECTED = the_pod(
    "Failed",
    state={},
    deleted=True,
    conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByPodGC"}],
)
CAME_BACK = terminated(
    143,
    "Error",
    conditions=[{"type": "DisruptionTarget", "status": "True", "reason": "DeletionByTaintManager"}],
)


BEHIND_INIT = waiting("PodInitializing")
BEHIND_INIT["status"]["initContainerStatuses"] = [
    {
        "name": "istio-init",
        "image": "istio",
        "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 20s"}},
    }
]
INIT_WITHOUT_IMAGE = waiting("PodInitializing")
INIT_WITHOUT_IMAGE["status"]["initContainerStatuses"] = [
    {"name": "istio-init", "image": "istio", "state": {"waiting": {"reason": "ImagePullBackOff"}}}
]
INIT_FAILED = the_pod("Failed", state={"waiting": {"reason": "PodInitializing"}})
INIT_FAILED["status"]["initContainerStatuses"] = [
    {"name": "istio-init", "image": "istio", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}}
]


def beside(phase: str, other: Document, *, own: Document | None = None, role: str = "driver") -> Document:
    """A pod with an injected container beside ours."""
    pod = the_pod(phase, state=own, role=role, name=f"{JOB}-exec-1" if role == "executor" else f"{JOB}-x7k2p")
    container = {"name": "istio-proxy", "image": "istio", "ready": True, "restartCount": 0, "state": other}
    pod["status"]["containerStatuses"].insert(0, container)
    return pod


def left_by(
    *,
    seconds: int,
    code: int = 0,
    word: str = "Completed",
    native: bool = False,
    phase: str = "Running",
    role: str = "driver",
) -> Document:
    """A pod of which our container ended so many seconds ago, and an injected one runs on."""
    ended_at = stamp(NOW - timedelta(seconds=seconds))
    own = {"terminated": {"exitCode": code, "reason": word, "message": encode_outcome(OUTCOME), "finishedAt": ended_at}}
    pod = beside(phase, {"running": {"startedAt": stamp(CREATED)}}, own=own, role=role)
    if native:
        pod["status"]["initContainerStatuses"] = [pod["status"]["containerStatuses"].pop(0)]
    return pod


def executor(phase: str = "Running", *, number: int = 1, **changes: Any) -> Document:
    return the_pod(phase, role="executor", name=f"{JOB}-exec-{number}", **changes)


def ended_executor(word: str) -> Document:
    state = {"terminated": {"exitCode": 1, "reason": word, "finishedAt": stamp(NOW)}}
    return executor("Failed", state=state)


def suspended(*, suspend: bool = True) -> Document:
    job = the_job(status={"conditions": [{"type": "Suspended", "status": "True", "reason": "JobSuspended"}]})
    job["spec"]["suspend"] = suspend
    return job


def view(
    *documents: Document, at: datetime = NOW, words: Mapping[str, str] = MappingProxyType({})
) -> tuple[JobObservation, ...]:
    jobs = [one for one in documents if one.get("kind") == "Job"]
    pods = [one for one in documents if one.get("kind") != "Job"]
    return observe_jobs(jobs, pods, table="team-a/flights", now=at, words=words)


def seen(*documents: Document, at: datetime = NOW) -> tuple[str, str | None]:
    (found,) = view(*documents, at=at)
    return found.phase.value, found.trouble.value if found.trouble else None
