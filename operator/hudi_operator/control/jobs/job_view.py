"""Converts the documents of Jobs and pods, which may hold anything, to observations. Pure.

A run has ended when none of its drivers and executors runs any more. Executors belong to the run whose name prefixes
theirs, as Spark names them.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType

from hudi_jobs.contract import (
    TERMINATION_MESSAGE_LIMIT,
    JobOutcome,
    Service,
    UnreadableOutcome,
    decode_outcome,
    task_id,
)
from hudi_jobs.contract.pods import EXECUTORS_REFUSED_ANNOTATION
from hudi_jobs.contract.wording import listed, shortened
from hudi_operator.api.values.base import parse_quantity
from hudi_operator.control.jobs.event_words import Words
from hudi_operator.control.jobs.pod_view import (
    Wait,
    end_trouble,
    executor_wait,
    has_started,
    may_have_run,
    only_others_run,
    pod_has_ended,
    pod_wait,
    ran_since,
    ran_until,
    started_at,
    terminated_of,
    was_seen_to_end,
)
from hudi_operator.control.jobs.running import POD_NAME_LIMIT, UID_LIMIT
from hudi_operator.jobs.manifest import DRIVER_CONTAINER
from hudi_operator.jobs.names import (
    ATTEMPT_ANNOTATION,
    BASE_INSTANT_ANNOTATION,
    CONTINUOUS_ANNOTATION,
    DECIDED_AT_ANNOTATION,
    EXECUTOR_TEMPLATE_ANNOTATION,
    GENERATION_ANNOTATION,
    IMAGE_ANNOTATION,
    OWNING_JOB_NAME,
    OWNING_JOB_UID,
    QUEUE_LABEL,
    ROLE_LABEL,
    SERVICE_LABEL,
    run_of_executor,
)
from hudi_operator.kube.objects import Document, field, items, part, text, whole_number
from hudi_operator.planning.model import JobObservation, JobPhase, PodReference, PodTrouble
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.runtime.informer import job_has_ended

_NAME_LIMIT = 63
_QUANTITY_LIMIT = 32
_FINGERPRINT_LIMIT = 64
_INSTANT_LIMIT = 32
_EXECUTORS_SHOWN = 3
_EXECUTORS_REMOVED = 100
"""The most executors of a run to remove in a reconcile; the next reconcile takes the rest."""

_JOB_CONTROLLER = "kubernetes.io/job-controller"

_GREATEST = 2**53
"""The greatest integer that every JSON reader preserves."""

_LET_GO = timedelta(minutes=1)
"""How long a deleted Job without pods counts as ending; after that, finalizers may keep it, but nothing runs."""


_NO_WORDS: Words = MappingProxyType({})


def observe_jobs(
    jobs: Iterable[Document], pods: Iterable[Document], *, table: str, now: datetime, words: Words = _NO_WORDS
) -> tuple[JobObservation, ...]:
    """Return the observation of each Job of a table, oldest first.

    A driver or executor that outlives its Job counts as an ending Job: no other run may start meanwhile. `words` are
    what Events say about the objects that an earlier observation asks about.
    """
    drivers: dict[str, list[Document]] = {}
    executors: dict[str, list[Document]] = {}
    for pod in pods:
        role = text(pod, "metadata", "labels", ROLE_LABEL)
        if role == "driver":
            drivers.setdefault(_job_uid(pod), []).append(pod)
        elif role == "executor" and not (pod_has_ended(pod) and was_seen_to_end(pod)):
            executors.setdefault(_run_of(pod), []).append(pod)
    observed = [
        _observe(job, drivers.pop(_uid(job), []), executors.pop(_name(job), []), words, table=table, now=now)
        for job in jobs
    ]
    for pod in (pod for left in drivers.values() for pod in _not_ended(left)):
        executors.pop(_run_of(pod), None)  # executors of a running driver
        observed.append(_orphan(pod, table=table, now=now))
    living = (_not_ended(left) for left in executors.values())
    observed += [_orphan(left[0], executors=left, table=table, now=now) for left in living if left]
    return tuple(sorted(observed, key=lambda job: (job.created_at, job.name)))


def _run_of(pod: Document) -> str:
    return text(pod, "metadata", "labels", OWNING_JOB_NAME, limit=_NAME_LIMIT) or run_of_executor(_name(pod))


def _observe(
    job: Document, pods: list[Document], executors: list[Document], words: Words, *, table: str, now: datetime
) -> JobObservation:
    """Return the observation of a Job; `executors` are the run's executors not known to have ended.

    With two drivers, one driver's report does not cover the whole run, so only the timeline counts.
    """
    created_at = _created_at(job, now=now)
    waiting_since = max(created_at, parse_time(text(job, "status", "startTime")) or created_at)
    left = [] if _not_ended(pods) else _not_ended(executors)
    had_others = _may_have_had_others(job)
    phase = _phase(job, pods, left, now=now)
    trouble, message = _trouble(job, pods, phase=phase)
    wait = Wait()
    if phase is JobPhase.STARTING and trouble is None:
        wait = pod_wait(pods, job_uid=_uid(job), age=now - waiting_since, words=words)
    if phase is JobPhase.RUNNING and trouble is None:
        notes = [part(pod, "metadata", "annotations") for pod in pods]
        wait = executor_wait(
            executors,
            driver_started_at=started_at(pods),
            now=now,
            words=words,
            in_cluster=any(EXECUTOR_TEMPLATE_ANNOTATION in each for each in notes),
            refusal=next(filter(None, (text(each, EXECUTORS_REFUSED_ANNOTATION) for each in notes)), ""),
        )
    if phase is JobPhase.SUSPENDED:
        message = _held_message(text(job, "metadata", "labels", QUEUE_LABEL))
    template = _driver(items(job, "spec", "template", "spec", "containers"))
    terminated = _terminated(pods)
    annotations = part(job, "metadata", "annotations")
    decided_at = parse_time(text(annotations, DECIDED_AT_ANNOTATION))
    return JobObservation(
        name=_name(job),
        uid=_uid(job),
        service=_service(job),
        task_id=_task_id(table, job),
        attempt=whole_number(annotations, ATTEMPT_ANNOTATION) or 1,
        created_at=created_at,
        waiting_since=waiting_since,
        held_version=_held_version(job) if phase is JobPhase.SUSPENDED else None,
        phase=phase,
        image=text(annotations, IMAGE_ANNOTATION) or text(template, "image") or "",
        base_instant=_instant(text(annotations, BASE_INSTANT_ANNOTATION, limit=_INSTANT_LIMIT)),
        decided_at=format_time(decided_at) if decided_at else None,
        generation=whole_number(annotations, GENERATION_ANNOTATION),
        class_version=text(annotations, CONTINUOUS_ANNOTATION, limit=_FINGERPRINT_LIMIT),
        driver_memory=_quantity(text(template, "resources", "limits", "memory", limit=_QUANTITY_LIMIT)),
        outcome=_outcome(terminated) if sum(map(may_have_run, pods)) == 1 else None,
        trouble=trouble or wait.trouble,
        message=message or wait.message or _executors_message(left),
        asks=wait.asks,
        asks_since=wait.asks_since,
        executors_wait_since=wait.since,
        started_at=ran_since(pods),
        ended_at=ran_until(pods),
        exit_code=whole_number(terminated, "exitCode"),
        remains=phase is JobPhase.OVER and not job_has_ended(job) and not _is_deleted(job),
        seen_to_end=phase is JobPhase.OVER and bool(pods) and all(map(was_seen_to_end, (*pods, *executors))),
        had_others=had_others,
        has_run=any(map(may_have_run, pods)) or bool(executors) or had_others,
        pods=tuple(map(_name, pods)),
        executors=_references(left),
    )


def _held_message(queue: str | None) -> str:
    if queue is None:
        return "A queue holds the Job (spec.suspend): it starts when the queue admits it."
    return (
        f"The queue {shortened(queue, _NAME_LIMIT)} holds the Job (spec.suspend): it starts when Kueue admits it. See "
        "the LocalQueue, and the Workload of the Job."
    )


def _orphan(pod: Document, *, executors: Sequence[Document] = (), table: str, now: datetime) -> JobObservation:
    return JobObservation(
        name=_run_of(pod),
        uid=_job_uid(pod),
        service=_service(pod),
        task_id=_task_id(table, pod),
        attempt=1,
        created_at=_created_at(pod, now=now),
        phase=JobPhase.ENDING,
        image=text(_driver(items(pod, "spec", "containers")), "image") or "",
        message=_executors_message(executors),
        has_run=may_have_run(pod) or bool(executors),
        executors=_references(executors),
    )


def _phase(job: Document, pods: list[Document], executors: list[Document], *, now: datetime) -> JobPhase:
    running = _not_ended(pods)
    deleted = _is_deleted(job)
    if running and not (deleted or job_has_ended(job) or _is_suspended(job)):
        return JobPhase.RUNNING if any(map(has_started, running)) else JobPhase.STARTING
    if running or executors:
        return JobPhase.ENDING
    if job_has_ended(job):
        return JobPhase.OVER
    if _is_suspended(job) and not deleted:
        return JobPhase.SUSPENDED
    kept = bool(pods) and not deleted and any(only_others_run(pod, now=now) for pod in pods)
    if kept or (deleted and not pods and _was_let_go(job, now=now)):
        return JobPhase.OVER
    return JobPhase.ENDING if pods or deleted or _has_had_pod(job) else JobPhase.STARTING


def _has_had_pod(job: Document) -> bool:
    """Whether the Job controller knows of a pod, even a deleted pod. Only the Job's counters tell until it ends.

    A pod deleted by force is gone before its Job fails. Its program did start.
    """
    status = part(job, "status")
    counted = (whole_number(status, one) for one in ("active", "terminating", "succeeded", "failed"))
    uncounted = part(status, "uncountedTerminatedPods")
    return any(counted) or any(uncounted.get(one) for one in ("succeeded", "failed"))


def _not_ended(pods: Iterable[Document]) -> list[Document]:
    return [pod for pod in pods if not pod_has_ended(pod)]


def _was_let_go(job: Document, *, now: datetime) -> bool:
    deleted_at = parse_time(text(job, "metadata", "deletionTimestamp"))
    return deleted_at is None or now - deleted_at > _LET_GO


def _is_suspended(job: Document) -> bool:
    """Whether a queue suspends the Job: until the spec says otherwise and the Job controller has noticed."""
    started = field(job, "status", "startTime")
    return bool(field(job, "spec", "suspend")) or (not started and _condition(job, "Suspended") is not None)


def _held_version(job: Document) -> str | None:
    """Return the version of a suspended Job that never ran, or None; `generation` counts every change of its spec.

    Another controller (`spec.managedBy`) may run a copy of a Job that it leaves suspended, as MultiKueue does in
    another cluster.
    """
    is_new = field(job, "spec", "suspend") is True and whole_number(part(job, "metadata"), "generation") == 1
    manager = field(job, "spec", "managedBy")
    is_ours = manager in (None, _JOB_CONTROLLER) and not field(job, "status", "startTime") and not _has_had_pod(job)
    return text(job, "metadata", "resourceVersion") if is_new and is_ours else None


def _may_have_had_others(job: Document) -> bool:
    """Whether earlier pods of the Job may have run: a queue that takes a Job back leaves no trace of them.

    `generation` counts the deletion and every change of the spec; a queue releases a new Job, or holds it, with a
    single change.
    """
    generation = whole_number(part(job, "metadata"), "generation")
    return generation is None or generation - _is_deleted(job) > 2  # a Job without a queue stays at 1


def _trouble(job: Document, pods: list[Document], *, phase: JobPhase) -> tuple[PodTrouble | None, str]:
    failed = _condition(job, "Failed")
    if failed is not None and failed.get("reason") == "DeadlineExceeded":
        return PodTrouble.DEADLINE_EXCEEDED, "The run took longer than its deadline and was ended."
    troubles = (end_trouble(pod) for pod in pods if phase is not JobPhase.SUSPENDED)
    return next((found for found in troubles if found[0] is not None), (None, ""))


def _references(executors: Iterable[Document]) -> tuple[PodReference, ...]:
    """Return the executors that are not being deleted."""
    wanted = [pod for pod in executors if not _is_deleted(pod)]
    return tuple(PodReference(name=_name(one), uid=_uid(one)) for one in wanted[:_EXECUTORS_REMOVED])


def _executors_message(executors: Sequence[Document]) -> str:
    if not executors:
        return ""
    names = listed(list(map(_name, executors)), _EXECUTORS_SHOWN)
    return (
        f"The driver has ended, but executors still run: {names}. They are asked to end; for an executor on a lost "
        "node, repair the node or delete it from the cluster."
    )


def _terminated(pods: Iterable[Document]) -> Document:
    return next((found for pod in pods if (found := terminated_of(pod))), {})


def _outcome(terminated: Document) -> JobOutcome | None:
    try:
        outcome = decode_outcome(text(terminated, "message", limit=TERMINATION_MESSAGE_LIMIT) or "")
    except UnreadableOutcome:
        return None
    return outcome if all(_is_bounded(result) for result in outcome.results) else None


def _is_bounded(result: object) -> bool:
    """Whether all numbers and names of a result fit into a status."""
    values = vars(result)
    figures = (value for value in values.values() if isinstance(value, int))
    return all(0 <= figure <= _GREATEST for figure in figures) and len(values["instant"] or "") <= _INSTANT_LIMIT


def _driver(containers: Sequence[Document]) -> Document:
    return next((one for one in containers if one.get("name") == DRIVER_CONTAINER), next(iter(containers), {}))


def _condition(job: Document, kind: str) -> Document | None:
    conditions = items(job, "status", "conditions")
    return next((one for one in conditions if text(one, "type") == kind and one.get("status") == "True"), None)


def _name(document: Document) -> str:
    return text(document, "metadata", "name", limit=POD_NAME_LIMIT) or ""


def _uid(document: Document) -> str:
    return text(document, "metadata", "uid", limit=UID_LIMIT) or ""


def _job_uid(pod: Document) -> str:
    return text(pod, "metadata", "labels", OWNING_JOB_UID, limit=UID_LIMIT) or ""


def _is_deleted(document: Document) -> bool:
    return bool(field(document, "metadata", "deletionTimestamp"))


def _created_at(document: Document, *, now: datetime) -> datetime:
    return parse_time(text(document, "metadata", "creationTimestamp")) or now


def _service(document: Document) -> Service | None:
    """Return the service of a Job, or None if only a later version of the operator knows it."""
    value = text(document, "metadata", "labels", SERVICE_LABEL)
    return Service(value) if value in set(Service) else None


def _task_id(table: str, document: Document) -> str:
    return task_id(table, text(document, "metadata", "labels", SERVICE_LABEL) or "")


def _instant(value: str | None) -> str | None:
    return value if value and value.isascii() and value.isdecimal() else None


def _quantity(value: str | None) -> str | None:
    """Return an amount of memory if valid: it is compared with the class's limits."""
    try:
        return value if value is None or parse_quantity(value) >= 0 else None
    except ValueError:
        return None
