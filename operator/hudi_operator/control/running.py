"""How many Jobs run per class and namespace: what the limits of a class are compared with."""

import itertools
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_operator.control.keys import TableKey
from hudi_operator.jobs.names import CLASS_LABEL, label_value


@dataclass(frozen=True, slots=True)
class _Entry:
    class_label: str
    jobs: int


class RunningJobs:
    """The Jobs of each table as of its last look; only the operator starts Jobs, so nothing else changes the count.

    Tables that wait for a place in their class are told, the longest waiting first, when one becomes free: `wake` is
    called with the key of each.
    """

    def __init__(self, wake: Callable[[TableKey], None] = lambda _key: None) -> None:
        self._wake = wake
        self._waiting: dict[str, dict[TableKey, None]] = {}
        self._entries: dict[TableKey, _Entry] = {}
        self._in_class: Counter[str] = Counter()
        self._in_namespace: Counter[tuple[str, str]] = Counter()

    def seed(self, job: Mapping[str, Any]) -> None:
        """Count a Job that an earlier process of the operator has left, if it has not ended."""
        metadata = job["metadata"]
        # The label holds long names only in part; the owner reference holds them whole. A deletion has none, and counts
        # from the first look at its table.
        owner: Mapping[str, str] | None = next(iter(metadata.get("ownerReferences") or ()), None)
        if owner is None or _has_ended(job):
            return
        key = TableKey(metadata["namespace"], owner["name"])
        if key not in self._entries:
            self._set(key, _Entry((metadata.get("labels") or {}).get(CLASS_LABEL, ""), 1))

    def record(self, key: TableKey, *, class_name: str, jobs: int) -> None:
        """Remember how many Jobs a table has."""
        self._set(key, _Entry(label_value(class_name), jobs) if jobs else None)

    def wait(self, key: TableKey, *, class_name: str) -> None:
        """Have a table told when a Job of its class has ended."""
        self._waiting.setdefault(label_value(class_name), {})[key] = None

    def forget(self, key: TableKey) -> None:
        """Drop a table."""
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
        """Tell twice as many tables as places became free: some may wait for their namespace, or be gone."""
        waiting = self._waiting.get(class_label, {})
        for key in tuple(itertools.islice(waiting, 2)):
            del waiting[key]
            self._wake(key)

    def _count(self, key: TableKey, entry: _Entry, change: int) -> None:
        self._in_class[entry.class_label] += change
        self._in_namespace[entry.class_label, key.namespace] += change


def _has_ended(job: Mapping[str, Any]) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(item["type"] in {"Complete", "Failed"} and item["status"] == "True" for item in conditions)
