"""Checks the rows of a batch before the write: computes them, conforms and counts them, sets bad rows aside.

The plan is checked twice before anything runs: as parsed, when nothing has been looked up yet, and as resolved, in a
session that knows only the view.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask, Location, TableDefinition, WriteOperation
from hudi_jobs.contract.table.columns import DeclaredSchema
from hudi_jobs.ingestion.order import (
    last_of_each,
    leaves_one_of_each,
    lost_deletes,
    require_declared_order,
    require_deletes,
    require_marks,
    with_mark_of_deletes,
)
from hudi_jobs.ingestion.rows import IS_DELETED, PLACE, SEQUENCE, SourceRows
from hudi_jobs.ingestion.rules.columns import (
    PartitionStyle,
    ambiguous_keys,
    misplaced,
    never,
    partitions_unread,
    require_distinct_names,
    require_writable,
    require_zones,
    roles_of,
    without_key,
)
from hudi_jobs.ingestion.rules.quality import (
    Counts,
    Faults,
    count_unparsable,
    keep,
    observed,
    observed_faults,
    refuse,
    without_order,
)
from hudi_jobs.ingestion.rules.quarantine import quarantine
from hudi_jobs.query.rules import PlanReader, QueryRules, require_parsable, too_large
from hudi_jobs.query.session import bare_session
from hudi_jobs.schemas.columns import require_names
from hudi_jobs.schemas.declared import declared_struct, fitted, with_comments
from hudi_jobs.schemas.gate import Rules, conform, conform_keys, require_columns
from hudi_jobs.schemas.row_faults import UNFIT, is_unfit, with_checked_texts
from hudi_jobs.schemas.types import cast, nullable, with_stored_integers
from hudi_jobs.schemas.untyped import require_types, without_untyped
from hudi_jobs.schemas.writable import Roles
from hudi_jobs.spark.failures import TaskFailed, causes_of, stage
from hudi_jobs.spark.jvm import JavaObject, frame_of, parsed_plan, resolved_plan
from hudi_jobs.table import HudiTable

VIEW = "source"

_TOO_LARGE = frozenset({"java.lang.StackOverflowError", "java.lang.IllegalStateException: PLAN_TOO_LARGE"})


def apply_transform(spark: SparkSession, rows: DataFrame, sql: str | None) -> DataFrame:
    """Return the rows of the query, or the rows themselves without a query."""
    if sql is None:
        return rows
    with stage("The transform is not valid", otherwise=FailureReason.TRANSFORM_INVALID):
        try:
            frame = frame_of(spark, _resolved(spark, rows, sql))
            # Types that PySpark does not know, such as intervals, fail here.
            _ = frame.schema
        except Exception as error:
            if any({cause.kind, f"{cause.kind}: {cause.message}"} & _TOO_LARGE for cause in causes_of(error)):
                raise too_large() from error
            raise
    return frame


def computed(before: DataFrame, after: DataFrame, names: Sequence[str]) -> frozenset[str]:
    """Return the columns that the query computes itself instead of passing the view's own through."""
    return frozenset(name for name in names if name in after.columns and _id(after, name) != _id(before, name))


def _id(frame: DataFrame, name: str) -> int | None:
    """Return the id by which Spark recognises a column, whatever rows are left out."""
    return int(frame._jdf.apply(name).expr().exprId().id()) if name in frame.columns else None  # noqa: SLF001


def _resolved(spark: SparkSession, rows: DataFrame, sql: str) -> JavaObject:
    require_parsable(sql)
    rules = QueryRules(VIEW, case_sensitive=spark.conf.get("spark.sql.caseSensitive") == "true")
    reader = PlanReader(spark)
    parsed = parsed_plan(spark, sql)
    rules.require_parsed(reader.read(parsed))
    resolved = resolved_plan(bare_session(spark, VIEW, rows), parsed)
    rules.require_resolved(reader.read(resolved))
    return resolved


