"""Conditions by the rules of Kubernetes and kstatus, and the status of a class, which has little else.

Ready is always present, and Healthy on a HudiTable. Reconciling, Stalled, Suspended and UnsafeSettings are
abnormal-true: they are present only while true. Source: cli-utils `pkg/kstatus/README.md` and Flux's conformance checks
(`fluxcd/pkg/runtime/conditions/check`).
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Annotated, Any, Self

from pydantic import Field

from hudi_operator.api.values.base import Model

MESSAGE_LIMIT = 2000


class ConditionType(StrEnum):
    """Type of a condition."""

    READY = "Ready"
    """The table is as declared; always present."""

    RECONCILING = "Reconciling"
    """Work is in progress: a first run, a retry after a failure, or the deletion; present only while true."""

    STALLED = "Stalled"
    """A person must change something before another attempt makes sense; present only while true."""

    SUSPENDED = "Suspended"
    """No new Job starts, because of `spec.suspend` or a suspend annotation; present only while true."""

    DATA_COMPLETE = "DataComplete"
    """On a HudiSavepoint: no clean had removed files of its commit when it was made; Unknown where nothing shows it."""

    EXPIRED = "Expired"
    """On a HudiSavepoint: it has expired and was removed from the table; present instead of Ready."""

    HEALTHY = "Healthy"
    """On a HudiTable: no finding is Critical or a Warning; Unknown while the timeline cannot be read."""

    FRESH = "Fresh"
    """The table is no further behind its source than `spec.ingestion.freshness`; absent without this field."""

    UNSAFE_SETTINGS = "UnsafeSettings"
    """On a HudiTableClass: it lets tables use settings that can do harm; present only while true."""


class ConditionStatus(StrEnum):
    """Status of a condition."""

    TRUE = "True"
    FALSE = "False"
    UNKNOWN = "Unknown"


REASON_PATTERN = r"^[A-Z][A-Za-z0-9]*$"
"""Pattern of the Kubernetes API for a condition's reason."""


class Condition(Model):
    """A condition; `last_transition_time` is RFC 3339 in UTC and moves only when `status` changes."""

    type: ConditionType
    """Type of the condition."""

    status: ConditionStatus
    """Whether the condition holds."""

    observed_generation: int
    """Generation of the described spec."""

    last_transition_time: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    """When the status last changed."""

    reason: Annotated[str, Field(pattern=REASON_PATTERN, max_length=128)]
    """The reason, as a word for programs."""

    message: Annotated[str, Field(max_length=MESSAGE_LIMIT)]
    """The reason, as a sentence for people."""

    def carried_over(self, previous: Iterable["Condition"]) -> Self:
        """Return this condition with the transition time of its predecessor when the status is the same."""
        for condition in previous:
            if condition.type is self.type and condition.status is self.status:
                return self.copy_with(last_transition_time=condition.last_transition_time)
        return self


Conditions = Annotated[
    tuple[Condition, ...],
    Field(
        max_length=8,
        json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
    ),
]
"""The conditions of a status, each type once."""


def find_condition(conditions: Iterable[Condition], kind: ConditionType) -> Condition | None:
    """Return the condition of this type, or None."""
    return next((condition for condition in conditions if condition.type is kind), None)


class HudiTableClassStatus(Model):
    """Observed state of a class."""

    observed_generation: int = -1
    """Generation of the spec that this status describes; -1 before the first reconcile."""

    namespaces: Annotated[str, Field(max_length=512)] | None = None
    """Namespaces that may use the class: All, or names and requirements of labels."""

    conditions: Conditions = ()
    """Ready, and Stalled and UnsafeSettings while they are true."""

    def to_document(self) -> dict[str, Any]:
        """Return the status as it is written to the API server: absent values are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
