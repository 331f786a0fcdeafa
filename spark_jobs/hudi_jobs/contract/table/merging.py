"""How a table decides between two versions of a row, by its properties."""

from collections.abc import Mapping
from dataclasses import dataclass

_MODEL = "org.apache.hudi.common.model."
_DEFAULT_PAYLOAD = f"{_MODEL}DefaultHoodieRecordPayload"
_PAYLOAD_OF_0X = f"{_MODEL}OverwriteWithLatestAvroPayload"
_BY_COMMIT_TIME = frozenset(
    f"{_MODEL}{name}"
    for name in ("OverwriteWithLatestAvroPayload", "OverwriteNonDefaultsWithLatestAvroPayload", "AWSDmsAvroPayload")
)
_BY_ORDERING = frozenset(
    f"{_MODEL}{name}"
    for name in (
        "DefaultHoodieRecordPayload",
        "EventTimeAvroPayload",
        "PartialUpdateAvroPayload",
        "debezium.MySqlDebeziumAvroPayload",
        "debezium.PostgresDebeziumAvroPayload",
    )
)
PAYLOADS = _BY_COMMIT_TIME | _BY_ORDERING
"""Hudi's own payload classes for rows; no other class is ever loaded because a file names it."""

EVENT_TIME_STRATEGY = "eeb8d96f-b1e4-49fd-bbf8-28ac514178e5"
COMMIT_TIME_STRATEGY = "ce9acb64-bde0-424c-9b91-f6ebba25356d"
PAYLOAD_STRATEGY = "00000000-0000-0000-0000-000000000000"

_FIRST_WITH_MODES = 8


@dataclass(frozen=True, kw_only=True)
class Ordering:
    """The columns that decide which version of a row wins, and the rule; `ignored` if the last write wins."""

    columns: tuple[str, ...]
    decided_by: str
    ignored: bool


def columns_of(text: str | None) -> tuple[str, ...]:
    """Return the columns of a property as Hudi splits it; empty names do not count."""
    return tuple(name for name in (text or "").split(",") if name)


def version_of(properties: Mapping[str, str]) -> int | None:
    """Return the version of the table, or None where the text is no number."""
    text = properties.get("hoodie.table.version", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else None


def payload_of(properties: Mapping[str, str]) -> str | None:
    """Return the payload class that the table names, with the names of Hudi's first releases translated."""
    named = properties.get("hoodie.compaction.payload.class")
    named = properties.get("hoodie.datasource.write.payload.class") if named is None else named
    return named.replace("com.uber.hoodie", "org.apache.hudi") if named else None


def strategy_of(properties: Mapping[str, str]) -> str | None:
    """Return the id of the merge strategy."""
    found = properties.get("hoodie.record.merge.strategy.id")
    return (properties.get("hoodie.compaction.record.merger.strategy") if found is None else found) or None


def ordering_of(properties: Mapping[str, str]) -> Ordering:
    """Return the columns that Hudi 1.2.0 compares when it merges rows of this table.

    Before version 8 a stored payload class decides; from then on the merge mode does, which Hudi infers if it was left
    out (`HoodieTableConfig.inferMergingConfigsForPreV9Table`).
    """
    stored = _stored_ordering(properties)
    ignored, decided_by = _ignores_ordering(properties)
    return Ordering(columns=() if ignored else columns_of(stored), decided_by=decided_by, ignored=ignored)


def _stored_ordering(properties: Mapping[str, str]) -> str | None:
    stored = properties.get("hoodie.table.ordering.fields")
    return properties.get("hoodie.table.precombine.field") if stored is None else stored


def _ignores_ordering(properties: Mapping[str, str]) -> tuple[bool, str]:
    payload, strategy = payload_of(properties), strategy_of(properties)
    has_modes = (version_of(properties) or 0) >= _FIRST_WITH_MODES
    mode = properties.get("hoodie.record.merge.mode", "").upper() if has_modes else ""
    if mode in {"COMMIT_TIME_ORDERING", "EVENT_TIME_ORDERING"}:
        return mode == "COMMIT_TIME_ORDERING", f"hoodie.record.merge.mode {mode}"
    if has_modes and strategy in {COMMIT_TIME_STRATEGY, EVENT_TIME_STRATEGY}:
        return strategy == COMMIT_TIME_STRATEGY, f"hoodie.record.merge.strategy.id {strategy}"
    payload = payload or _DEFAULT_PAYLOAD
    return payload in _BY_COMMIT_TIME, f"hoodie.compaction.payload.class {payload}"


@dataclass(frozen=True, kw_only=True)
class EarlierMerge:
    """How Hudi 0.x merges the log records of a table that Hudi 1.2.0 merges by another rule."""

    ordering: str
    """The column by which 0.x ranks the records of a key among log files."""

    payload: str
    """The short name of the payload class that 0.x uses, stored or assumed."""

    is_stored: bool
    """Whether the table names the payload class."""


def earlier_merge_of(properties: Mapping[str, str]) -> EarlierMerge | None:
    """Return the rule by which Hudi 0.x merges a table's log records; None if 1.2.0 has the same rule.

    0.x ranks log records by the ordering column whatever the payload (`HoodieMergedLogRecordScanner`,
    `OverwriteWithLatestAvroPayload.preCombine`), and asks the payload only about the base file. 1.2.0 asks one rule
    about both (`BufferedRecordMergerFactory`). Releases from 1.0 on write versions 8 and 9 by the rule of 1.2.0.
    """
    version, ordering = version_of(properties), _stored_ordering(properties)
    if version is None or version >= _FIRST_WITH_MODES or properties.get("hoodie.table.type") != "MERGE_ON_READ":
        return None
    payload = payload_of(properties)
    if not ordering or (payload is not None and payload not in PAYLOADS):
        return None
    name = (payload or _PAYLOAD_OF_0X).removeprefix(_MODEL)
    return EarlierMerge(ordering=ordering, payload=name, is_stored=payload is not None)
