"""The status of a `HudiTableClass`: whether it can be used, and which unsafe settings it allows."""

from typing import Annotated, Any

from pydantic import Field

from hudi_operator.api.status.conditions import Condition
from hudi_operator.api.values.base import Model


class HudiTableClassStatus(Model):
    """Observed state of a class."""

    observed_generation: int = -1
    """Generation of the spec that this status describes; -1 before the first reconcile."""

    namespaces: Annotated[str, Field(max_length=512)] | None = None
    """Namespaces that may use the class: All, or names and requirements of labels."""

    conditions: Annotated[
        tuple[Condition, ...],
        Field(
            max_length=8,
            json_schema_extra={"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]},
        ),
    ] = ()
    """Ready, and Stalled and UnsafeSettings while they are true."""

    def to_document(self) -> dict[str, Any]:
        """Return the status as it is written to the API server: absent values are left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)
