"""Interprets a pod's status for the container of this operator: started, ended, or what keeps it from starting.

Other containers may have been injected, for example by a service mesh. They say nothing about the run, and may outlive
it: a pod is `Running` as long as any container runs, and `Pending` while any has never started. Documents may hold
anything.

A pod says itself why no node holds it or why its image cannot be pulled. Where pods are missing, or a volume is, only
Events say why: each answer names the object whose Events would.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_jobs.contract.wording import REDACTED, shortened
from hudi_operator.control.jobs.event_words import NOT_ALLOWED, Words, cause_of_pull
from hudi_operator.jobs.manifest import DRIVER_CONTAINER, EXECUTOR_CONTAINER
from hudi_operator.kube.objects import Document, field, items, part, text, whole_number
from hudi_operator.planning.model import PodTrouble
from hudi_operator.planning.model.times import parse_time

OURS = frozenset({DRIVER_CONTAINER, EXECUTOR_CONTAINER})
_SENTENCE_LIMIT = 400
_TEXT_LIMIT = 10_000
"""Characters of a text from outside that are looked at."""

_URL_USER = re.compile(r"(?<=://)[^\s/@\"?]+(?=@)")
_URL_QUERY = re.compile(r"(\bhttps?://[^\s?\"]{1,2000})\?[^\s\"]+")

_NEVER_RAN = frozenset({"StartError", "ContainerCannotRun"})
"""Reasons of a terminated container with a program that never started (kubelet, containerd)."""

_NODE_LOST = frozenset({"DeletionByPodGC", "DeletionByTaintManager"})
"""Reasons of the condition DisruptionTarget that mean a lost or silent node."""

_TOLD = frozenset({"Completed", "Error", "OOMKilled", *_NEVER_RAN})
"""Reasons of a terminated container with an end that the runtime observed (containerd, CRI-O).

For containers they can no longer find, kubelets and runtimes report `ContainerStatusUnknown` and `Unknown`.
"""

_AT_REST = frozenset({"Succeeded", "Failed"})
"""Phases of a pod without running containers."""

_MAY_RUN = frozenset({"Running", "Unknown"})
"""Phases of a pod with containers that may be running; Unknown means that its node does not report."""

_ORDINARY_GRACE = timedelta(seconds=15)
_NATIVE_GRACE = timedelta(seconds=90)
"""Longer than a pod's termination time: the kubelet ends native sidecars after the main container."""


def pod_has_ended(pod: Document) -> bool:
    """Whether the driver or executor container of a pod has ended for good; on a silent node it has not.

    These containers never restart, so a terminated container is finished, whatever sidecars still run.
    """
    phase = _phase(pod)
    return phase in _AT_REST or (phase != "Unknown" and bool(terminated_of(pod)))


def was_seen_to_end(pod: Document) -> bool:
    """Whether the kubelet observed how the container ended; it cannot tell for a container that it lost."""
    return text(terminated_of(pod), "reason") in _TOLD


def has_started(pod: Document) -> bool:
    """Whether the container is or was running."""
    state = part(own_container(pod), "state")
    return _phase(pod) in _MAY_RUN or bool(state.get("running") or state.get("terminated"))


def may_have_run(pod: Document) -> bool:
    """Whether the container is, or may have been, running; for an ended pod nothing else may be known."""
    return (has_started(pod) or _phase(pod) in _AT_REST) and not _never_ran(pod)


def _never_ran(pod: Document) -> bool:
    """Whether the program in an ended pod certainly never started.

    The kubelet says so, or an init container failed while the container waited. A pod that the kubelet has not admitted
    proves nothing: after a restart it checks admission again, even of running pods, and then drops their reports.
    """
    own = own_container(pod)
    if part(own, "lastState") or whole_number(own, "restartCount"):
        return False
    trouble, _ = end_trouble(pod)
    behind = trouble is PodTrouble.INIT_FAILED and field(own, "state", "waiting") is not None
    return behind or (trouble is PodTrouble.CONFIGURATION and text(terminated_of(pod), "reason") in _NEVER_RAN)


