"""The status of a `HudiSavepoint`: its commit, whether the savepoint is in the table, and what it blocks."""

from typing import Annotated, Any

from pydantic import Field

from hudi_operator.api.status.conditions import Condition, ConditionStatus, ConditionType, find_condition
from hudi_operator.api.status.table_savepoints import RetainedStatus
from hudi_operator.api.values.base import InstantTime, Model, Timestamp


class HudiSavepointStatus(Model):
    """Observed state of a savepoint."""

    observed_generation: int = -1
    """Generation of the spec that this status describes; -1 before the first reconcile."""

    message: Annotated[str, Field(max_length=512)] | None = None
    """The state in a sentence."""

    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=8,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()
    """Ready, or Expired in its place; DataComplete while it is there; Reconciling and Stalled while they are true."""

    instant: InstantTime | None = None
    """The kept commit; set before the Job starts, so retries keep the same commit."""

    completed_at: Timestamp | None = None
    """When the operator first saw the savepoint in the table."""

    adopted: bool = False
    """Whether the savepoint was in the table before the resource asked for it."""

    blocks: Annotated[str, Field(max_length=512)] | None = None
    """Limits that it sets on the table's cleaning and archival."""

    retained: RetainedStatus | None = None
    """Files that it keeps from being cleaned, as the last clean found; absent before a clean reports."""

    expires_at: Timestamp | None = None
    """When it is removed from the table; absent with keepForever."""

    @property
    def reasons(self) -> frozenset[str]:
        """The reasons of all conditions."""
        return frozenset(one.reason for one in self.conditions)

    @property
    def data_complete(self) -> ConditionStatus:
        """Whether all files of the kept commit exist; Unknown before the first look."""
        found = find_condition(self.conditions, ConditionType.DATA_COMPLETE)
        return found.status if found is not None else ConditionStatus.UNKNOWN

    def to_document(self) -> dict[str, Any]:
        """Return the status as it is written to the API server: absent values are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
