"""One ingestion from its checkpoint to its commit."""

from dataclasses import dataclass

from pyspark import StorageLevel
from pyspark.sql import DataFrame, SparkSession

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
from hudi_jobs.ingestion.checkpoint import Checkpoint, SourceFile, decode_checkpoint, encode_checkpoint
from hudi_jobs.ingestion.files import Selection, is_candidate, select_files
from hudi_jobs.ingestion.listing import list_source
from hudi_jobs.ingestion.quality import (
    Counts,
    count,
    count_unparsable,
    observed,
    observed_keys,
    quarantine,
    refuse,
    require_quarantine,
    without_key,
)
from hudi_jobs.ingestion.read import absolute_paths, read_files, reading
from hudi_jobs.ingestion.schema_gate import Rules, conform, conform_keys, require_columns
from hudi_jobs.ingestion.transform import apply_transform
from hudi_jobs.ingestion.types import cast, nullable
from hudi_jobs.ingestion.write import write_commit, write_options
from hudi_jobs.notes import commit_notes
from hudi_jobs.phases import Phase, reach
from hudi_jobs.table import HudiTable
from hudi_jobs.wording import counted

_TEXT_FORMATS = frozenset({FileFormat.CSV, FileFormat.JSON})


@dataclass(frozen=True)
class _Input:
    """What there is to read, and the checkpoint that goes with it."""

    selection: Selection
    listing: tuple[SourceFile, ...]
    before: Checkpoint

    def after(self, late_arrival_seconds: int) -> Checkpoint:
        return self.before.advanced(self.selection.files, self.listing, late_arrival_seconds=late_arrival_seconds)


def ingest(context: TaskContext) -> TaskResult:
    """Write what is new in the source as one commit, or raise `TaskFailed` with nothing written."""
    task = _task(context)
    require_quarantine(task)
    with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.open(context.spark, context.task.table.base_path)
        if table is not None:
            table.require(context.task.table)
    found = _find_input(context.spark, task, table)
    reach(Phase.LISTED)
    if not found.selection.files:
        return _nothing(context, task, found)
    context.log("reading", files=len(found.selection.files), bytes=found.selection.size, more=found.selection.more)
    return _Run(context, task, table, found).commit()


def _task(context: TaskContext) -> IngestionTask:
    if context.task.ingestion is None:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST, "The request holds an ingestion task without its ingestion part."
        )
    return context.task.ingestion


def _find_input(spark: SparkSession, task: IngestionTask, table: HudiTable | None) -> _Input:
    source = task.files
    root = source.path.rstrip("/")
    with stage("The table's checkpoint cannot be read", otherwise=FailureReason.HUDI_ERROR):
        checkpoint = decode_checkpoint(None if table is None else table.newest_note(CHECKPOINT_KEY), source=root)
    listed = list_source(spark, root)
    listing = tuple(f for f in listed if not f.path or is_candidate(f, glob=source.path_glob, format_=source.format))
    selection = select_files(listing, checkpoint, max_files=task.max_files, max_bytes=task.max_bytes)
    empty = next((file for file in selection.files if file.size == 0 and source.format not in _TEXT_FORMATS), None)
    if empty is not None:
        raise TaskFailed(
            FailureReason.SOURCE_UNREADABLE,
            f"The file {root}/{empty.path} is empty, which no {source.format} file can be; replace or remove it.",
        )
    return _Input(selection, listing, checkpoint)


def _nothing(context: TaskContext, task: IngestionTask, found: _Input) -> TaskResult:
    return TaskResult(
        id=context.task.id,
        outcome=Outcome.NOTHING_TO_DO,
        message=f"No new files: all {len(found.listing):,} files of {task.files.path} have been read.",
        checkpoint=None if found.before.watermark is None else str(found.before.watermark),
        more_input=False,
    )


class _Run:
    """The part of an ingestion that has files to read."""

    def __init__(self, context: TaskContext, task: IngestionTask, table: HudiTable | None, found: _Input) -> None:
        self._context = context
        self._task = task
        self._definition: TableDefinition = context.task.table
        self._table_schema = None if table is None else table.schema()
        self._found = found
        self._paths = absolute_paths(task.files.path, [file.path for file in found.selection.files])
        self._rows = read_files(context.spark, task.files, self._paths)

    def commit(self) -> TaskResult:
        """Read, check, write."""
        try:
            frame, counts = self._checked() if self._rows.columns else self._unparsable()
            reach(Phase.READ)
            checkpoint = self._found.after(self._task.files.late_arrival_seconds)
            instant = self._write(frame, encode_checkpoint(checkpoint))
            reach(Phase.AFTER_COMMIT)
        finally:
            self._context.spark.catalog.clearCache()
        return self._result(instant, counts, checkpoint)

    def _write(self, frame: DataFrame, checkpoint: str) -> str:
        notes = commit_notes(self._context.run, self._context.task.id)
        settings = self._context.task.hudi_options
        options = write_options(settings, self._task.operation, notes=notes, checkpoint=checkpoint)
        return write_commit(self._context.spark, frame, self._definition, options, notes)

    def _checked(self) -> tuple[DataFrame, Counts]:
        """Return the rows to write, read once and kept, and what was counted on the way."""
        frame = nullable(apply_transform(self._context.spark, observed(self._rows), self._task.transform_sql))
        frame = self._gate(frame)
        keyless = without_key(frame.schema, self._definition.record_key)
        kept = observed_keys(frame, keyless).persist(StorageLevel.MEMORY_AND_DISK)
        with reading(self._context.spark, self._task.files, self._paths):
            counts = count(self._rows, kept)
        if counts.bad:
            self._settle(counts, kept.where(keyless))
        return (kept.where(~keyless) if counts.keyless else kept), counts

    def _unparsable(self) -> tuple[DataFrame, Counts]:
        """No row gave a column, so there is nothing to write but the checkpoint."""
        with reading(self._context.spark, self._task.files, self._paths):
            counts = count_unparsable(self._rows)
        if counts.bad:
            self._settle(counts, self._rows.parsed)
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

    def _settle(self, counts: Counts, keyless: DataFrame | None) -> None:
        """Do with bad rows what the policy says, before anything is committed."""
        task = self._task
        if task.bad_records is BadRecordPolicy.FAIL:
            refuse(task, counts, self._rows, self._paths)
        folder = f"{str(task.quarantine_path).rstrip('/')}/{self._context.run}/{self._context.task.id}"
        quarantine(task, counts, self._rows, keyless, folder)
        self._context.log("quarantined", rows=counts.bad, folder=folder)

    def _result(self, instant: str, counts: Counts, checkpoint: Checkpoint) -> TaskResult:
        selection = self._found.selection
        return TaskResult(
            id=self._context.task.id,
            outcome=Outcome.SUCCEEDED,
            message=_summary(counts, files=len(selection.files)),
            instant=instant,
            checkpoint=str(checkpoint.watermark),
            files_read=len(selection.files),
            bytes_read=selection.size,
            rows_read=counts.read,
            rows_quarantined=counts.bad,
            more_input=selection.more,
        )


def _summary(counts: Counts, *, files: int) -> str:
    return f"Read {counted(counts.read, 'row')} of {counted(files, 'file')}, {counts.bad:,} quarantined."