def only_others_run(pod: Document, *, now: datetime) -> bool:
    """Whether only other containers keep the pod, after their time to end has passed."""
    if _phase(pod) in _AT_REST:
        return False
    others = [one for one in items(pod, "status", "containerStatuses") if text(one, "name") not in OURS]
    living = any("terminated" not in part(one, "state") for one in others)
    ended_at = parse_time(text(terminated_of(pod), "finishedAt"))
    return ended_at is None or now - ended_at > (_ORDINARY_GRACE if living else _NATIVE_GRACE)


def started_at(pods: Iterable[Document]) -> datetime | None:
    """Return when the container of the first running pod started."""
    moments = (parse_time(text(own_container(pod), "state", "running", "startedAt")) for pod in pods)
    return next((moment for moment in moments if moment is not None), None)


def ran_since(pods: Iterable[Document]) -> datetime | None:
    """Return when the container of the first pod started; for a pod that lost its report, when the pod did."""
    moments = []
    for pod in filter(may_have_run, pods):
        state = part(own_container(pod), "state")
        known = (text(state, one, "startedAt") for one in ("running", "terminated"))
        moments += [parse_time(next(filter(None, known), None) or text(pod, "status", "startTime"))]
    return min((moment for moment in moments if moment is not None), default=None)


def ran_until(pods: Iterable[Document]) -> datetime | None:
    """Return when the container of the last pod ended, if the kubelet says when."""
    moments = (parse_time(text(terminated_of(pod), "finishedAt")) for pod in pods)
    return max((moment for moment in moments if moment is not None), default=None)


def terminated_of(pod: Document) -> Document:
    """Return how the container ended, or an empty mapping."""
    return part(own_container(pod), "state", "terminated")


def end_trouble(pod: Document) -> tuple[PodTrouble | None, str]:
    """Return what ended a pod from outside, or will end it."""
    reason, terminated = text(pod, "status", "reason"), terminated_of(pod)
    ended_for = text(terminated, "reason")
    if ended_for == "OOMKilled":
        return PodTrouble.OUT_OF_MEMORY, "The driver's pod was killed for using more memory than its limit."
    if ended_for in _NEVER_RAN:
        return PodTrouble.CONFIGURATION, sentence(terminated.get("message") or ended_for)
    disruption = pod_condition(pod, "DisruptionTarget") or {}
    if reason == "NodeLost" or text(disruption, "reason") in _NODE_LOST:
        return PodTrouble.NODE_LOST, "The driver's node is gone or does not report."
    if reason == "Evicted" or disruption:
        return PodTrouble.EVICTED, "The driver's pod was evicted from its node."
    return _init_trouble(pod) if _phase(pod) == "Failed" and not terminated else (None, "")


def _init_trouble(pod: Document) -> tuple[PodTrouble | None, str]:
    for container in items(pod, "status", "initContainerStatuses"):
        terminated = part(container, "state", "terminated")
        if code := whole_number(terminated, "exitCode"):
            who = f"Container {text(container, 'name')}, which runs before the driver,"
            why = text(terminated, "message") or text(terminated, "reason") or "no reason given"
            return PodTrouble.INIT_FAILED, sentence(f"{who} ended with exit code {code}: {why}")
    return None, ""


def own_container(pod: Document) -> Document | None:
    """Return the status of the driver's or executor's container."""
    return next((one for one in items(pod, "status", "containerStatuses") if text(one, "name") in OURS), None)


def _phase(pod: Document) -> str | None:
    return text(pod, "status", "phase")


def pod_condition(pod: Document, kind: str, *, status: str = "True") -> Document | None:
    """Return the condition of a pod with this type and status."""
    conditions = items(pod, "status", "conditions")
    return next((one for one in conditions if one.get("type") == kind and one.get("status") == status), None)


def sentence(said: object) -> str:
    """Return a text from outside as a sentence of bounded length, with control characters escaped, without secrets."""
    return f"{shortened(_without_secrets(str(said)[:_TEXT_LIMIT]), _SENTENCE_LIMIT).rstrip('. ')}."


def _without_secrets(said: str) -> str:
    """Return a text without the users and queries of URLs: registries sign links to layers of images there.

    Other shapes of secrets stay: words such as `failed to fetch token: ...` are a cause.
    """
    return _URL_QUERY.sub(rf"\1?{REDACTED}", _URL_USER.sub(REDACTED, said))


POD_GRACE = timedelta(seconds=20)
"""How long to say nothing about a missing or waiting pod; later, a missing pod counts as refused."""

