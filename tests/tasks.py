"""Tasks of a request for tests: the class of a service, with made-up parts in the place of those that are not given."""

from __future__ import annotations

from typing import Any

from pydantic import TypeAdapter

from hudi_jobs.contract import Service, TableTask

_TASKS: TypeAdapter[Any] = TypeAdapter(TableTask)
_PARTS: dict[Service, dict[str, Any]] = {
    Service.INGESTION: {"ingestion": {"source": {"kind": "files", "path": "s3a://landing/in", "format": "csv"}}},
    Service.SAVEPOINT: {
        "named_savepoint": {
            "work": "Make",
            "instant": "20260310110000000",
            "resource": "team/kept",
            "uid": "uid-of-kept",
        }
    },
    Service.CATALOG: {"catalog": {"uris": ["thrift://metastore:9083"], "database": "team_a", "table": "t"}},
    Service.OPERATION: {"operation": {"kind": "Restore", "resource": "team/back", "uid": "uid-of-back"}},
}
_TABLE = {"name": "t", "basePath": "s3a://b/t", "type": "MergeOnRead", "recordKey": ["id"]}


def task_of(service: Service, **fields: Any) -> Any:
    """Return a task; fields that its service has no use for are left out."""
    known = {name: value for name, value in fields.items() if value is not None}
    return _TASKS.validate_python({"id": "t", "table": _TABLE, **_PARTS.get(service, {}), **known, "service": service})
