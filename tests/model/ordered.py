"""HudiOperations as the API server holds them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tests.model.world import moment
from tests.planning.world import at

from hudi_operator.api.resources import OPERATION_FINALIZER, HudiOperation, parse_operation

_ASKS: dict[str, Any] = {
    "erase": {"keys": [{"id": "7"}]},
    "runService": {"service": "Cleaning"},
    "repair": {"rebuildMetadataTable": {}},
}
"""What is asked for of kinds that are about no commit."""


@dataclass(frozen=True, kw_only=True)
class Resource:
    """One HudiOperation; times are seconds from the beginning of the history."""

    name: str
    uid: str
    kind: str
    """The field of the spec that asks for it."""
    instant: str
    created: int
    dry_run: bool = False
    accepts: bool = False
    """Whether it says that no other writer is at work."""
    approved: bool = False
    held: bool = False
    deleted: int | None = None
    status: str = "{}"
    """The status as JSON."""

    @property
    def announces(self) -> tuple[object, ...]:
        """What of it the controller of its table hears."""
        return self.uid, self.held, self.deleted, self.approved


@lru_cache(maxsize=4096)
def read(resource: Resource) -> HudiOperation:
    """The resource as the operator reads it."""
    goes = {} if resource.deleted is None else {"deletionTimestamp": at(moment(resource.deleted))}
    document: dict[str, Any] = {
        "metadata": {
            "name": resource.name,
            "namespace": "team-a",
            "uid": resource.uid,
            "generation": 2 if resource.approved else 1,
            "creationTimestamp": at(moment(resource.created)),
            "finalizers": [OPERATION_FINALIZER] if resource.held else [],
            **goes,
        },
        "spec": {
            "tableRef": {"name": "flights"},
            resource.kind: _ASKS.get(resource.kind, {"instant": resource.instant}),
            "dryRun": resource.dry_run,
            "acceptOtherWriters": resource.accepts,
            "approved": resource.approved,
        },
        "status": json.loads(resource.status),
    }
    parsed = parse_operation(document)
    assert isinstance(parsed, HudiOperation), parsed
    return parsed
