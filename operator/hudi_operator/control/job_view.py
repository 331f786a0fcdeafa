"""Jobs and pods as the decision sees them: a pure reading of their documents."""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

from hudi_jobs.contract import JobOutcome, Service, UnreadableOutcome, decode_outcome
from hudi_operator.jobs.manifest import DRIVER_CONTAINER
from hudi_operator.jobs.names import ATTEMPT_ANNOTATION, BASE_INSTANT_ANNOTATION, ROLE_LABEL, SERVICE_LABEL
from hudi_operator.planning.model import JobObservation, JobPhase, PodTrouble
from hudi_operator.planning.times import parse_time

Document = Mapping[str, Any]

_JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
_JOB_UID_LABEL = "batch.kubernetes.io/controller-uid"

_WAITING = {
    "ErrImagePull": PodTrouble.IMAGE_PULL_FAILED,
    "ImagePullBackOff": PodTrouble.IMAGE_PULL_FAILED,
    "InvalidImageName": PodTrouble.IMAGE_PULL_FAILED,
    "ErrImageNeverPull": PodTrouble.IMAGE_PULL_FAILED,
    "CreateContainerConfigError": PodTrouble.CONFIGURATION,
    "CreateContainerError": PodTrouble.CONFIGURATION,
}

_NODE_LOST = frozenset({"DeletionByPodGC", "DeletionByTaintManager"})
"""Reasons of the condition DisruptionTarget that stand for a node which is gone or silent."""

_MAY_RUN = frozenset({"Running", "Unknown"})
"""Phases of a pod whose driver may be at work; Unknown is told of one whose node does not report."""

_POD_GRACE = timedelta(seconds=20)
"""How long the Job controller may take to make a pod before its absence counts as refused."""


def observe_jobs(jobs: Iterable[Document], pods: Iterable[Document], *, now: datetime) -> tuple[JobObservation, ...]:
    """Return what is known about each Job of a table, oldest first.

    A driver's pod that outlives its Job counts as a Job that is ending: while it runs, no other may start.
    """
    drivers = [pod for pod in pods if _labels(pod).get(ROLE_LABEL) == "driver"]
    by_job: dict[str, list[Document]] = {}
    for pod in drivers:
        by_job.setdefault(_labels(pod).get(_JOB_UID_LABEL, ""), []).append(pod)
    observed = [_observe(job, by_job.pop(job["metadata"]["uid"], []), now=now) for job in jobs]
    observed += [_orphan(pod, now=now) for left in by_job.values() for pod in left if not pod_has_ended(pod)]
    return tuple(sorted(observed, key=lambda job: (job.created_at, job.name)))


def pod_has_ended(pod: Document) -> bool:
    """Whether all containers of a pod have ended for good; one on a node that does not report has not."""
    return (pod.get("status") or {}).get("phase") in {"Succeeded", "Failed"}


def _observe(job: Document, pods: list[Document], *, now: datetime) -> JobObservation:
    metadata = job["metadata"]
    created_at = parse_time(metadata.get("creationTimestamp")) or now
    phase = _phase(job, pods)
    trouble, message = _trouble(job, pods, phase=phase, age=now - created_at)
    template = job["spec"]["template"]["spec"]["containers"][0]
    terminated = _terminated(pods)
    annotations = metadata.get("annotations") or {}
    return JobObservation(
        name=metadata["name"],
        uid=metadata["uid"],
        service=_service(_labels(job)),
        attempt=_number(annotations.get(ATTEMPT_ANNOTATION)),
        created_at=created_at,
        phase=phase,
        image=template.get("image", ""),
        base_instant=annotations.get(BASE_INSTANT_ANNOTATION) or None,
        driver_memory=(template.get("resources") or {}).get("limits", {}).get("memory"),
        outcome=_outcome(terminated),
        trouble=trouble,
        message=message,
        exit_code=terminated.get("exitCode"),
    )


