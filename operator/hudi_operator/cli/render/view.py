"""A HudiTable as commands see it: its document, and the status in the operator's own types."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Self

from hudi_operator.api.resources import HudiOperation, InvalidObject, ObjectMetadata, parse_table
from hudi_operator.api.status.conditions import Condition, ConditionStatus, ConditionType, find_condition
from hudi_operator.api.status.operation_status import HudiOperationStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model.times import parse_time

_NOT_OBSERVED = (
    "No operator has observed the table: see whether the operator runs, and whether it watches the namespace."
)

Document = Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class TableView:
    """A table of the cluster; an unreadable spec does not hide its status."""

    document: Document
    metadata: ObjectMetadata
    status: HudiTableStatus

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        """Return the view of a document."""
        parsed = parse_table(document)
        return cls(document=document, metadata=parsed.metadata, status=parsed.status)

    @property
    def name(self) -> str:
        """Namespace and name."""
        return f"{self.metadata.namespace}/{self.metadata.name}"

    def declared(self, field: str) -> str:
        """Return a text of the spec; empty if it is absent."""
        spec = self.document.get("spec")
        value = spec.get(field) if isinstance(spec, Mapping) else None
        return value if isinstance(value, str) else ""

    def condition(self, kind: ConditionType) -> Condition | None:
        """Return a condition, or None."""
        return find_condition(self.status.conditions, kind)

    def is_condition(self, kind: ConditionType, status: ConditionStatus) -> bool:
        """Tell whether a condition has this status."""
        found = self.condition(kind)
        return found is not None and found.status is status

    @property
    def is_unhealthy(self) -> bool:
        """Whether a person should look: never observed, not ready, stalled, a finding above Info, or too far behind."""
        wanted = (ConditionType.READY, ConditionType.HEALTHY, ConditionType.FRESH)
        return (
            self.condition(ConditionType.READY) is None
            or self.is_condition(ConditionType.STALLED, ConditionStatus.TRUE)
            or any(self.is_condition(kind, ConditionStatus.FALSE) for kind in wanted)
        )

    @property
    def why(self) -> str:
        """The message of the worst condition, or the table's own message."""
        worst = (ConditionType.READY, ConditionType.HEALTHY, ConditionType.FRESH)
        if self.condition(ConditionType.READY) is None:
            return _NOT_OBSERVED
        false = [one for kind in worst if (one := self.condition(kind)) and one.status is ConditionStatus.FALSE]
        return false[0].message if false else self.status.message or ""

    @property
    def created_at(self) -> datetime | None:
        """When the resource was created."""
        return parse_time(self.metadata.creation_timestamp)

    @property
    def newest_commit(self) -> datetime | None:
        """When the newest commit was requested."""
        return parse_time(self.status.summary.newest_commit) if self.status.summary is not None else None

    @property
    def complete_up_to(self) -> datetime | None:
        """The time up to which the table holds everything from its source."""
        freshness = self.status.services.ingestion.freshness
        return parse_time(freshness.complete_up_to) if freshness is not None else None


def operation_status(operation: HudiOperation | InvalidObject) -> HudiOperationStatus:
    """Return the status of an operation; an unreadable spec does not hide it."""
    return operation.status if isinstance(operation, HudiOperation) else operation.operation
