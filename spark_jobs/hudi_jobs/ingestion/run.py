"""One ingestion from its checkpoint to its commit."""

from contextlib import nullcontext
from functools import cached_property
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from hudi_jobs.classification import stage
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    CHECKPOINT_KEY,
    BadRecordPolicy,
    FailureReason,
    FileFormat,
    IngestionTask,
    Outcome,
    TableDefinition,
    TaskResult,
    WriteOperation,
)
from hudi_jobs.failures import TaskFailed
from hudi_jobs.index_gate import declared, require_index
from hudi_jobs.ingestion.checkpoint import Checkpoint, encode_checkpoint
from hudi_jobs.ingestion.partitions import PartitionStyle, misplaced, never, require_zones
from hudi_jobs.ingestion.progress import Input, find_input
from hudi_jobs.ingestion.quality import (
    Counts,
    Faults,
    count,
    count_unparsable,
    observed,
    observed_faults,
    quarantine,
    refuse,
    require_quarantine,
    without_key,
)
from hudi_jobs.ingestion.read import absolute_paths, read_files, reading
from hudi_jobs.ingestion.schema_gate import Rules, conform, conform_keys, require_columns
from hudi_jobs.ingestion.segments import SegmentFolder
from hudi_jobs.ingestion.sweep import sweep_now_and_then
from hudi_jobs.ingestion.transform import apply_transform
from hudi_jobs.ingestion.types import cast, nullable
from hudi_jobs.ingestion.write import write_commit, write_options
from hudi_jobs.lease.holding import while_held
from hudi_jobs.lease.marker import Lease
from hudi_jobs.notes import commit_notes
from hudi_jobs.phases import Phase, reach
from hudi_jobs.services.affected import noting_affected
from hudi_jobs.services.others import Others
from hudi_jobs.services.plans import require_partitions_inside, require_plans_inside
from hudi_jobs.services.preparation import look
from hudi_jobs.services.savepoint import keep_savepoint
from hudi_jobs.table import HudiTable
from hudi_jobs.wording import counted

_TEXT_FORMATS = frozenset({FileFormat.CSV, FileFormat.JSON})
_SHOWN = 100


def ingest(context: TaskContext) -> TaskResult:
    """Write what is new in the source as one commit, or raise `TaskFailed` with nothing written."""
    task = _task(context)
    require_quarantine(task)
    opened = _OpenedTable(context)

    def begin(_: Lease) -> TaskResult:
        with noting_affected(context, lambda: look(context)) if opened.table is not None else nullcontext():
            return _ingest(context, task, opened.table)

    return while_held(context, begin, before=opened.open)


