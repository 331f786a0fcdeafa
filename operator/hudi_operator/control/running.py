"""How many Jobs run per class and namespace: what the limits of a class are compared with."""

from dataclasses import dataclass

from hudi_operator.control.keys import TableKey


@dataclass(frozen=True)
class _Entry:
    class_name: str
    jobs: int


class RunningJobs:
    """The Jobs of each table as of its last look; only the operator starts Jobs, so nothing else changes the count."""

    def __init__(self) -> None:
        self._entries: dict[TableKey, _Entry] = {}

    def record(self, key: TableKey, *, class_name: str, jobs: int) -> None:
        """Remember how many Jobs a table has."""
        if jobs:
            self._entries[key] = _Entry(class_name, jobs)
        else:
            self.forget(key)

    def forget(self, key: TableKey) -> None:
        """Drop a table."""
        self._entries.pop(key, None)

    def in_class(self, class_name: str, *, without: TableKey) -> int:
        """Return the Jobs of all other tables of a class."""
        return sum(
            entry.jobs for key, entry in self._entries.items() if entry.class_name == class_name and key != without
        )

    def in_namespace(self, class_name: str, *, without: TableKey) -> int:
        """Return the Jobs of all other tables of a class in the namespace of a table."""
        return sum(
            entry.jobs
            for key, entry in self._entries.items()
            if entry.class_name == class_name and key.namespace == without.namespace and key != without
        )
