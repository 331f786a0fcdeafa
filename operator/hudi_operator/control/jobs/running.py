"""Selects a table's own Jobs and pods, counts the running Jobs, and shares the places of a class.

A Job belongs to the table if the table is its controller, as the operator sets it, or if the status records it. A pod
belongs to the table if its run does. Other objects with the table's labels count nowhere, block nothing and are never
deleted.

A table counts for at most two Jobs: a run, and in an Optimistic table another table service. So forged Jobs with a
table's labels take two places of a class and no more.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from time import monotonic
from typing import NamedTuple

import structlog

from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.values.base import GROUP
from hudi_operator.jobs.names import CLASS_LABEL, OWNING_JOB_NAME, OWNING_JOB_UID, label_value, run_of_executor
from hudi_operator.kube.keys import TableKey
from hudi_operator.kube.objects import Document, field, items, text
from hudi_operator.planning.model import PlaceHolders
from hudi_operator.runtime.informer import job_has_ended
from hudi_operator.runtime.queue import FairLines

_NAME_LIMIT = 63
"""The longest name in a status; the operator's own Jobs have shorter names."""

POD_NAME_LIMIT = 253
UID_LIMIT = 64

_SHOWN = 3

_log = structlog.get_logger(__name__)


def own_jobs(jobs: Iterable[Document], *, table_uid: str, remembered: Iterable[ActiveJob]) -> list[Document]:
    """Return the table's own Jobs; log the names of other Jobs with the table's labels."""
    known = {job.name: job.uid for job in remembered}
    own, strangers = list[Document](), list[str]()
    for job in jobs:
        name, uid = text(job, "metadata", "name", limit=_NAME_LIMIT), text(job, "metadata", "uid", limit=_NAME_LIMIT)
        recorded = name in known and known[name] in {None, uid}
        if name and uid and (recorded or controller_of(job) == ("HudiTable", table_uid)):
            own.append(job)
        elif not job_has_ended(job):
            strangers.append(str(field(job, "metadata", "name"))[:_NAME_LIMIT])
    if strangers:
        _log.warning("jobs with the labels of a table are not its own", table=table_uid, jobs=strangers[:_SHOWN])
    return own


def own_pods(
    pods: Iterable[Document], *, jobs: Collection[Document], remembered: Iterable[ActiveJob]
) -> list[Document]:
    """Return the pods of the table's own runs: of these Jobs, and of Jobs recorded in the status."""
    remembered = tuple(remembered)
    uids = {text(job, "metadata", "uid") for job in jobs} | {job.uid for job in remembered if job.uid}
    runs = {text(job, "metadata", "name") for job in jobs} | {job.name for job in remembered}
    unseen = {job.name for job in remembered if job.uid is None}
    return [pod for pod in pods if _is_named(pod) and _belongs(pod, uids=uids, runs=runs, unseen=unseen)]


def controller_of(document: Document) -> tuple[str, str] | None:
    """Return the kind and uid of an object's controller; a kind of this operator only counts in its own group."""
    for reference in items(document, "metadata", "ownerReferences"):
        kind, uid = text(reference, "kind"), text(reference, "uid")
        if reference.get("controller") is not True or kind is None or uid is None:
            continue
        ours = (text(reference, "apiVersion") or "").startswith(f"{GROUP}/")
        return (kind, uid) if ours or not kind.startswith("Hudi") else None
    return None


def _is_named(pod: Document) -> bool:
    return bool(text(pod, "metadata", "name", limit=POD_NAME_LIMIT) and text(pod, "metadata", "uid", limit=UID_LIMIT))


def _belongs(
    pod: Document, *, uids: Collection[str | None], runs: Collection[str | None], unseen: Collection[str]
) -> bool:
    uid, name = (text(pod, "metadata", "labels", key) for key in (OWNING_JOB_UID, OWNING_JOB_NAME))
    if uid is None and name is None:
        return run_of_executor(text(pod, "metadata", "name") or "") in runs
    return uid in uids or name in unseen


MOST_OF_A_TABLE = 2
"""The most Jobs that a table can have at once."""

_PROMISED_SECONDS = 10.0
"""The time for which a free place is kept for a table that was woken for it."""


@dataclass(frozen=True, slots=True)
class _Entry:
    class_label: str
    jobs: int


class _Promise(NamedTuple):
    class_label: str
    until: float