class _OpenedTable:
    """The table as it is once the run holds the lease on it."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self.table: HudiTable | None = None

    def open(self) -> None:
        """Look at the table; raise `TaskFailed` when it is another one, before it is taken for ours."""
        with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
            self.table = HudiTable.open(self._context.spark, self._context.task.table.base_path)
            if self.table is not None:
                self.table.require(declared(self._context.task), ingests=True)
        if self.table is not None:
            task = self._context.task
            require_index(self._context.spark, self.table, task.table, task.hudi_options)


def _ingest(context: TaskContext, task: IngestionTask, table: HudiTable | None) -> TaskResult:
    found = find_input(context, task, table)
    _require_content(task, found)
    reach(Phase.LISTED)
    run = _Run(context, task, table, found)
    if found.selection.files:
        selection = found.selection
        context.log("reading", files=len(selection.files), bytes=selection.size, more=selection.more, late=found.late)
        return run.commit()
    return run.settle() if found.settles else run.nothing()


def _task(context: TaskContext) -> IngestionTask:
    if context.task.ingestion is None:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST, "The request holds an ingestion task without its ingestion part."
        )
    return context.task.ingestion


def _require_content(task: IngestionTask, found: Input) -> None:
    source = task.files
    empty = next(
        (file for file in found.selection.files if file.size == 0 and source.format not in _TEXT_FORMATS), None
    )
    if empty is not None:
        raise TaskFailed(
            FailureReason.SOURCE_UNREADABLE,
            f"The file {source.path.rstrip('/')}/{empty.path} is empty, which no {source.format} file can be; "
            "replace or remove it.",
        )


def _newest_checkpoint(table: HudiTable | None) -> str | None:
    """Return the checkpoint of the active timeline as it is written there: it is only compared with itself."""
    return None if table is None else table.active_note(CHECKPOINT_KEY)


class _Run:
    """What is done with what was found in the source."""

    def __init__(self, context: TaskContext, task: IngestionTask, table: HudiTable | None, found: Input) -> None:
        self._context = context
        self._task = task
        self._definition: TableDefinition = context.task.table
        self._table = table
        self._begun_with = _newest_checkpoint(table)
        self._found = found
        self._kept: str | None = None
        """The savepoint that was asked for because services run inside the writer."""
        self._paths = absolute_paths(task.files.path, [file.path for file in found.selection.files])

    @cached_property
    def _table_schema(self) -> StructType | None:
        return None if self._table is None else self._table.schema()

    def commit(self) -> TaskResult:
        """Read, check, write."""
        self._rows = read_files(self._context.spark, self._task.files, self._paths)
        try:
            frame, counts = self._checked() if self._rows.columns else self._unparsable()
            reach(Phase.READ)
            refused = self._overtaken()
            if refused is not None:
                return refused
            instant, checkpoint = self._write(frame, self._task.operation)
        finally:
            self._context.spark.catalog.clearCache()
        return self._result(instant, counts, checkpoint)

    def settle(self) -> TaskResult:
        """Commit without rows what counts as read by the checkpoint of release 0.1, so that nothing else ever does."""
        if self._table_schema is None:
            return self.nothing()
        refused = self._overtaken()
        if refused is not None:
            return refused
        frame = self._context.spark.createDataFrame([], self._table_schema)
        # Without rows an InsertOverwrite would empty an unpartitioned table.
        instant, checkpoint = self._write(frame, WriteOperation.UPSERT)
        return self._result(instant, Counts(read=0, corrupt=0, keyless=0), checkpoint)

    def nothing(self) -> TaskResult:
        """Say that there is nothing to read."""
        found = self._found
        return TaskResult(
            id=self._context.task.id,
            outcome=Outcome.NOTHING_TO_DO,
            message=f"No new files: all {found.answer.candidates:,} files of {self._task.files.path} have been read.",
            checkpoint=found.before.display,
            more_input=False,
            **self._figures(),
        )

    def _write(self, frame: DataFrame, operation: WriteOperation) -> tuple[str, Checkpoint]:
        """Write the record, which counts for nothing before the commit names it, and then the commit."""
        context = self._context
        checkpoint = self._found.recorded(SegmentFolder(context.spark, context.task.table.base_path), context.run)
        reach(Phase.RECORDED)
        notes = commit_notes(context.run, context.task)
        text = encode_checkpoint(checkpoint)
        options = write_options(context.task.hudi_options, operation, notes=notes, checkpoint=text)
        instant = write_commit(context.spark, frame, self._definition, options, notes)
        reach(Phase.AFTER_COMMIT)
        sweep_now_and_then(context, checkpoint)
        return instant, checkpoint

    def _overtaken(self) -> TaskResult | None:
        """Refuse when another run has committed a checkpoint since this one has read it, or may be about to.

        The leases are to prevent that. It is seen all the same where a driver of another release, which takes none,
        still runs: to write then would repeat rows. What is abandoned is rolled back first, so that it can not complete
        after the look; beside anything else that has begun nothing is written.
        """
        others = Others(self._context)
        if self._table is not None or self._table_now() is not None:
            require_plans_inside(self._context)
            require_partitions_inside(self._context)
            if others.is_alone:
                others.roll_back(look(self._context))
            refused = others.refusal(look(self._context))
            if refused is not None:
                return refused
            if self._context.task.savepoint is not None:
                self._kept = keep_savepoint(self._context, look(self._context))
        with stage("The table's checkpoint cannot be read again", otherwise=FailureReason.HUDI_ERROR):
            return None if _newest_checkpoint(self._table_now()) == self._begun_with else self._conflict()

    def _table_now(self) -> HudiTable | None:
        with stage("The table cannot be read before the write", otherwise=FailureReason.HUDI_ERROR):
            return HudiTable.open(self._context.spark, self._definition.base_path)

    def _conflict(self) -> TaskResult:
        return TaskResult(
            id=self._context.task.id,
            outcome=Outcome.CONFLICT,
            reason=FailureReason.CONFLICT,
            message="Another run has committed what it read since this one began, so nothing was written: "
            "the rows would be in the table twice. The next run goes on from there.",
        )

    def _checked(self) -> tuple[DataFrame, Counts]:
        """Return the rows to write, read once and kept, and what was counted on the way."""
        frame = nullable(apply_transform(self._context.spark, observed(self._rows), self._task.transform_sql))
        frame = self._gate(frame)
        faults = self._faults(frame.schema)
        kept = observed_faults(frame, faults).persist(StorageLevel.MEMORY_AND_DISK)
        with reading(self._context.spark, self._task.files, self._paths):
            counts = count(self._rows, kept)
        if counts.bad:
            self._settle(counts, (kept, faults))
        return (kept.where(~faults.any) if counts.unwritable else kept), counts

    def _faults(self, schema: StructType) -> Faults:
        definition, style = self._definition, PartitionStyle.of(self._table)
        with stage("The table's partitions cannot be read", otherwise=FailureReason.HUDI_ERROR):
            require_zones(self._table, schema, style)
        return Faults(
            keyless=without_key(schema, definition.record_key),
            misplaced=misplaced(schema, definition.partition_by, style),
        )

    def _unparsable(self) -> tuple[DataFrame, Counts]:
        """No row gave a column, so there is nothing to write but the checkpoint."""
        with reading(self._context.spark, self._task.files, self._paths):
            counts = count_unparsable(self._rows)
        if counts.bad:
            self._settle(counts, (self._rows.parsed, Faults(keyless=~never(), misplaced=never())))
        if self._table_schema is None:
            raise TaskFailed(
                FailureReason.BAD_RECORDS,
                f"No row of {self._task.files.path} could be read, so the table has no columns yet; declare a schema.",
            )
        return self._context.spark.createDataFrame([], self._table_schema), counts

    def _gate(self, frame: DataFrame) -> DataFrame:
        """Return the frame in the table's own types, or raise `TaskFailed` where it does not fit the table."""
        definition = self._definition
        wanted = dict.fromkeys(definition.ordering_fields, "ordering")
        wanted |= dict.fromkeys(definition.partition_by, "partition")
        wanted |= dict.fromkeys(definition.record_key, "record key")
        require_columns(frame.schema, wanted)
        if self._table_schema is None and self._task.operation is WriteOperation.DELETE:
            raise TaskFailed(
                FailureReason.TABLE_MISMATCH,
                f"There is no table at {definition.base_path} to delete from; write rows to it first.",
            )
        if self._table_schema is None:
            return frame
        rules = Rules.of(definition, self._task.schema_evolution)
        if self._task.operation is WriteOperation.DELETE:
            return cast(frame, conform_keys(self._table_schema, frame.schema, rules))
        return cast(frame, conform(self._table_schema, frame.schema, rules))

    def _settle(self, counts: Counts, unwritable: tuple[DataFrame, Faults]) -> None:
        """Do with bad rows what the policy says, before anything is committed."""
        task = self._task
        if task.bad_records is BadRecordPolicy.FAIL:
            refuse(task, counts, self._rows, self._paths)
        folder = f"{str(task.quarantine_path).rstrip('/')}/{self._context.run}/{self._context.task.id}"
        quarantine(task, counts, self._rows, unwritable, folder)
        self._context.log("quarantined", rows=counts.bad, folder=folder)

    def _result(self, instant: str, counts: Counts, checkpoint: Checkpoint) -> TaskResult:
        selection = self._found.selection
        return TaskResult(
            id=self._context.task.id,
            outcome=Outcome.SUCCEEDED,
            message=_summary(counts, self._found),
            instant=instant,
            checkpoint=checkpoint.display,
            files_read=len(selection.files),
            bytes_read=selection.size,
            rows_read=counts.read,
            rows_quarantined=counts.bad,
            more_input=selection.more,
            savepoint=self._kept,
            **self._figures(),
        )

    def _figures(self) -> dict[str, Any]:
        answer = self._found.answer
        names = tuple(name[:_SHOWN] for name in answer.skipped_names)
        return {"files_skipped": answer.skipped, "skipped": names, "rescan": self._task.rescan}


def _summary(counts: Counts, found: Input) -> str:
    files = counted(len(found.selection.files), "file")
    late = f" {found.late:,} of the files are older than what had been read." if found.late else ""
    again = f" {counted(len(found.answer.forgotten), 'file')} may be read again." if found.answer.forgotten else ""
    return f"Read {counted(counts.read, 'row')} of {files}, {counts.bad:,} quarantined.{late}{again}"
