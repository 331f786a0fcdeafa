"""Says what keeps the pods of a Job from starting, in the words of the API server. Pure.

A pod says itself why no node holds it or why its image cannot be pulled. Where pods are missing, or a volume is, only
Events say why: each answer names the object whose Events would.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_operator.control.jobs.pod_view import has_started, own_container, pod_condition, sentence
from hudi_operator.kube.objects import Document, field, items, part, text
from hudi_operator.planning.model import PodTrouble
from hudi_operator.planning.model.times import parse_time

POD_GRACE = timedelta(seconds=20)
"""How long to say nothing about a missing or waiting pod; later, a missing pod counts as refused."""

_DRIVER_GRACE = timedelta(seconds=30)
"""How long to say nothing about a driver without executors: it starts its session first."""

_NO_EXECUTOR = (
    "No pod of an executor exists. The API server may refuse such pods (quota, limits, admission, Pod Security), or "
    "they end at once: the driver's log has the API server's words."
)

NOT_ALLOWED = "The operator may not read the Events that say why."

Words = Mapping[str, str]
"""The newest Warning about an object by its uid; empty where nothing was said, `NOT_ALLOWED` without the right."""

_GATES_SHOWN = 3

_WAITING = {
    "ErrImagePull": PodTrouble.IMAGE_PULL_FAILED,
    "ImagePullBackOff": PodTrouble.IMAGE_PULL_FAILED,
    "InvalidImageName": PodTrouble.IMAGE_PULL_FAILED,
    "ErrImageNeverPull": PodTrouble.IMAGE_PULL_FAILED,
    "ImageInspectError": PodTrouble.IMAGE_PULL_FAILED,
    "RegistryUnavailable": PodTrouble.IMAGE_PULL_FAILED,
    "SignatureValidationFailed": PodTrouble.IMAGE_PULL_FAILED,
    "CreateContainerConfigError": PodTrouble.CONFIGURATION,
    "CreateContainerError": PodTrouble.CONFIGURATION,
    "RunContainerError": PodTrouble.CONFIGURATION,
}


@dataclass(frozen=True, kw_only=True)
class Wait:
    """What a Job waits for; `asks` is the uid of the object whose Events would say more."""

    trouble: PodTrouble | None = None
    message: str = ""
    asks: str = ""
    since: datetime | None = None


def pod_wait(pods: Sequence[Document], *, job_uid: str, age: timedelta, words: Words) -> Wait:
    """Return what prevents a Job's pods from starting; after a grace period, whatever is known about them."""
    told = [(pod, trouble, said) for pod in pods for trouble, said in _blockers(pod)]
    for _, trouble, said in told:
        if trouble is not None:
            return Wait(trouble=trouble, message=said)
    if age <= POD_GRACE:
        return Wait()
    if not pods:
        message = _with_words("no pod could be created.", words.get(job_uid, ""))
        return Wait(trouble=PodTrouble.FORBIDDEN, message=message, asks=job_uid)
    pod, _, said = next(iter(told), (pods[0], None, ""))
    uid = text(pod, "metadata", "uid") or ""
    return Wait(message=_with_words(said, words.get(uid, "")), asks=uid)


def executor_wait(
    executors: Sequence[Document],
    *,
    driver_started_at: datetime | None,
    now: datetime,
    words: Words,
    in_cluster: bool = False,
) -> Wait:
    """Return what the executors of a running driver wait for; a trouble only where none of them has started.

    A driver `in_cluster` mode without any executor is no trouble: it may have lost its executors a moment ago.
    """
    if in_cluster and not executors:
        is_late = driver_started_at is not None and now - driver_started_at > _DRIVER_GRACE
        return Wait(message=_NO_EXECUTOR if is_late else "")
    waiting = [pod for pod in executors if not has_started(pod)]
    created = [moment for pod in waiting if (moment := parse_time(text(pod, "metadata", "creationTimestamp")))]
    if not created:
        return Wait()
    found = pod_wait(waiting, job_uid="", age=now - min(created), words=words)
    if not found.message:
        return Wait()
    none = len(waiting) == len(executors)
    who = "No executor has started" if none else f"{len(waiting)} of {len(executors)} executors have not started"
    return Wait(
        trouble=PodTrouble.EXECUTORS_WAITING if none else None,
        message=sentence(f"{who}: {found.message}"),
        asks=found.asks,
        since=max(min(created), driver_started_at or min(created)),
    )


def newest_words(events: Iterable[Document]) -> str:
    """Return the message of the newest Event."""

    def moment(event: Document) -> str:
        return text(event, "lastTimestamp") or text(event, "eventTime") or text(event, "firstTimestamp") or ""

    newest = max(events, key=moment, default=None)
    return text(newest, "message") or ""


def _with_words(known: str, words: str) -> str:
    return sentence(f"{known.rstrip('. ')}: {words}" if words and words != NOT_ALLOWED else f"{known} {words}".strip())


def _blockers(pod: Document) -> Iterator[tuple[PodTrouble | None, str]]:
    own = own_container(pod)
    for container in (*items(pod, "status", "initContainerStatuses"), *([own] if own else ())):
        if field(container, "state", "waiting") is not None:
            yield _waiting(container, part(container, "state", "waiting"))
    scheduled = pod_condition(pod, "PodScheduled", status="False")
    if scheduled is not None:
        gates = ", ".join(str(gate.get("name")) for gate in items(pod, "spec", "schedulingGates")[:_GATES_SHOWN])
        unschedulable = scheduled.get("reason") == "Unschedulable"
        why = f"its scheduling gates hold it: {gates}" if gates else text(scheduled, "message") or "no node fits"
        yield (PodTrouble.UNSCHEDULABLE if unschedulable else None), sentence(why)
    elif pod_condition(pod, "PodScheduled") is None:
        yield None, "its pod has not been scheduled."
    else:
        yield None, "its node has not started its containers."


def _waiting(container: Document, waiting: Document) -> tuple[PodTrouble | None, str]:
    reason = text(waiting, "reason") or ""
    trouble = _WAITING.get(reason)
    if trouble is PodTrouble.IMAGE_PULL_FAILED:
        return trouble, sentence(f"image {text(container, 'image')} cannot be pulled")
    if trouble is not None:
        return trouble, sentence(text(waiting, "message") or reason)
    details = ": ".join(one for one in (reason, text(waiting, "message")) if one)
    return None, sentence(f"container {text(container, 'name')} waits: {details or 'no reason given'}")