class RunningJobs:
    """The Jobs of each table as of its last reconcile; correct because only the operator starts Jobs.

    A place of a class that becomes free is promised to a waiting table of the namespace with the fewest Jobs in the
    class, and `wake` is called for that table. Without a Job in its next reconcile, the next table gets the promise.
    """

    def __init__(
        self, wake: Callable[[TableKey], None] = lambda _key: None, *, now: Callable[[], float] = monotonic
    ) -> None:
        self._wake = wake
        self._now = now
        self._waiting: dict[str, FairLines[str, TableKey]] = {}
        self._promised: dict[TableKey, _Promise] = {}
        self._entries: dict[TableKey, _Entry] = {}
        self._in_class: Counter[str] = Counter()
        self._in_namespace: Counter[tuple[str, str]] = Counter()

    def seed(self, job: Document, tables: Mapping[str, TableKey]) -> None:
        """Count an unfinished Job that an earlier operator process left.

        `tables` are all tables by uid: a Job counts only if one of them is its controller. A deletion has no owner, and
        counts from its table's first reconcile.
        """
        kind, uid = controller_of(job) or ("", "")
        key = tables.get(uid) if kind == "HudiTable" else None
        if key is None or key in self._entries or job_has_ended(job):
            return
        if text(job, "metadata", "namespace") == key.namespace:
            self._set(key, _Entry(text(job, "metadata", "labels", CLASS_LABEL) or "", 1))

    def record(self, key: TableKey, *, class_name: str, jobs: int) -> None:
        """Remember the number of a table's Jobs."""
        promise = self._promised.pop(key, None)
        self._set(key, _Entry(label_value(class_name), min(jobs, MOST_OF_A_TABLE)) if jobs else None)
        if promise is not None and not jobs:
            self._promise(promise)

    def wait(self, key: TableKey, *, class_name: str) -> None:
        """Wake this table when a Job of its class ends."""
        self._waiting.setdefault(label_value(class_name), FairLines()).add(key.namespace, key)

    def forget(self, key: TableKey) -> None:
        """Forget a table."""
        for lines in self._waiting.values():
            lines.discard(key.namespace, key)
        self.record(key, class_name="", jobs=0)

    def in_class(self, class_name: str, *, without: TableKey) -> int:
        """Return the Jobs of all other tables of a class, and the places that go to other tables first.

        A table with a Job leaves the place of this Job to a namespace that has fewer Jobs in the class and waits.
        """
        label, now = label_value(class_name), self._now()
        own = self._own(without, label)
        promised = sum(
            promise.class_label == label and promise.until > now
            for key, promise in self._promised.items()
            if key != without
        )
        leaves = own > 0 and self._is_behind_others(label, without.namespace)
        return self._in_class[label] - own + promised + leaves

    def in_namespace(self, class_name: str, *, without: TableKey) -> int:
        """Return the Jobs of all other tables of a class in the namespace of a table."""
        label = label_value(class_name)
        return self._in_namespace[label, without.namespace] - self._own(without, label)

    def holders(self, class_name: str, *, without: TableKey) -> PlaceHolders:
        """Return which other tables of a namespace have Jobs of a class, and whether other namespaces have any."""
        label = label_value(class_name)
        keys = [key for key, entry in self._entries.items() if entry.class_label == label and key != without]
        return PlaceHolders(
            tables=tuple(sorted(key.name for key in keys if key.namespace == without.namespace)),
            elsewhere=any(key.namespace != without.namespace for key in keys),
        )

    def _own(self, key: TableKey, class_label: str) -> int:
        entry = self._entries.get(key)
        return entry.jobs if entry is not None and entry.class_label == class_label else 0

    def _set(self, key: TableKey, entry: _Entry | None) -> None:
        before = self._entries.pop(key, None)
        if before is not None:
            self._count(key, before, -before.jobs)
        if entry is not None:
            self._entries[key] = entry
            self._count(key, entry, entry.jobs)
        if before is not None:
            same = entry is not None and entry.class_label == before.class_label
            until = self._now() + _PROMISED_SECONDS
            for _ in range(before.jobs - (entry.jobs if entry is not None and same else 0)):
                self._promise(_Promise(before.class_label, until))

    def _promise(self, promise: _Promise) -> None:
        """Promise a free place to the next table. A place that no table takes is passed on for a few seconds only."""
        waiting = self._waiting.get(promise.class_label)
        if waiting is None or promise.until <= self._now():
            return
        taken = waiting.take(lambda namespace: self._held(promise.class_label, namespace))
        if taken is not None:
            self._promised[taken[1]] = promise
            self._wake(taken[1])

    def _held(self, class_label: str, namespace: str) -> int:
        """Return the Jobs of a namespace in a class, with the places that are promised to it."""
        promised = sum(
            key.namespace == namespace and promise.class_label == class_label for key, promise in self._promised.items()
        )
        return self._in_namespace[class_label, namespace] + promised

    def _is_behind_others(self, class_label: str, namespace: str) -> bool:
        waiting = self._waiting.get(class_label)
        if waiting is None:
            return False
        held = self._held(class_label, namespace)
        return any(self._held(class_label, other) < held for other in waiting.groups if other != namespace)

    def _count(self, key: TableKey, entry: _Entry, change: int) -> None:
        self._in_class[entry.class_label] += change
        self._in_namespace[entry.class_label, key.namespace] += change
