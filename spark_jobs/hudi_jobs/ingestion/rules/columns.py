"""Refuses columns that a batch cannot be written with, and values of keys and partitions that are not whole.

Hudi puts a value into the path unchanged, unless the table encodes its partitions. Then `..` leads out of the table,
empty names vanish, readers ignore a folder of Hudi's own and decode escapes, and a colon in the first name is taken for
a scheme. Rows would lie elsewhere, be lost, or come back changed. With several columns, `a/p2=b` and `c` make the
folder of `a` and `b/p2=c`, and no query of the table reads any row any more (seen with Hudi 1.2.0 and Spark 3.5).

Hudi 1.2.0 joins the columns of a record key without an escape: `k1:a,k2:b,k2:c` is the key of ('a,k2:b', 'c') and of
('a', 'b,k2:c').
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql import functions as sf
from pyspark.sql.types import BinaryType, StringType, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import INDEX_KEY, FailureReason, TableType, Task, WriteOperation
from hudi_jobs.schemas.partition_times import TimeKeys, require_utc
from hudi_jobs.schemas.types import column_named
from hudi_jobs.schemas.writable import Finding, Roles, findings, lists_of_one_field, twins, unread_partitions
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import HudiTable, read_rows

_LONGEST_BYTES = 240
"""File systems allow names of 255 bytes, including the name of the column before the value."""

_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_TRUE = "true"

_EMPTY_NAME = "^/|//|/$"
_OWN_NAME = "/[.](hoodie|hudi-operator)"
_LEADS_AWAY = "^[.]{1,2}/|/[.]{1,2}(/|$)"
_ESCAPE = "%[0-9A-Fa-f]{2}"
_CONTROL = r"[\x00-\x1f\x7f-\x9f]"
_SCHEME = "^[^/]*:"
_ALONE = "^[.]{1,2}$|^[.](hoodie|hudi-operator)"
"""Values, and beginnings of values, that cannot be a name by themselves."""

_BEGINS_ANOTHER = "/[^/]*="
"""The text that Spark takes for the beginning of another column, if folders have the names of several columns."""

_NUL = r"\x00"
_DAY = r"^\d{4}-\d\d-\d\d$"


@dataclass(frozen=True)
class PartitionStyle:
    """How a table makes a path of a value: with the column's name, with escapes, of days as `2026/01/02`, of times."""

    named: bool = True
    encoded: bool = False
    slashed: bool = False
    times: TimeKeys | None = None

    @classmethod
    def of(cls, table: HudiTable | None) -> "PartitionStyle":
        """Return the style of an existing table, or the operator's style for a new table."""
        if table is None:
            return cls()
        properties = table.properties

        def is_set(key: str) -> bool:
            return properties.get(f"hoodie.datasource.write.{key}", "").lower() == _TRUE

        return cls(
            named=is_set("hive_style_partitioning"),
            encoded=is_set("partitionpath.urlencode"),
            slashed=is_set("slash.separated.date.partitioning"),
            times=TimeKeys.of(properties),
        )

    def is_time(self, name: str) -> bool:
        """Tell whether the values of a column are times."""
        return self.times is not None and name in self.times.columns


def require_zones(context: TaskContext, table: HudiTable | None, schema: StructType, style: PartitionStyle) -> None:
    """Raise `TaskFailed` when the zone of a table's partitions is not certain."""
    if table is None or style.times is None:
        return
    for name in style.times.columns:
        if style.times.depends_on_the_writer(schema[name].dataType):
            alone = len(style.times.columns) == 1 and len(table.partition_columns) == 1
            rows = read_rows(context.spark, table.base_path, context.task.hudi_options)
            shown = style.times.offsets_shown(rows, name, named=style.named, encoded=style.encoded)
            require_utc(shown if alone else None, table.base_path, name)


def any_of(conditions: Mapping[str, Column]) -> Column:
    """Return the condition that one of the conditions by column holds."""
    return reduce(or_, conditions.values(), never())


def misplaced(schema: StructType, partition_by: Sequence[str], style: PartitionStyle) -> dict[str, Column]:
    """Return for each column the condition that its value gives a row no separate folder inside the table.

    A missing value is in the default partition. Types other than text always make plain names.
    """
    plain = [name for name in partition_by if not style.is_time(name)]
    texts = [name for name in plain if isinstance(schema[name].dataType, StringType | BinaryType)]
    conditions = {name: _is_misplaced(name, style, partition_by) for name in texts}
    if style.slashed and not style.named and len(partition_by) == 1:
        for name in plain:
            is_no_day = sf.coalesce(~column_named(name).cast("string").rlike(_DAY), never())
            conditions[name] = conditions.get(name, never()) | is_no_day
    if style.times is not None:
        conditions |= {name: style.times.misplaced(name, schema[name].dataType) for name in style.times.columns}
    return conditions


