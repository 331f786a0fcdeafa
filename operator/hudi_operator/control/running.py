"""How many Jobs run per class and namespace: what the limits of a class are compared with."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from hudi_operator.control.keys import TableKey
from hudi_operator.jobs.names import CLASS_LABEL, label_value


@dataclass(frozen=True)
class _Entry:
    class_label: str
    jobs: int


class RunningJobs:
    """The Jobs of each table as of its last look; only the operator starts Jobs, so nothing else changes the count."""

    def __init__(self) -> None:
        self._entries: dict[TableKey, _Entry] = {}
        self._seeded = False

    @property
    def is_seeded(self) -> bool:
        """Whether the Jobs of an earlier process have been counted."""
        return self._seeded

    def seed(self, jobs: Iterable[Mapping[str, Any]]) -> None:
        """Count the Jobs that an earlier process of the operator has left running."""
        for job in jobs:
            metadata = job["metadata"]
            # The label holds long names only in part; the owner reference holds them whole.
            owner: Mapping[str, str] = next(iter(metadata.get("ownerReferences") or ()), {})
            key = TableKey(metadata["namespace"], owner.get("name", metadata["name"]))
            if not _has_ended(job) and key not in self._entries:
                self._entries[key] = _Entry((metadata.get("labels") or {}).get(CLASS_LABEL, ""), 1)
        self._seeded = True

    def record(self, key: TableKey, *, class_name: str, jobs: int) -> None:
        """Remember how many Jobs a table has."""
        if jobs:
            self._entries[key] = _Entry(label_value(class_name), jobs)
        else:
            self.forget(key)

    def forget(self, key: TableKey) -> None:
        """Drop a table."""
        self._entries.pop(key, None)

    def in_class(self, class_name: str, *, without: TableKey) -> int:
        """Return the Jobs of all other tables of a class."""
        return sum(
            entry.jobs
            for key, entry in self._entries.items()
            if entry.class_label == label_value(class_name) and key != without
        )

    def in_namespace(self, class_name: str, *, without: TableKey) -> int:
        """Return the Jobs of all other tables of a class in the namespace of a table."""
        return sum(
            entry.jobs
            for key, entry in self._entries.items()
            if entry.class_label == label_value(class_name) and key.namespace == without.namespace and key != without
        )


def _has_ended(job: Mapping[str, Any]) -> bool:
    conditions = (job.get("status") or {}).get("conditions") or ()
    return any(item["type"] in {"Complete", "Failed"} and item["status"] == "True" for item in conditions)
