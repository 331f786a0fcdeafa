"""Checks that Hudi 1.2.0 merges a table's log files to the same rows as the tool that wrote them.

Hudi 1.2.0 reads the same rows before and after a compaction, so its own reads reveal no difference.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.functions import broadcast, expr

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.merging import EarlierMerge, earlier_merge_of, ordering_of
from hudi_jobs.contract.table.properties import printable, record_key_of
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.preflight.log_records import LoggedRecords, NotComparable, delete_schema, logged_records, wrappers
from hudi_jobs.preflight.merge_rules import MERGING_FIELDS, NATURAL, OTHER, RECORD, asks_base, differs, may_differ
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.jvm import classes
from hudi_jobs.table import HudiTable, read_rows, with_times

_META_FIELDS = "hoodie.populate.meta.fields"
_UNMERGED = {"hoodie.datasource.merge.type": "skip_merge"}
_BASE_FILES = {"hoodie.datasource.query.type": "read_optimized"}
_LISTED = {"hoodie.metadata.enable": "false"}
"""Lists files from folders, as for the blocks."""

_KEY, _INSTANT = "_hoodie_record_key", "_hoodie_commit_time"
_NUMBER = "CAST(substring_index(_hoodie_commit_seqno, '_', -1) AS bigint)"
_GROUP_OF_FILE = "substring_index(ltrim('.', substring_index(input_file_name(), '/', -1)), '_', 1)"
_GROUP = "substring_index(_hoodie_file_name, '_', 1)"
"""A row's file name begins with its group in a base file, and equals it in a log file."""

_IS_DELETED = "_hoodie_is_deleted"
_NUMBERS = ("IntWrapper", "LongWrapper", "FloatWrapper", "DoubleWrapper")
_WRAPPERS: Mapping[str, tuple[str, ...]] = {
    "int": _NUMBERS,
    "bigint": _NUMBERS,
    "float": _NUMBERS,
    "double": _NUMBERS,
    "boolean": ("BooleanWrapper",),
    "string": ("StringWrapper",),
    "decimal": ("DecimalWrapper",),
    "timestamp": ("LongWrapper", "TimestampMicrosWrapper"),
    "date": ("DateWrapper", "IntWrapper"),
}
"""The wrappers that may hold a delete's ordering value, by the column's type."""

_MADE_OF_NUMBERS = {"timestamp": "timestamp_micros", "date": "date_from_unix_date"}
_SAME_CLASS = {
    "int": "IntWrapper",
    "bigint": "LongWrapper",
    "timestamp": "LongWrapper",
    "float": "FloatWrapper",
    "double": "DoubleWrapper",
    "boolean": "BooleanWrapper",
}
"""Delete values of the same class as a row's, so that 0.x ranks them (`ReflectionUtils.isSameClass`).

Hudi takes a row's value as Avro has it, and a delete's text, day or decimal as an object of another class.
"""


def keys_merged_otherwise(
    spark: SparkSession, table: HudiTable, merge: EarlierMerge, options: Mapping[str, str]
) -> DataFrame | None:
    """Return file group and key of each row that Hudi 1.2.0 merges differently; None if there can be none.

    Spark reads and compares the rows. The driver holds the list of blocks and the keys of deletes. Raises
    `NotComparable` if the log files cannot be compared.
    """
    now = ordering_of(table.properties)
    with with_times(spark, table, options) as timed:
        logged = logged_records(spark, timed).written_earlier(behind_others=not asks_base(merge, now))
    if not logged.groups:
        return None
    read = _read(spark, table, merge, options)
    if table.properties.get(_META_FIELDS, "true").lower() == "false":
        by_key = _told_apart_by_order(read, logged, record_key_of(table.properties))
    else:
        rows = _rows_of_blocks(spark, read, logged)
        by_key = _by_key(rows.unionByName(_deletes(spark, logged, read.kind)))
        if asks_base(merge, now):
            found = read.base.selectExpr(f"{_GROUP} AS file_group", f"{_KEY} AS key", f"{read.ordering} AS base")
            by_key = by_key.join(found, ["file_group", "key"], "left")
    return by_key.filter(may_differ(merge, now)).filter(differs(merge, now, read.kind)).select("file_group", "key")


@dataclass(frozen=True)
class _Read:
    """The rows of base and log files, those of base files alone, and SQL for their ordering and gaps."""

    unmerged: DataFrame
    base: DataFrame
    kind: str
    ordering: str
    partial: str