def _orphan(pod: Document, *, now: datetime) -> JobObservation:
    labels = _labels(pod)
    return JobObservation(
        name=labels.get(_JOB_NAME_LABEL, pod["metadata"]["name"]),
        uid=labels.get(_JOB_UID_LABEL, ""),
        service=_service(labels),
        attempt=1,
        created_at=parse_time(pod["metadata"].get("creationTimestamp")) or now,
        phase=JobPhase.ENDING,
        image=pod["spec"]["containers"][0].get("image", ""),
    )


def _phase(job: Document, pods: list[Document]) -> JobPhase:
    running = [pod for pod in pods if not pod_has_ended(pod)]
    if _job_condition(job, "Complete", "Failed") is not None:
        return JobPhase.ENDING if running else JobPhase.OVER
    if job["metadata"].get("deletionTimestamp"):
        return JobPhase.ENDING
    if any(pod["status"].get("phase") in _MAY_RUN for pod in running):
        return JobPhase.RUNNING
    return JobPhase.STARTING if running or not pods else JobPhase.ENDING


def _trouble(job: Document, pods: list[Document], *, phase: JobPhase, age: timedelta) -> tuple[PodTrouble | None, str]:
    failed = _job_condition(job, "Failed")
    if failed is not None and failed.get("reason") == "DeadlineExceeded":
        return PodTrouble.DEADLINE_EXCEEDED, "The run took longer than its deadline and was ended."
    if _terminated(pods).get("reason") == "OOMKilled":
        return PodTrouble.OUT_OF_MEMORY, "The driver's pod was killed for using more memory than its limit."
    for pod in pods:
        disruption = _pod_condition(pod, "DisruptionTarget") or {}
        if pod["status"].get("reason") == "NodeLost" or disruption.get("reason") in _NODE_LOST:
            return PodTrouble.NODE_LOST, "The driver's node is gone or does not report."
        if pod["status"].get("reason") == "Evicted" or disruption:
            return PodTrouble.EVICTED, "The driver's pod was evicted from its node."
    return _start_trouble(pods, age=age) if phase is JobPhase.STARTING else (None, "")


def _start_trouble(pods: list[Document], *, age: timedelta) -> tuple[PodTrouble | None, str]:
    if not pods:
        refused = age > _POD_GRACE
        return (PodTrouble.FORBIDDEN, "no pod could be created.") if refused else (None, "")
    for pod in pods:
        for container in pod["status"].get("containerStatuses") or ():
            waiting = (container.get("state") or {}).get("waiting") or {}
            trouble = _WAITING.get(waiting.get("reason", ""))
            if trouble is PodTrouble.IMAGE_PULL_FAILED:
                return trouble, f"image {container.get('image')} cannot be pulled."
            if trouble is not None:
                return trouble, _sentence(str(waiting.get("message") or waiting.get("reason")))
        scheduled = _pod_condition(pod, "PodScheduled", status="False")
        if scheduled is not None and scheduled.get("reason") == "Unschedulable":
            return PodTrouble.UNSCHEDULABLE, _sentence(scheduled.get("message") or "no node fits")
    return None, ""


def _sentence(text: str) -> str:
    return f"{text.rstrip('. ')}."


def _terminated(pods: list[Document]) -> Document:
    for pod in pods:
        for container in pod["status"].get("containerStatuses") or ():
            terminated: Document | None = (container.get("state") or {}).get("terminated")
            if container.get("name") == DRIVER_CONTAINER and terminated is not None:
                return terminated
    return {}


def _outcome(terminated: Document) -> JobOutcome | None:
    try:
        return decode_outcome(terminated.get("message") or "")
    except UnreadableOutcome:
        return None


def _job_condition(job: Document, *kinds: str) -> Document | None:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((item for item in conditions if item["type"] in kinds and item["status"] == "True"), None)


def _pod_condition(pod: Document, kind: str, *, status: str = "True") -> Document | None:
    conditions = pod["status"].get("conditions") or ()
    return next((item for item in conditions if item["type"] == kind and item["status"] == status), None)


def _labels(document: Document) -> Mapping[str, str]:
    return document["metadata"].get("labels") or {}


def _service(labels: Mapping[str, str]) -> Service:
    value = labels.get(SERVICE_LABEL, "")
    return Service(value) if value in set(Service) else Service.INGESTION


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() else 1
