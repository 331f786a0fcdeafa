"""Finds keys that Hudi 1.2.0 merges differently from Hudi 0.x: both rules as Spark SQL over a key's log records.

A key's `records` are an array in write order, of structs with the fields of `RECORD`. A rule folds over them, keeping
the current `s` or taking the next `r`.
"""

from hudi_jobs.contract.table.merging import EarlierMerge, Ordering

RECORD = (
    "place", "number", "ordering", "is_deleted", "is_block", "is_comparable", "is_natural", "is_earlier", "is_partial"
)  # fmt: skip
"""`is_block` marks deletes, `is_natural` deletes without an ordering value, `is_comparable` records that 0.x ranks.

`is_earlier` marks another tool's records, and `is_partial` rows with a null column.
"""

OTHER, NATURAL = "other", "natural"
"""Types of an ordering column that 0.x compares differently from Spark, or misses in log records."""

_EXACT = frozenset({"int", "bigint", "float", "double", "boolean", "string", "date", "timestamp"})
"""Types that 0.x compares as Spark does; it compares other types as bytes, or not at all."""

_LIKE_ENGINE = frozenset({"int", "bigint", "float", "double", "boolean", "timestamp"})
"""Types with the same class for the ordering values of a delete and of a row in 1.2.0."""

_EARLIER_KEEPS = """
CASE WHEN r.is_block THEN NOT r.is_natural AND r.is_comparable AND NOT s.is_block AND s.ordering > r.ordering
ELSE NOT s.is_block AND s.ordering > r.ordering END
"""
"""`HoodieMergedLogRecordScanner.processNextRecord` and `.processNextDeletedRecord` of 0.14 and 0.15."""

_BY_EVENT_TIME = """
CASE WHEN s.is_block AND s.is_natural THEN r.is_block
ELSE NOT (r.is_block AND r.is_natural) AND s.ordering > r.ordering END
"""
"""`BufferedRecordMergerFactory.EventTimeRecordMerger` of 1.2.0."""

_BASE_WINS = "NOT (x.is_block AND x.is_natural) AND base > x.ordering"
"""When 1.2.0 keeps the base file's row (`EventTimeRecordMerger.finalMerge`)."""

_BY_COMMIT_TIME = "false"
"""`CommitTimeRecordMerger`; payloads that ignore the ordering merge the same way in `CustomPayloadRecordMerger`."""

MERGING_FIELDS = frozenset({"OverwriteNonDefaultsWithLatestAvroPayload"})
"""1.2.0 fills a row's gaps from the log record before, 0.x only from the base file."""

_RANKING_ROWS = frozenset({"PartialUpdateAvroPayload"})
"""1.2.0 ranks rows as 0.x does, but lets a late delete win."""

_IN_ORDER = frozenset({"debezium.MySqlDebeziumAvroPayload"})
"""Both rules agree as long as no record is late."""

_UNKNOWN = frozenset({"debezium.PostgresDebeziumAvroPayload"})
"""0.x fills placeholder values from the base file, 1.2.0 from the log record before."""

_ASKS_BASE = frozenset({"DefaultHoodieRecordPayload", "EventTimeAvroPayload"})
_REST = "slice(records, 2, size(records))"
_AGAIN = f"exists({_REST}, r -> r.is_earlier)"
"""Whether another tool wrote a record of the key after another record."""


def asks_base(merge: EarlierMerge, now: Ordering) -> bool:
    """Tell whether a rule's result depends on the base file's row."""
    return _is_event_time(merge, now)


def may_differ(merge: EarlierMerge, now: Ordering) -> str:
    """Return a condition that holds for every key that the rules may merge differently."""
    if not _is_event_time(merge, now):
        return "size(records) > 1"
    if not merge.is_stored:
        return "true"
    return "size(records) > 1 OR records[0].is_block AND NOT records[0].is_natural"


def differs(merge: EarlierMerge, now: Ordering, kind: str) -> str:
    """Return the condition for keys that the rules merge to different, or unknown, rows.

    `kind` is the ordering column's Spark type, and the column `base` its value in the base file, if needed.
    """
    if merge.payload in _UNKNOWN:
        return _AGAIN
    if merge.payload in _RANKING_ROWS:
        return f"{_AGAIN} AND ({_late(of='records[i].is_block AND')} OR {_untold(kind)})"
    if merge.payload in _IN_ORDER:
        return f"{_AGAIN} AND ({_late()} OR {_untold(kind)})"
    event = _is_event_time(merge, now)
    rule = _BY_EVENT_TIME if event else _BY_COMMIT_TIME
    was = _folded(f"CASE WHEN r.is_earlier THEN {_EARLIER_KEEPS} ELSE {rule} END")
    becomes = _folded(rule)
    if event:
        earlier = f"IF(x.is_earlier, {_base_wins(merge)}, {_BASE_WINS})"
        found = f"{_result(was, earlier)} <> {_result(becomes, _BASE_WINS)}"
        unsure = f"{_AGAIN} AND ({kind == NATURAL} OR {_untold(kind)} OR {_other_classes(kind)})"
        return f"{found} OR {unsure}"
    found = f"{_result(was)} <> {_result(becomes)} OR {_AGAIN} AND {_untold(kind)}"
    if merge.payload in MERGING_FIELDS:
        found = f"{found} OR {_AGAIN} AND element_at(records, -1).is_partial AND NOT element_at(records, -2).is_block"
    return found


def _is_event_time(merge: EarlierMerge, now: Ordering) -> bool:
    return not now.ignored and (merge.payload in _ASKS_BASE or not merge.is_stored)


def _folded(keeps: str) -> str:
    return f"aggregate({_REST}, records[0], (s, r) -> CASE WHEN {keeps} THEN s ELSE r END)"


def _result(record: str, keeps_base: str = "false") -> str:
    """Return the result of merging a record `x` over the base file, as a text unique to the record."""
    kept = (
        f"CASE WHEN {keeps_base} THEN 'base' WHEN x.is_deleted THEN 'gone' ELSE concat_ws('/', x.place, x.number) END"
    )
    return f"transform(array({record}), x -> {kept})[0]"


def _base_wins(merge: EarlierMerge) -> str:
    """Return when 0.x keeps the base file's row; a delete block always wins over it."""
    if merge.payload not in _ASKS_BASE:
        return "false"
    deletes = "x.is_deleted" if merge.payload == "EventTimeAvroPayload" else "x.is_block"
    return f"NOT {deletes} AND base > x.ordering"


def _late(of: str = "") -> str:
    """Return whether a record (matching the condition) follows a record with a greater ordering value."""
    places = "IF(size(records) > 1, sequence(1, size(records) - 1), CAST(array() AS array<int>))"
    before = "exists(slice(records, 1, i), x -> NOT x.is_natural AND x.ordering > records[i].ordering)"
    return f"exists({places}, i -> {of} NOT records[i].is_natural AND {before})"


def _untold(kind: str) -> str:
    """Return whether 0.x cannot rank the ordering values, or ranks their bytes."""
    if kind == NATURAL:
        return "false"
    if kind in _EXACT:
        return "exists(records, x -> NOT x.is_natural AND x.ordering IS NULL)"
    if kind.startswith("decimal"):
        return "exists(records, x -> NOT x.is_natural AND (x.ordering IS NULL OR x.ordering < 0))"
    return "true"


def _other_classes(kind: str) -> str:
    return "false" if kind in _LIKE_ENGINE else "exists(records, x -> x.is_block AND NOT x.is_natural)"