_DRIVER_GRACE = timedelta(seconds=30)
"""How long to say nothing about a driver without executors: it starts its session first."""

_NO_EXECUTOR = (
    "No pod of an executor exists. The API server may refuse such pods (quota, limits, admission, Pod Security), or "
    "they end at once: the driver's log has the API server's words."
)

_GATES_SHOWN = 3

_CANNOT_PULL = "cannot be pulled"

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
    """What a Job waits for; `asks` is the uid of the object whose Events since `asks_since` would say more."""

    trouble: PodTrouble | None = None
    message: str = ""
    asks: str = ""
    asks_since: datetime | None = None
    since: datetime | None = None


def pod_wait(pods: Sequence[Document], *, job_uid: str, age: timedelta, words: Words) -> Wait:
    """Return what prevents a Job's pods from starting; after a grace period, whatever is known about them."""
    told = [(pod, trouble, said) for pod in pods for trouble, said in _blockers(pod)]
    for pod, trouble, said in told:
        if trouble is PodTrouble.IMAGE_PULL_FAILED and not _quotes_registry(said):
            return _asking(pod, trouble, said, words)
        if trouble is not None:
            return Wait(trouble=trouble, message=said)
    if age <= POD_GRACE:
        return Wait()
    if not pods:
        message = _with_words("no pod could be created.", words.get(job_uid, ""))
        return Wait(trouble=PodTrouble.FORBIDDEN, message=message, asks=job_uid)
    pod, _, said = next(iter(told), (pods[0], None, ""))
    return _asking(pod, None, said, words)


def _asking(pod: Document, trouble: PodTrouble | None, said: str, words: Words) -> Wait:
    """Return what is known of a pod with the words of its Events; those from before it had a node are obsolete."""
    uid = text(pod, "metadata", "uid") or ""
    placed = text(pod_condition(pod, "PodScheduled"), "lastTransitionTime")
    message = _with_words(said, words.get(uid, ""))
    return Wait(trouble=trouble, message=message, asks=uid, asks_since=parse_time(placed))


def executor_wait(
    executors: Sequence[Document],
    *,
    driver_started_at: datetime | None,
    now: datetime,
    words: Words,
    in_cluster: bool = False,
    refusal: str = "",
) -> Wait:
    """Return what the executors of a running driver wait for; a trouble only where none of them has started.

    A driver `in_cluster` mode without any executor is no trouble: it may have lost its executors a moment ago.
    `refusal` are the words with which the API server refuses further pods of executors, as the driver reports them.
    """
    if in_cluster and not executors and refusal:
        return Wait(message=sentence(f"No pod of an executor exists, because the API server refuses it: {refusal}"))
    if in_cluster and not executors:
        is_late = driver_started_at is not None and now - driver_started_at > _DRIVER_GRACE
        return Wait(message=_NO_EXECUTOR if is_late else "")
    waiting = [pod for pod in executors if not has_started(pod)]
    created = [moment for pod in waiting if (moment := parse_time(text(pod, "metadata", "creationTimestamp")))]
    if not created:
        return Wait(message=sentence(f"The API server refuses further executors: {refusal}") if refusal else "")
    found = pod_wait(waiting, job_uid="", age=now - min(created), words=words)
    if not found.message:
        return Wait()
    none = len(waiting) == len(executors)
    who = "No executor has started" if none else f"{len(waiting)} of {len(executors)} executors have not started"
    return Wait(
        trouble=PodTrouble.EXECUTORS_WAITING if none else None,
        message=sentence(f"{who}: {found.message}"),
        asks=found.asks,
        asks_since=found.asks_since,
        since=max(min(created), driver_started_at or min(created)),
    )


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
        cause = cause_of_pull(text(waiting, "message") or "")
        what = f"image {text(container, 'image')} {_CANNOT_PULL}"
        return trouble, sentence(f"{what}: {cause}" if cause else what)
    if trouble is not None:
        return trouble, sentence(text(waiting, "message") or reason)
    details = ": ".join(one for one in (reason, text(waiting, "message")) if one)
    return None, sentence(f"container {text(container, 'name')} waits: {details or 'no reason given'}")


def _quotes_registry(said: str) -> bool:
    return f"{_CANNOT_PULL}: " in said
