"""Jobs and pods as the decision sees them: a pure reading of their documents, in which nothing is trusted to be short.

A run has ended when none of its drivers and executors runs any more. Executors belong to the run that their name begins
with, which is how Spark names them.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from hudi_jobs.contract import JobOutcome, Service, UnreadableOutcome, decode_outcome
from hudi_operator.control.pod_view import (
    end_trouble,
    has_started,
    only_others_run,
    pod_has_ended,
    start_trouble,
    terminated_of,
)
from hudi_operator.jobs.manifest import DRIVER_CONTAINER
from hudi_operator.jobs.names import (
    ATTEMPT_ANNOTATION,
    BASE_INSTANT_ANNOTATION,
    DECIDED_AT_ANNOTATION,
    GENERATION_ANNOTATION,
    ROLE_LABEL,
    SERVICE_LABEL,
)
from hudi_operator.planning.model import JobObservation, JobPhase, PodReference, PodTrouble
from hudi_operator.planning.times import format_time, parse_time

Document = Mapping[str, Any]

_JOB_NAME_LABEL = "batch.kubernetes.io/job-name"
_JOB_UID_LABEL = "batch.kubernetes.io/controller-uid"
_EXECUTOR = "-exec-"  # between the run and the number in the name of an executor's pod (Spark's ExecutorPodsAllocator)

_NAME_LIMIT = 63
_INSTANT_LIMIT = 32
_EXECUTORS_SHOWN = 3
_EXECUTORS_REMOVED = 100
"""Most executors of a run that one look removes; the next look takes the others."""

_GREATEST = 2**53
"""Greatest number that every reader of JSON keeps."""


def observe_jobs(jobs: Iterable[Document], pods: Iterable[Document], *, now: datetime) -> tuple[JobObservation, ...]:
    """Return what is known about each Job of a table, oldest first.

    A driver or executor that outlives its Job counts as a Job that is ending: while it runs, no other may start.
    """
    drivers: dict[str, list[Document]] = {}
    executors: dict[str, list[Document]] = {}
    for pod in pods:
        role = _labels(pod).get(ROLE_LABEL)
        if role == "driver":
            drivers.setdefault(_labels(pod).get(_JOB_UID_LABEL, ""), []).append(pod)
        elif role == "executor" and not pod_has_ended(pod):
            executors.setdefault(_run_of(pod), []).append(pod)
    observed = [
        _observe(
            job,
            drivers.pop(job["metadata"]["uid"], []),
            executors.pop(job["metadata"]["name"], []),
            now=now,
        )
        for job in jobs
    ]
    for pod in (pod for left in drivers.values() for pod in left if not pod_has_ended(pod)):
        executors.pop(_run_of(pod), None)  # its own, as long as it runs
        observed.append(_orphan(pod, now=now))
    observed += [_orphan(left[0], executors=left, now=now) for left in executors.values()]
    return tuple(sorted(observed, key=lambda job: (job.created_at, job.name)))


def _run_of(pod: Document) -> str:
    name = str(pod["metadata"]["name"])
    return _labels(pod).get(_JOB_NAME_LABEL) or (name.rpartition(_EXECUTOR)[0] or name)[:_NAME_LIMIT]


def _observe(job: Document, pods: list[Document], executors: list[Document], *, now: datetime) -> JobObservation:
    metadata = job["metadata"]
    created_at = parse_time(metadata.get("creationTimestamp")) or now
    waiting_since = max(created_at, parse_time((job.get("status") or {}).get("startTime")) or created_at)
    left = executors if all(map(pod_has_ended, pods)) else []
    phase = _phase(job, pods, left, now=now)
    trouble, message = _trouble(job, pods, phase=phase)
    if phase is JobPhase.STARTING and trouble is None:
        trouble, message = start_trouble(pods, age=now - waiting_since)
    if phase is JobPhase.SUSPENDED:
        message = "A queue holds the Job (spec.suspend): it starts when the queue lets it."
    template = _driver(job["spec"]["template"]["spec"]["containers"])
    terminated = _terminated(pods)
    annotations = metadata.get("annotations") or {}
    decided_at = parse_time(annotations.get(DECIDED_AT_ANNOTATION))
    memory = ((template.get("resources") or {}).get("limits") or {}).get("memory")
    return JobObservation(
        name=metadata["name"],
        uid=metadata["uid"],
        service=_service(_labels(job)),
        attempt=_number(annotations.get(ATTEMPT_ANNOTATION)) or 1,
        created_at=created_at,
        waiting_since=waiting_since,
        phase=phase,
        image=template.get("image", ""),
        base_instant=_instant(annotations.get(BASE_INSTANT_ANNOTATION)),
        decided_at=format_time(decided_at) if decided_at else None,
        generation=_number(annotations.get(GENERATION_ANNOTATION)),
        driver_memory=memory if memory is None or len(memory) <= _INSTANT_LIMIT else None,
        outcome=_outcome(terminated),
        trouble=trouble,
        message=message or _executors_message(left),
        exit_code=terminated.get("exitCode"),
        remains=phase is JobPhase.OVER and not _is_over(job) and not metadata.get("deletionTimestamp"),
        executors=_references(left),
    )


def _orphan(pod: Document, *, executors: Sequence[Document] = (), now: datetime) -> JobObservation:
    labels = _labels(pod)
    return JobObservation(
        name=_run_of(pod),
        uid=labels.get(_JOB_UID_LABEL, ""),
        service=_service(labels),
        attempt=1,
        created_at=parse_time(pod["metadata"].get("creationTimestamp")) or now,
        phase=JobPhase.ENDING,
        image=pod["spec"]["containers"][0].get("image", ""),
        message=_executors_message(executors),
        executors=_references(executors),
    )


def _phase(job: Document, pods: list[Document], executors: list[Document], *, now: datetime) -> JobPhase:
    running = [pod for pod in pods if not pod_has_ended(pod)]
    deleted = bool(job["metadata"].get("deletionTimestamp"))
    if running and not (deleted or _is_over(job) or _is_suspended(job)):
        return JobPhase.RUNNING if any(map(has_started, running)) else JobPhase.STARTING
    if running or executors:
        return JobPhase.ENDING
    if _is_over(job):
        return JobPhase.OVER
    if _is_suspended(job) and not deleted:
        return JobPhase.SUSPENDED
    if pods and any(only_others_run(pod, now=now) for pod in pods) and not deleted:
        return JobPhase.OVER
    return JobPhase.ENDING if pods or deleted else JobPhase.STARTING


def _is_over(job: Document) -> bool:
    return _condition(job, "Complete", "Failed") is not None


def _is_suspended(job: Document) -> bool:
    """Whether a queue holds a Job: until it says otherwise, and until the Job controller has heard of that."""
    started = (job.get("status") or {}).get("startTime")
    return bool(job["spec"].get("suspend")) or (not started and _condition(job, "Suspended") is not None)


def _trouble(job: Document, pods: list[Document], *, phase: JobPhase) -> tuple[PodTrouble | None, str]:
    failed = _condition(job, "Failed")
    if failed is not None and failed.get("reason") == "DeadlineExceeded":
        return PodTrouble.DEADLINE_EXCEEDED, "The run took longer than its deadline and was ended."
    troubles = (end_trouble(pod) for pod in pods if phase is not JobPhase.SUSPENDED)
    return next((found for found in troubles if found[0] is not None), (None, ""))


def _references(executors: Iterable[Document]) -> tuple[PodReference, ...]:
    """Return the executors that nobody has told to end."""
    wanted = [pod["metadata"] for pod in executors if not pod["metadata"].get("deletionTimestamp")]
    return tuple(PodReference(name=one["name"], uid=one["uid"]) for one in wanted[:_EXECUTORS_REMOVED])


def _executors_message(executors: Sequence[Document]) -> str:
    if not executors:
        return ""
    names = ", ".join(str(pod["metadata"]["name"]) for pod in executors[:_EXECUTORS_SHOWN])
    more = f" and {len(executors) - _EXECUTORS_SHOWN} more" if len(executors) > _EXECUTORS_SHOWN else ""
    return (
        f"The driver has ended, and executors still run: {names}{more}. They are told to end; for one on a lost node, "
        "repair the node or delete it from the cluster."
    )


def _terminated(pods: Iterable[Document]) -> Document:
    return next((found for pod in pods if (found := terminated_of(pod))), {})


def _outcome(terminated: Document) -> JobOutcome | None:
    try:
        outcome = decode_outcome(terminated.get("message") or "")
    except UnreadableOutcome:
        return None
    return outcome if all(_is_bounded(result) for result in outcome.results) else None


def _is_bounded(result: object) -> bool:
    """Whether all figures and names of a result fit into a status."""
    values = vars(result)
    figures = (value for value in values.values() if isinstance(value, int))
    return all(abs(figure) <= _GREATEST for figure in figures) and len(values["instant"] or "") <= _INSTANT_LIMIT


def _driver(containers: Sequence[Document]) -> Document:
    return next((one for one in containers if one.get("name") == DRIVER_CONTAINER), containers[0])


def _condition(job: Document, *kinds: str) -> Document | None:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return next((item for item in conditions if item["type"] in kinds and item["status"] == "True"), None)


def _labels(document: Document) -> Mapping[str, str]:
    return document["metadata"].get("labels") or {}


def _service(labels: Mapping[str, str]) -> Service:
    value = labels.get(SERVICE_LABEL, "")
    return Service(value) if value in set(Service) else Service.INGESTION


def _number(text: str | None) -> int | None:
    """Return a number from an annotation, which anybody may have written."""
    return int(text) if text and len(text) <= 15 and text.isascii() and text.isdecimal() else None


def _instant(text: str | None) -> str | None:
    return text if text and len(text) <= _INSTANT_LIMIT and text.isascii() and text.isdecimal() else None