def _is_misplaced(name: str, style: PartitionStyle, partition_by: Sequence[str]) -> Column:
    value = column_named(name).cast("string")
    patterns = [_NUL] if style.encoded else [_EMPTY_NAME, _OWN_NAME, _LEADS_AWAY, _ESCAPE, _CONTROL]
    if name == partition_by[0] and not style.encoded:
        patterns.append(_SCHEME)
    if len(partition_by) > 1 and not style.encoded:
        patterns.append(_BEGINS_ANOTHER if style.named else "/")
    if not style.named:
        patterns.append(_ALONE)
    wrong = value.rlike("|".join(patterns)) | (sf.octet_length(value) > _LONGEST_BYTES) | (value == _NO_VALUE)
    return sf.coalesce(wrong, never())


def never() -> Column:
    """Return the condition that holds for no row."""
    return sf.expr("false")


NOTHING = ("__null__", "__empty__")
"""Hudi's text in a key of several columns for a column without a value (`KeyGenUtils`)."""


def without_key(schema: StructType, keys: Sequence[str]) -> dict[str, Column]:
    """Return for each column the condition that it lacks its part of a row's record key.

    A null part is never whole; Hudi also refuses a key with only empty texts, which the first column stands for.
    """
    parts = {name: column_named(name).isNull() for name in keys}
    if all(isinstance(schema[name].dataType, StringType) for name in keys):
        parts[keys[0]] |= reduce(and_, (column_named(name) == "" for name in keys))
    return parts


def ambiguous_keys(schema: StructType, keys: Sequence[str]) -> dict[str, Column]:
    """Return for columns of a record key the condition that another row may have the same key.

    The condition is null if the value is. Only a column before a later text column is ambiguous: after the last text,
    columns are told apart from the right, because no number, date or time holds a comma.
    """
    texts = [name for name in keys if isinstance(schema[name].dataType, StringType)] if len(keys) > 1 else []
    conditions = {name: column_named(name).isin(*NOTHING) for name in texts}
    following = dict(pairwise(keys))
    for name in texts[:-1]:
        conditions[name] |= column_named(name).contains(f",{following[name]}:")
    return conditions


_SMALL_FILES = "hoodie.parquet.small.file.limit"
_OF_OLD_LISTS = ("is not a group", "Parquet/Avro schema mismatch")
"""The signs of Hudi's failure to read a list of structs with one field (apache/hudi#19782, apache/hudi#5985)."""

_MOST = 5


def roles_of(task: Task, operation: WriteOperation, table: HudiTable | None) -> Roles:
    """Return the roles of the columns of a task's table; the table is None before its first commit."""
    definition, options = task.table, task.hudi_options
    # Updates of a MergeOnRead table go to log files, unless the same batch has new rows for the small base file.
    in_logs = options.get(INDEX_KEY, "").startswith("Bucket") or options.get(_SMALL_FILES) == "0"
    times = PartitionStyle.of(table).times
    return Roles(
        record_key=definition.record_key,
        partition_by=definition.partition_by,
        ordering=definition.ordering_fields,
        operation=operation,
        rewrites=definition.type is TableType.COPY_ON_WRITE or not in_logs,
        times=frozenset() if times is None else times.columns,
    )


def require_distinct_names(schema: StructType) -> None:
    """Raise `TaskFailed` for columns with the same name; no later check works on a frame with such columns."""
    _require(list(twins(schema)))


def require_writable(schema: StructType, roles: Roles, stored: StructType | None) -> None:
    """Raise `TaskFailed` for columns that Hudi cannot write or read back; `stored` are the table's columns."""
    _require(list(findings(schema, roles, stored=stored)))


def partitions_unread(table: HudiTable | None, schema: StructType | None, roles: Roles) -> str:
    """Return a remark on partition columns of an existing table with values that readers do not get back.

    Encoded folder names may come from a writer with times that readers understand.
    """
    if schema is None or PartitionStyle.of(table).encoded:
        return ""
    return " ".join(one.sentence for one in unread_partitions(schema, roles.partition_by, roles.times))


def explained(failure: TaskFailed, schema: StructType, roles: Roles) -> TaskFailed:
    """Return a failure of Hudi with the columns of the table that are known to fail."""
    if failure.reason is not FailureReason.HUDI_ERROR:
        return failure
    known = [one.sentence for one in findings(schema, roles)]
    lists = lists_of_one_field(schema) if any(text in failure.message for text in _OF_OLD_LISTS) else ()
    known += [
        f"The column {column} is an array of structs with one field, which Hudi cannot read in files of releases until "
        "now; cluster the table once, or compact it."
        for column, _ in lists
    ]
    if not known:
        return failure
    return TaskFailed(
        failure.reason, f"{failure.message.rstrip()} Known to fail in this table: {' '.join(known[:_MOST])}"
    )


def _require(found: Sequence[Finding]) -> None:
    if found:
        more = f" And {len(found) - _MOST} more." if len(found) > _MOST else ""
        sentences = " ".join(one.sentence for one in found[:_MOST])
        raise TaskFailed(FailureReason.SCHEMA_INCOMPATIBLE, f"{sentences}{more} Nothing was written.")
