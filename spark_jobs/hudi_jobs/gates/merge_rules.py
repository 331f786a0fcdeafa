"""Which keys Hudi 1.2.0 merges to another row than Hudi 0.x: both rules as Spark SQL, over the log records of a key.

A key's `records` are an array in the order of their writes, of structs with the fields of `RECORD`. A rule goes through
them and keeps one, `s`, or takes the next one, `r`.
"""

from hudi_jobs.contract.table.merging import EarlierMerge, Ordering

RECORD = (
    "place", "number", "ordering", "is_deleted", "is_block", "is_comparable", "is_natural", "is_earlier", "is_partial"
)  # fmt: skip
"""`is_block` marks deletes, `is_natural` those without an ordering value, and `is_comparable` those that 0.x ranks.

`is_earlier` marks what another tool wrote, and `is_partial` rows with a column that is null.
"""

OTHER, NATURAL = "other", "natural"
"""Types of an ordering column whose values 0.x does not compare as Spark does, or does not find in log records."""

_EXACT = frozenset({"int", "bigint", "float", "double", "boolean", "string", "date", "timestamp"})
"""Types of which 0.x compares the values as Spark does; others it compares as bytes, or not at all."""

_LIKE_ENGINE = frozenset({"int", "bigint", "float", "double", "boolean", "timestamp"})
"""Types of which 1.2.0 finds the ordering value of a delete to be of the same class as that of a row."""

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
"""When 1.2.0 keeps the row of the base file (`EventTimeRecordMerger.finalMerge`)."""

_BY_COMMIT_TIME = "false"
"""`CommitTimeRecordMerger`; payloads that ignore the ordering merge alike in `CustomPayloadRecordMerger`."""

MERGING_FIELDS = frozenset({"OverwriteNonDefaultsWithLatestAvroPayload"})
"""1.2.0 fills what a row leaves out from the log record before, and 0.x from the base file alone."""

_RANKING_ROWS = frozenset({"PartialUpdateAvroPayload"})
"""1.2.0 ranks rows as 0.x does, and lets a delete win that comes late."""

_IN_ORDER = frozenset({"debezium.MySqlDebeziumAvroPayload"})
"""Both rules give the same while nothing comes late."""

_UNKNOWN = frozenset({"debezium.PostgresDebeziumAvroPayload"})
"""Values that stand for others are filled in from the base file by 0.x, from the log record before by 1.2.0."""

_ASKS_BASE = frozenset({"DefaultHoodieRecordPayload", "EventTimeAvroPayload"})
_REST = "slice(records, 2, size(records))"
_AGAIN = f"exists({_REST}, r -> r.is_earlier)"
"""Whether another tool wrote a record of the key behind another one."""


def asks_base(merge: EarlierMerge, now: Ordering) -> bool:
    """Tell whether what a rule gives depends on the row in the base file."""
    return _is_event_time(merge, now)


def may_differ(merge: EarlierMerge, now: Ordering) -> str:
    """Return a condition that holds for every key of which the rules may give two rows."""
    if not _is_event_time(merge, now):
        return "size(records) > 1"
    if not merge.is_stored:
        return "true"
    return "size(records) > 1 OR records[0].is_block AND NOT records[0].is_natural"


def differs(merge: EarlierMerge, now: Ordering, kind: str) -> str:
    """Return the condition that holds for a key of which the rules give two rows, or of which that cannot be told.

    `kind` is the type of the ordering column in Spark, and the column `base` its value in the base file, where needed.
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
    """Return what is left of a record `x` over the base file, as a text that no other record has."""
    kept = (
        f"CASE WHEN {keeps_base} THEN 'base' WHEN x.is_deleted THEN 'gone' ELSE concat_ws('/', x.place, x.number) END"
    )
    return f"transform(array({record}), x -> {kept})[0]"


def _base_wins(merge: EarlierMerge) -> str:
    """Return when 0.x keeps the row of the base file, over which a block of deletes always wins."""
    if merge.payload not in _ASKS_BASE:
        return "false"
    deletes = "x.is_deleted" if merge.payload == "EventTimeAvroPayload" else "x.is_block"
    return f"NOT {deletes} AND base > x.ordering"


def _late(of: str = "") -> str:
    """Return whether a record, of those that a condition is for, comes behind one with a greater ordering value."""
    places = "IF(size(records) > 1, sequence(1, size(records) - 1), CAST(array() AS array<int>))"
    before = "exists(slice(records, 1, i), x -> NOT x.is_natural AND x.ordering > records[i].ordering)"
    return f"exists({places}, i -> {of} NOT records[i].is_natural AND {before})"


def _untold(kind: str) -> str:
    """Return whether the ordering values are such that 0.x cannot rank them, or ranks their bytes."""
    if kind == NATURAL:
        return "false"
    if kind in _EXACT:
        return "exists(records, x -> NOT x.is_natural AND x.ordering IS NULL)"
    if kind.startswith("decimal"):
        return "exists(records, x -> NOT x.is_natural AND (x.ordering IS NULL OR x.ordering < 0))"
    return "true"


def _other_classes(kind: str) -> str:
    return "false" if kind in _LIKE_ENGINE else "exists(records, x -> x.is_block AND NOT x.is_natural)"
