"""Counts the running Jobs per class and namespace, for the limits of a class.

A table counts for at most two Jobs: one run, and in an Optimistic table one more table service. So forged Jobs with one
table's labels take two places of a class and no more.
"""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hudi_operator.control.jobs.own_objects import controller_of
from hudi_operator.control.keys import TableKey
from hudi_operator.jobs.names import CLASS_LABEL, label_value
from hudi_operator.kube.fields import Document, text
from hudi_operator.runtime.documents import job_has_ended

MOST_OF_A_TABLE = 2
"""The most Jobs that one table can have at once."""


@dataclass(frozen=True, slots=True)
class _Entry:
    class_label: str
    jobs: int


class RunningJobs:
    """The Jobs of each table as of its last reconcile; correct because only the operator starts Jobs.

    When a place in a class becomes free, `wake` is called for the waiting tables, longest waiting first.
    """

    def __init__(self, wake: Callable[[TableKey], None] = lambda _key: None) -> None:
        self._wake = wake
        self._waiting: dict[str, dict[TableKey, None]] = {}
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
        self._set(key, _Entry(label_value(class_name), min(jobs, MOST_OF_A_TABLE)) if jobs else None)

    def wait(self, key: TableKey, *, class_name: str) -> None:
        """Wake this table when a Job of its class ends."""
        self._waiting.setdefault(label_value(class_name), {})[key] = None

    def forget(self, key: TableKey) -> None:
        """Forget a table."""
        self._set(key, None)

    def in_class(self, class_name: str, *, without: TableKey) -> int:
        """Return the Jobs of all other tables of a class."""
        label = label_value(class_name)
        return self._in_class[label] - self._own(without, label)

    def in_namespace(self, class_name: str, *, without: TableKey) -> int:
        """Return the Jobs of all other tables of a class in the namespace of a table."""
        label = label_value(class_name)
        return self._in_namespace[label, without.namespace] - self._own(without, label)

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
        if before is not None and (entry is None or entry.class_label != before.class_label):
            self._call(before.class_label)

    def _call(self, class_label: str) -> None:
        """Wake twice as many tables as places became free: some may wait for their namespace, or be gone."""
        waiting = self._waiting.get(class_label, {})
        for key in tuple(itertools.islice(waiting, 2)):
            del waiting[key]
            self._wake(key)

    def _count(self, key: TableKey, entry: _Entry, change: int) -> None:
        self._in_class[entry.class_label] += change
        self._in_namespace[entry.class_label, key.namespace] += change