def _read(spark: SparkSession, table: HudiTable, merge: EarlierMerge, options: Mapping[str, str]) -> _Read:
    unmerged, base = (read_rows(spark, table.base_path, options, **_LISTED, **how) for how in (_UNMERGED, _BASE_FILES))
    kind = _kind(spark, table, unmerged, merge.ordering)
    partial = _is_partial(spark, table, unmerged) if merge.payload in MERGING_FIELDS else "false"
    return _Read(unmerged, base, kind, _ordering(merge.ordering, kind), partial)


def _rows_of_blocks(spark: SparkSession, read: _Read, logged: LoggedRecords) -> DataFrame:
    """Return the rows of log files: rows of instants with a block in their group; base files are older."""
    logged_since = replace(read, unmerged=read.unmerged.filter(f"{_INSTANT} >= '{logged.oldest}'"))
    rows = _rows(logged_since, instant=_INSTANT)
    return rows.join(broadcast(logged.blocks(spark)), ["file_group", "instant"]).drop("instant")


def _by_key(records: DataFrame) -> DataFrame:
    in_order = expr(f"array_sort(collect_list(struct({', '.join(RECORD)})))").alias("records")
    return records.groupBy("file_group", "key").agg(in_order)


def _told_apart_by_order(read: _Read, logged: LoggedRecords, keys: Sequence[str]) -> DataFrame:
    """Return the records of each key if rows lack Hudi's meta fields.

    Hudi reads a slice's base file first and then its blocks, oldest first (`UnmergedFileGroupRecordBuffer`). The
    operator's own rows are unknown: all rows count as another tool's.
    """
    if logged.has_deletes:
        raise NotComparable(f"log files hold deletes, and rows without the fields of Hudi's own ({_META_FIELDS}).")
    key = f"to_json(struct({', '.join(map(_quoted, keys))}))"
    rows = _rows(read, group=_GROUP_OF_FILE, key=key, number="monotonically_increasing_id()").drop("instant")
    by_key = _by_key(rows.selectExpr("*", "0 AS place", "true AS is_earlier"))
    columns = (f"{_GROUP_OF_FILE} AS file_group", f"{key} AS key", f"{read.ordering} AS base", "true AS is_in_base")
    by_key = by_key.join(read.base.selectExpr(*columns), ["file_group", "key"], "left")
    logged_alone = "IF(is_in_base, slice(records, 2, size(records)), records)"
    found = by_key.selectExpr("file_group", "key", "base", f"{logged_alone} AS records")
    return found.filter("size(records) > 0")


def _rows(
    read: _Read, *, group: str = _GROUP, key: str = _KEY, number: str = _NUMBER, instant: str = "NULL"
) -> DataFrame:
    """Return the rows of base and log files as records without a place."""
    deleted = f"coalesce({_IS_DELETED}, false)" if _IS_DELETED in read.unmerged.columns else "false"
    return read.unmerged.selectExpr(
        f"{group} AS file_group",
        f"{instant} AS instant",
        f"{key} AS key",
        f"{number} AS number",
        f"{read.ordering} AS ordering",
        f"{deleted} AS is_deleted",
        "false AS is_block",
        "true AS is_comparable",
        "false AS is_natural",
        f"({read.partial}) AS is_partial",
    )


def _deletes(spark: SparkSession, logged: LoggedRecords, kind: str) -> DataFrame:
    schema = delete_schema(spark)
    values = {name: f"one.orderingVal.member{place}.value" for place, name in enumerate(wrappers(schema))}
    same = f"{values[_SAME_CLASS[kind]]} IS NOT NULL" if kind in _SAME_CLASS else "false"
    listed = from_avro("content", schema).alias("listed")
    found = logged.deletes(spark).select("file_group", "place", "is_earlier", listed)
    return found.selectExpr("*", "explode(listed.deleteRecordList) AS one").selectExpr(
        "file_group",
        "place",
        "is_earlier",
        "one.recordKey AS key",
        "CAST(0 AS bigint) AS number",
        f"{_ordering_of_delete(values, kind)} AS ordering",
        "true AS is_deleted",
        "true AS is_block",
        f"{same} AS is_comparable",
        f"(one.orderingVal IS NULL OR coalesce({values['IntWrapper']} = 0, false)) AS is_natural",
        "false AS is_partial",
    )


def _ordering_of_delete(values: Mapping[str, str], kind: str) -> str:
    if kind in {NATURAL, OTHER}:
        return _ordering("", kind)
    made = _MADE_OF_NUMBERS.get(kind)
    found = (values[name] for name in _WRAPPERS[kind.partition("(")[0]])
    return f"coalesce({', '.join(f'{made}({one})' if made else f'CAST({one} AS {kind})' for one in found)})"


