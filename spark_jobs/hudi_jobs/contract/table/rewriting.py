"""Whether rows of a table can be compared by their keys and written again as they are, by its own properties."""

from collections.abc import Iterator, Mapping

from hudi_jobs.contract.table.merging import (
    COMMIT_TIME_STRATEGY,
    EVENT_TIME_STRATEGY,
    columns_of,
    payload_of,
    strategy_of,
)
from hudi_jobs.contract.table.support import COMPLEX, NON_PARTITIONED, SIMPLE, key_generator_of

_MODEL = "org.apache.hudi.common.model."
_PAYLOADS = frozenset(
    {
        None,
        *(f"{_MODEL}{name}" for name in ("DefaultHoodieRecordPayload", "EventTimeAvroPayload")),
        f"{_MODEL}OverwriteWithLatestAvroPayload",
    }
)
"""Payload classes that choose one of two rows as a whole."""

_STRATEGIES = frozenset({None, EVENT_TIME_STRATEGY, COMMIT_TIME_STRATEGY})
_MODES = frozenset({"", "EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"})
_GENERATORS = frozenset({SIMPLE, COMPLEX, NON_PARTITIONED})
_MERGE_PROPERTY, _LEGACY = "hoodie.record.merge.property.", "hoodie.table.legacy.payload.class"


def obstacles(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield why rows cannot be compared or rewritten, a sentence for each reason."""
    keys, kind = columns_of(properties.get("hoodie.table.recordkey.fields")), key_generator_of(properties)
    if not keys:
        yield "The table has no record key, so no two rows can share a key."
    elif kind not in _GENERATORS or (kind == COMPLEX and len(keys) == 1):
        yield "The key generator of the table may give a row another key or partition when the row is rewritten."
    if properties.get("hoodie.populate.meta.fields", "true").lower() == "false":
        yield "The table has no meta fields, so its files do not hold keys."
    if properties.get("hoodie.table.cdc.enabled", "false").lower() == "true":
        yield "The table keeps a log of its changes (CDC), which would not record rows that are removed this way."
    if properties.get("hoodie.bootstrap.base.path"):
        yield "The table was bootstrapped: its rows lie in files outside of it."
    yield from _merging(properties)


def _merging(properties: Mapping[str, str]) -> Iterator[str]:
    mode, legacy = properties.get("hoodie.record.merge.mode", "").upper(), properties.get(_LEGACY)
    if not {payload_of(properties), legacy} <= _PAYLOADS or mode not in _MODES:
        yield "The table merges rows with a custom class, so their columns do not tell which row wins."
    elif strategy_of(properties) not in _STRATEGIES:
        yield "The table merges rows with a custom strategy, so their columns do not tell which row wins."
    is_partial = properties.get("hoodie.table.partial.update.mode", "NONE").upper() != "NONE"
    if is_partial or any(key.startswith(_MERGE_PROPERTY) for key in properties):
        yield "The table merges rows column by column, so no single row is the newest."
