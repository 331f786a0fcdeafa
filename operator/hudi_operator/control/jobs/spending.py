"""Adds up what the table services of a namespace and class used on a day, from the memories of their tables."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from hudi_operator.api.salvage import read_by_parts
from hudi_operator.api.status.memory import joined
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.kube.keys import TableKey
from hudi_operator.kube.objects import Document, part, text
from hudi_operator.planning.facts.runs.daily_costs import spent_by_day
from hudi_operator.planning.model import Spent


@dataclass(frozen=True, slots=True)
class _Entry:
    class_name: str
    days: Mapping[date, int]


class Spending:
    """What the table services of each table used, as of its last reconcile, or as of the start of the process."""

    def __init__(self) -> None:
        self._namespaces: dict[str, dict[TableKey, _Entry]] = {}

    def seed(self, key: TableKey, document: Document, *, default_class: str) -> None:
        """Read the memory of a table that has not been reconciled in this process."""
        if key in self._namespaces.get(key.namespace, {}):
            return
        services, _ = read_by_parts(ServicesStatus, joined(part(document, "status")).get("services"))
        class_name = text(document, "spec", "tableClassName") or default_class
        self.record(key, class_name=class_name, services=services)

    def record(self, key: TableKey, *, class_name: str, services: ServicesStatus) -> None:
        """Remember what a table's services used."""
        days = spent_by_day(services)
        if not days:
            self.forget(key)
            return
        self._namespaces.setdefault(key.namespace, {})[key] = _Entry(class_name, days)

    def forget(self, key: TableKey) -> None:
        """Forget a table."""
        tables = self._namespaces.get(key.namespace, {})
        tables.pop(key, None)
        if not tables:
            self._namespaces.pop(key.namespace, None)

    def elsewhere(self, class_name: str, day: date, *, without: TableKey) -> Spent:
        """Return what the services of all other tables of a class in the namespace of a table used on a day."""
        tables = self._namespaces.get(without.namespace, {})
        entries = (one for key, one in tables.items() if key != without and one.class_name == class_name)
        return Spent(day=day, milliseconds=sum(one.days.get(day, 0) for one in entries))
