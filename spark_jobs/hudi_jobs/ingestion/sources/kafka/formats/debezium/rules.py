"""Checks which tables can have a source of change events: pure rules on the request and the table's properties."""

from collections.abc import Mapping

from hudi_jobs.contract import FailureReason, IngestionTask, TableDefinition, WriteOperation
from hudi_jobs.contract.table.merging import ordering_of, payload_of, version_of
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.kafka.formats.debezium.columns import DATABASES, Database

_FIRST_WITHOUT_PAYLOADS = 9
_BY_DEBEZIUM = ".debezium."
_GLOBAL = "Global"


def required_database(definition: TableDefinition, task: IngestionTask) -> Database:
    """Return the database of a table's ordering fields; raise `TaskFailed` if the table cannot take its events.

    With any other order, a late or repeated event would undo newer events.
    """
    found = next((one for one in DATABASES if one.ordering == definition.ordering_fields), None)
    if found is None:
        possible = " or ".join(f"[{', '.join(one.ordering)}] for {one.name}" for one in DATABASES)
        raise _invalid(f"A source of Debezium's events needs the orderingFields {possible}")
    if task.operation is not WriteOperation.UPSERT:
        raise _invalid(f"A source of Debezium's events needs the operation Upsert, and not {task.operation}")
    loose = [name for name in definition.partition_by if name not in definition.record_key]
    if loose and not (definition.index or "").startswith(_GLOBAL):
        raise _invalid(
            f"A table of Debezium's events needs a global index where its partition column {loose[0]} is not part of "
            "the record key: a delete does not name the partition of its row, and an update may change it"
        )
    return found


def require_order(properties: Mapping[str, str]) -> None:
    """Raise `TaskFailed` for an existing table in which Hudi 1.2.0 does not compare events by their order."""
    payload, version = payload_of(properties) or "", version_of(properties) or 0
    if _BY_DEBEZIUM in payload and version < _FIRST_WITHOUT_PAYLOADS:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table has version {version} and the payload class {payload[:200]}, with which Hudi 1.2.0 lets a "
            "late delete win and keeps values that were not sent; upgrade it to version 9 with upgrade_table, or "
            "leave ingestion to the tool that does it now.",
        )
    if ordering_of(properties).ignored:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table lets the row that is written last win ({ordering_of(properties).decided_by[:200]}), so a late "
            "event would undo newer events; write to another table.",
        )


def _invalid(message: str) -> TaskFailed:
    return TaskFailed(FailureReason.INVALID_REQUEST, f"{message}.")