_OF_SCHEMAS = frozenset({FailureReason.SCHEMA_INCOMPATIBLE, FailureReason.TRANSFORM_INVALID})
"""The refusal of rows with columns or types that may come only from a registered schema."""

_LEFT_OUT = (
    "The newest registered schema does not fit the table or the transform. No message of this batch was written with "
    "it, so the batch was read without it; the first message that was will stop the table: {}"
)
_MOST_SAID = 600


class CheckedRows(NamedTuple):
    """The rows to write, the counts, whether no two rows share a key, and a sentence for people."""

    frame: DataFrame
    counts: Counts
    one_of_each: bool = False
    remark: str = ""


class _Fitted(NamedTuple):
    """Rows in the types of the table, and the columns of keys and deletes that the transform computes."""

    rows: SourceRows
    frame: DataFrame
    computed: frozenset[str]
    remark: str = ""


@dataclass(frozen=True)
class RowChecks:
    """Turns the rows of a batch into rows of the table; table and schema are None before the first commit.

    `must_be_kept` says that the position of the batch counts even without rows.
    """

    context: TaskContext
    task: IngestionTask
    definition: TableDefinition
    table: HudiTable | None
    table_schema: StructType | None
    must_be_kept: bool

    def of(self, rows: SourceRows) -> CheckedRows:
        """Return the rows to write, read once and kept, and the counts."""
        rows, frame, own, remark = self._fit(rows)
        faults = self._faults(frame, deletes=rows.deletes)
        frame = observed_faults(frame, faults)
        shuffled = rows.ordered and SEQUENCE in frame.columns and self.task.operation is WriteOperation.UPSERT
        one_of_each = shuffled and leaves_one_of_each(self.table, frame.schema, self.definition)
        if rows.ordered:
            frame = last_of_each(frame, self.definition, self.task, faults.any, one_of_each=one_of_each)
        with rows.reading():
            kept, counts = keep(rows, frame, faults, shuffled=shuffled)
        if rows.deletes:
            require_deletes(counts, own)
        bad = self._set_aside(counts, rows, (kept, faults)) if counts.bad else ""
        remark = f"{bad} {remark} {partitions_unread(self.table, self.table_schema, self._roles)}".strip()
        good = kept.where(~faults.any) if counts.unwritable else kept
        good = good.drop(*self._places(rows))
        return CheckedRows(with_comments(good, self._declared), counts, one_of_each, remark)

    def _places(self, rows: SourceRows) -> set[str]:
        """Return the column with the origin of each row, if a quarantine needs it; the rows of a query have none."""
        is_wanted = self.task.bad_records is BadRecordPolicy.QUARANTINE and self.task.transform_sql is None
        return {PLACE} if is_wanted and rows.knows_places else set()

    def _fit(self, rows: SourceRows) -> _Fitted:
        """Return the rows in the types of the table, without unused registered schemas that do not fit.

        Raises `TaskFailed` if rows themselves do not fit.
        """
        try:
            return self._conformed(rows)
        except TaskFailed as refused:
            if rows.as_written is None or refused.reason not in _OF_SCHEMAS:
                raise
            return self._as_written(rows.as_written, refused)

    def _as_written(self, again: Callable[[StructType], SourceRows], refused: TaskFailed) -> _Fitted:
        for known in dict.fromkeys((self.table_schema or StructType(), StructType())):
            try:
                fitted = self._conformed(again(known))
            except TaskFailed as error:
                if error.reason is FailureReason.SCHEMA_INCOMPATIBLE:
                    raise
                continue
            self.context.log("a registered schema was left out", refused=refused.message)
            said = _LEFT_OUT.format(refused.message[:_MOST_SAID])
            return fitted._replace(remark=f"{fitted.remark} {said}".strip())
        raise refused

    def _conformed(self, rows: SourceRows) -> _Fitted:
        view = observed(rows.with_places() if self._places(rows) else rows)
        made = apply_transform(self.context.spark, view, self.task.transform_sql)
        require_distinct_names(made.schema)
        own = computed(view, made, (*self.definition.record_key, IS_DELETED)) if rows.deletes else frozenset()
        needed = (*self.definition.record_key, *self.definition.partition_by, *self.definition.ordering_fields)
        declared = self._declared
        known = self.table_schema if declared is None else declared_struct(self.context.spark, declared)
        frame, remark = without_untyped(nullable(made), known, needed)
        self._require_columns(frame.schema)
        require_names(frame.schema)
        require_marks(rows, frame.schema, self.definition, self.task, own)
        self._require_order(rows, view, made)
        if declared is not None:
            frame, said = self._as_declared(frame, declared, rows)
            remark = f"{said} {remark}".strip()
        if not rows.checks_texts or self.task.transform_sql is not None:
            frame = with_checked_texts(frame, self._written(frame, needed))
        return _Fitted(rows, self._gate(frame, rows), own, remark)

    def _written(self, frame: DataFrame, needed: Sequence[str]) -> Sequence[str]:
        """Return the columns that the table gets; a delete of the operation needs only those of the key."""
        if self.task.operation is WriteOperation.DELETE:
            return list(dict.fromkeys(needed))
        return [name for name in frame.columns if name not in {SEQUENCE, UNFIT, PLACE}]

    @property
    def _declared(self) -> DeclaredSchema | None:
        """The declared columns that rows have to fit; an operation that deletes needs only those of the key."""
        return None if self.task.operation is WriteOperation.DELETE else self.definition.declared

    def _as_declared(self, frame: DataFrame, declared: DeclaredSchema, rows: SourceRows) -> tuple[DataFrame, str]:
        marks = {IS_DELETED, *({SEQUENCE} if rows.ordered else ()), *self._places(rows)}
        # Other rules find rows without a key or an ordering value.
        checked = {*self.definition.record_key, *self.definition.ordering_fields}
        found = fitted(
            frame,
            declared,
            marks=marks,
            checked=checked,
            partitions=self.definition.partition_by,
            deleted=IS_DELETED,
        )
        return found.frame, found.remark

    def _require_order(self, rows: SourceRows, view: DataFrame, made: DataFrame) -> None:
        """Raise `TaskFailed` if an upsert would order rows by undeclared texts."""
        names = self.definition.ordering_fields
        if self.task.operation is WriteOperation.UPSERT and rows.guessed:
            require_declared_order(rows, made.schema, names, computed(view, made, names))

    def unparsable(self, rows: SourceRows) -> CheckedRows | None:
        """Return the result if no row gave a column: there is nothing to write but the checkpoint.

        Without any row, as when all transactions of a topic were aborted, a new table is not created.
        """
        with rows.reading():
            counts = count_unparsable(rows)
        nothing = (rows.parsed, Faults({self.definition.record_key[0]: ~never()}, {}, {}))
        bad = self._set_aside(counts, rows, nothing) if counts.bad else ""
        if self.table_schema is None and self.must_be_kept and not counts.bad:
            raise TaskFailed(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"{rows.name[:1].upper()}{rows.name[1:]} are read from Latest, but no column is known, so no table "
                "can be created that records where reading starts. Register the newest schemas of their subjects, "
                "or start at Earliest or at a timestamp. Until then nothing counts as read.",
            )
        if self.table_schema is None and not counts.bad:
            return None
        if self.table_schema is None:
            raise TaskFailed(
                FailureReason.BAD_RECORDS,
                f"No row of {rows.name} could be read, so the table has no columns yet. Declare a schema, or, if "
                "values refer to a schema registry, register the newest schema there.",
            )
        return CheckedRows(self.context.spark.createDataFrame([], self.table_schema), counts, remark=bad)

    def _faults(self, frame: DataFrame, *, deletes: bool) -> Faults:
        schema = frame.schema
        with stage("The table's partitions cannot be read", otherwise=FailureReason.HUDI_ERROR):
            require_zones(self.context, self.table, schema, PartitionStyle.of(self.table))
        keyless = without_key(schema, self.definition.record_key)
        # An operation deletes records by their key alone.
        is_ordered = self.task.operation is not WriteOperation.DELETE
        unordered = without_order(self.definition.ordering_fields if is_ordered else ())
        ambiguous = ambiguous_keys(schema, self.definition.record_key)
        misplaced_rows = self._misplaced(schema, deletes=deletes)
        faults = Faults(keyless, misplaced_rows, unordered, ambiguous)
        return faults.beside_unfit(is_unfit(frame)) if UNFIT in frame.columns else faults

    def _misplaced(self, schema: StructType, *, deletes: bool) -> dict[str, Column]:
        """Return the conditions of rows outside of any partition; the gate lets no column of keys change its type."""
        definition, style = self.definition, PartitionStyle.of(self.table)
        found = misplaced(schema, definition.partition_by, style)
        lost = lost_deletes(definition) if deletes else {}
        return found | {name: found.get(name, never()) | one for name, one in lost.items()}

    def _require_columns(self, schema: StructType) -> None:
        definition = self.definition
        wanted = dict.fromkeys(definition.ordering_fields, "ordering")
        wanted |= dict.fromkeys(definition.partition_by, "partition")
        wanted |= dict.fromkeys(definition.record_key, "record key")
        require_columns(schema, wanted)
        require_types(schema, wanted)

    def _gate(self, frame: DataFrame, rows: SourceRows) -> DataFrame:
        """Return the frame in the table's own types, or raise `TaskFailed` if it does not fit the table."""
        definition = self.definition
        if self.table_schema is None and self.task.operation is WriteOperation.DELETE:
            raise TaskFailed(
                FailureReason.TABLE_MISMATCH,
                f"There is no table at {definition.base_path} to delete from; write rows to it first.",
            )
        if self.task.operation is WriteOperation.BULK_INSERT:
            # The writer of a new table keeps Spark's small integers, which it cannot write, or which nobody can read as
            # nested parts.
            stored = with_stored_integers(frame.schema)
            assert isinstance(stored, StructType), "a row stays a row"
            frame = cast(frame, stored)
        if self.task.operation is not WriteOperation.DELETE:
            written = [field for field in frame.schema if field.name not in {SEQUENCE, UNFIT, *self._places(rows)}]
            require_writable(StructType(written), self._roles, self.table_schema)
        if self.table_schema is None:
            return frame
        if self.task.operation is not WriteOperation.DELETE:
            frame = with_mark_of_deletes(frame, self.table_schema)
        marks = {UNFIT, *({SEQUENCE} if rows.ordered else ()), *self._places(rows)}
        incoming = StructType([field for field in frame.schema if field.name not in marks])
        conforms = conform_keys if self.task.operation is WriteOperation.DELETE else conform
        kind = conforms(self.table_schema, incoming, Rules.of(definition, self.task.schema_evolution))
        names = set(kind.names)
        return cast(frame, StructType([kind[one.name] if one.name in names else one for one in frame.schema]))

    @property
    def _roles(self) -> Roles:
        return roles_of(self.context.task, self.task.operation, self.table)

    def _set_aside(self, counts: Counts, rows: SourceRows, unwritable: tuple[DataFrame, Faults]) -> str:
        """Apply the policy to bad rows, before anything is committed; return a sentence with their columns."""
        task = self.task
        if task.bad_records is BadRecordPolicy.FAIL:
            refuse(counts, rows, unwritable)
        context = self.context
        folder = Location.parse(str(task.quarantine_path)) / context.run / context.task.id
        if context.batch is not None:
            folder /= f"batch-{context.batch}"  # another batch of the run must not replace the files
        columns = quarantine(counts, rows, unwritable, folder)
        context.log("quarantined", rows=counts.bad, folder=folder.url)
        return columns