def _ordering(name: str, kind: str) -> str:
    return {OTHER: "CAST(NULL AS string)", NATURAL: "CAST(0 AS bigint)"}.get(kind) or _quoted(name)


def _is_partial(spark: SparkSession, table: HudiTable, rows: DataFrame) -> str:
    """Return the condition for a row with gaps: a null, or a default, which may be any value."""
    if any(field.get("default") is not None for field in _schema(spark, table)["fields"]):
        return "true"
    return " OR ".join(f"{_quoted(name)} IS NULL" for name in rows.columns if not name.startswith("_hoodie_"))


def _quoted(name: str) -> str:
    return f"`{name.replace('`', '``')}`"


def _kind(spark: SparkSession, table: HudiTable, rows: DataFrame, name: str) -> str:
    """Return the Spark type of the ordering column, `OTHER` or `NATURAL`.

    0.x misses nested or absent columns in log records (`SpillableMapUtils.getPreCombineVal`). It ranks a decimal that
    is no `fixed` by its bytes. A delete holds a `timestamp-millis` in milliseconds.
    """
    found = next((field for field in rows.schema.fields if field.name == name), None)
    if found is None:
        return NATURAL
    kind = found.dataType.simpleString()
    if kind.partition("(")[0] not in _WRAPPERS:
        return OTHER
    written = list(_written_types(_schema(spark, table), name))
    wanted = {"timestamp": ("logicalType", "timestamp-micros"), "decimal": ("type", "fixed")}.get(
        kind.partition("(")[0]
    )
    if wanted is not None and not all(isinstance(each, dict) and each.get(wanted[0]) == wanted[1] for each in written):
        return OTHER
    return kind


def _schema(spark: SparkSession, table: HudiTable) -> Mapping[str, Any]:
    resolver = classes(spark).org.apache.hudi.common.table.TableSchemaResolver(table.meta)
    found: Mapping[str, Any] = json.loads(str(resolver.getTableSchema().toString()))
    return found


def _written_types(schema: Mapping[str, Any], name: str) -> Iterator[Any]:
    """Yield the Avro types of a column, without null."""
    for field in schema["fields"]:
        if field["name"] == name:
            kinds = field["type"] if isinstance(field["type"], list) else [field["type"]]
            yield from (kind for kind in kinds if kind != "null")


_NAMED = 3
_ADVICE = (
    "Compact the table once with the tool that wrote it, which writes the rows that it reads; or leave the table in "
    "Observe."
)


def require_same_merge(context: TaskContext, table: HudiTable, doing: str) -> None:
    """Raise `TaskFailed` if log files would merge to different rows; `doing` names the merging operation."""
    sentence = merge_refusal(context, table, doing)
    if sentence is not None:
        raise TaskFailed(FailureReason.ROWS_WOULD_CHANGE, f"{sentence} Nothing was planned.")


def merge_refusal(context: TaskContext, table: HudiTable, doing: str) -> str | None:
    """Return why log files may not be merged, or None.

    The opened table's properties tell for free whether rows can differ; only then the table is read again.
    """
    merge = earlier_merge_of(table.properties)
    if merge is None:
        return None
    with stage("The log files of the table cannot be compared", otherwise=FailureReason.HUDI_ERROR):
        now = HudiTable.existing(context.spark, table.base_path)
        try:
            found = keys_merged_otherwise(context.spark, now, merge, context.task.hudi_options)
        except NotComparable as reason:
            return f"{doing} of {table.base_path} may change rows: {reason} {_ADVICE}"
        return None if found is None else _told(found, merge, f"{doing} of {table.base_path}")


def _told(found: DataFrame, merge: EarlierMerge, doing: str) -> str | None:
    groups = found.groupBy("file_group").count()
    keys, number = groups.selectExpr("coalesce(sum(count), 0)", "count(*)").collect()[0]
    if not keys:
        return None
    named = [printable(row.file_group) for row in groups.orderBy("count", "file_group", ascending=False).take(_NAMED)]
    payload = merge.payload if merge.is_stored else "no payload class"
    return (
        f"{doing} would change {counted(keys, 'row')}. Log files hold late changes: Hudi 0.x ranks them by "
        f"{printable(merge.ordering)}, and Hudi 1.2.0 merges them otherwise (table version 6, {payload}). File groups: "
        f"{listed(named, _NAMED, count=number)}. {_ADVICE}"
    )
