"""Runs an ingestion, from its checkpoint to its commit."""

from dataclasses import replace
from functools import cached_property

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from hudi_jobs.catalogs.sync import sync_after_commit
from hudi_jobs.commit_metadata import commit_metadata
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    CHECKPOINT_KEY,
    QUARANTINED_KEY,
    Checkpoint,
    FailureReason,
    IngestionTableTask,
    IngestionTask,
    Outcome,
    Service,
    TableDefinition,
    TaskResult,
    WriteOperation,
)
from hudi_jobs.contract.run_progress import RunPhase
from hudi_jobs.contract.wording import counted
from hudi_jobs.exclusive import with_lease
from hudi_jobs.ingestion.batch import InputBatch, Limit, Source
from hudi_jobs.ingestion.checkpoint import encode_checkpoint, newest_progress, require_following, require_kind
from hudi_jobs.ingestion.row_checks import RowChecks
from hudi_jobs.ingestion.rows import SourceRows
from hudi_jobs.ingestion.rules.columns import explained, roles_of
from hudi_jobs.ingestion.rules.quality import Counts
from hudi_jobs.ingestion.rules.quarantine import require_quarantine
from hudi_jobs.ingestion.sources.registry import source_of
from hudi_jobs.ingestion.write import write_commit, write_options
from hudi_jobs.lease.leases import Lease
from hudi_jobs.phases import Phase, reach
from hudi_jobs.preflight.index_gate import require_index
from hudi_jobs.preflight.key_gate import require_keys, require_readable_lists
from hudi_jobs.preflight.log_gate import require_keys_in_base_files
from hudi_jobs.preflight.merge_gate import require_same_merge
from hudi_jobs.preflight.slice_gate import require_one_layout, require_slices_as_named
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.clustering import INLINE_CLUSTERING, require_order
from hudi_jobs.table_services.compaction import with_keys_in_base_files
from hudi_jobs.table_services.plans import merges_inside_the_writer, require_partitions_inside, require_plans_inside
from hudi_jobs.table_services.preparation import keep_savepoint, load_timeline, roll_back_begun_clusterings
from hudi_jobs.table_services.savepoints import held_back_after_writes
from hudi_jobs.table_services.timeline import Timeline
from hudi_jobs.table_services.unfinished_work import Others, noting_affected
from hudi_jobs.usage.run_meter import Extent


def ingest(context: TaskContext[IngestionTableTask]) -> TaskResult:
    """Write the source's new rows as a commit, or raise `TaskFailed` with nothing written."""
    task = context.task.ingestion
    require_quarantine(task)
    source = source_of(context, task)
    opened = OpenedTable(context)

    def work(lease: Lease) -> TaskResult:
        held = replace(context, held=lease)
        result = ingest_once(held, task, source, opened.table)
        if result.instant is None:
            return result
        held_back = held_back_after_writes(held, since=result.instant)
        sync_after_commit(held)
        return result.copy_with(held_back=held_back)

    return with_lease(context, work, before=opened.open)


def ingest_once(
    context: TaskContext[IngestionTableTask], task: IngestionTask, source: Source, table: HudiTable | None
) -> TaskResult:
    """Write the rows after the table's checkpoint as a commit, under the lease.

    The table is None before its first commit. Raises `TaskFailed` with nothing written.
    """
    if table is not None:
        table = with_keys_in_base_files(context, table)
    if table is None:
        return _ingest(context, task, source, None)
    with noting_affected(context, lambda: load_timeline(context), before=Timeline(context.spark, table)):
        return _ingest(context, task, source, table)


class OpenedTable:
    """The table, read once the run holds the lease, or again on request."""

    def __init__(self, context: TaskContext) -> None:
        self._context = context
        self.table: HudiTable | None = None

    def open(self) -> None:
        """Read the table; raise `TaskFailed` when it is another table, before its owner file is written."""
        with stage("The table cannot be read", otherwise=FailureReason.HUDI_ERROR):
            self.table = HudiTable.open(self._context.spark, self._context.task.table.base_path)
            if self.table is not None:
                self.table.require(self._context.task.table, Service.INGESTION)
                require_one_layout(self._context.spark, self.table)
        if self.table is not None:
            task = self._context.task
            require_index(self._context.spark, self.table, task.table, task.hudi_options)
            require_slices_as_named(self._context, self.table)
            require_keys(self._context.spark, self.table, task)
            require_keys_in_base_files(self._context.spark, self.table, task)


def _ingest(
    context: TaskContext[IngestionTableTask], task: IngestionTask, source: Source, table: HudiTable | None
) -> TaskResult:
    before = newest_progress(table)
    require_kind(before, task.source.kind)
    items = next((one for one in (task.max_files, task.max_records, task.max_commits) if one is not None), None)
    batch = source.fetch_next(before, Limit(size=task.max_bytes, items=items))
    run = _Run(context, task, table, batch, before)
    if batch.rows is None and batch.checkpoint == before:
        return run.nothing()
    checkpoint = require_following(before, batch.checkpoint, task.source.kind)
    return run.settle(checkpoint) if batch.rows is None else run.commit(batch.rows, checkpoint)


def _newest_checkpoint(table: HudiTable | None) -> str | None:
    """Return the text of the active timeline's newest checkpoint, only to compare it with itself."""
    return None if table is None else table.active_note(CHECKPOINT_KEY)


class _Run:
    """The steps for a batch of the source."""

    def __init__(
        self,
        context: TaskContext[IngestionTableTask],
        task: IngestionTask,
        table: HudiTable | None,
        batch: InputBatch,
        before: Checkpoint | None,
    ) -> None:
        self._context = context
        self._task = task
        self._definition: TableDefinition = context.task.table
        self._table = table
        self._before = before
        self._begun_with = _newest_checkpoint(table)
        self._batch = batch
        self._kept: str | None = None
        """The savepoint to report, made because services run inside the writer."""

    @cached_property
    def _table_schema(self) -> StructType | None:
        return None if self._table is None else self._table.schema()

    def commit(self, rows: SourceRows, checkpoint: Checkpoint) -> TaskResult:
        """Read, check and write the rows."""
        try:
            checks = self._checks()
            self._context.begin(RunPhase.READING, Extent(bytes_to_read=self._batch.figures.get("bytes_read")))
            read = checks.of(rows) if rows.columns else checks.unparsable(rows)
            if read is None:
                return self.nothing(f"There is no row in {self._batch.contents}.")
            frame, counts, one_of_each, remark = read
            self._require_rewritable(frame)
            reach(Phase.READ)
            refused = self._overtaken()
            if refused is not None:
                return refused
            instant = self._write(frame, self._task.operation, checkpoint, bad=counts.bad, one_of_each=one_of_each)
        finally:
            self._context.spark.catalog.clearCache()
        return self._result(instant, counts, checkpoint, remark)

    def settle(self, checkpoint: Checkpoint) -> TaskResult:
        """Commit a moved checkpoint without rows."""
        if self._table_schema is None:
            return self.nothing()
        refused = self._overtaken()
        if refused is not None:
            return refused
        frame = self._context.spark.createDataFrame([], self._table_schema)
        # Without rows an InsertOverwrite would empty an unpartitioned table.
        instant = self._write(frame, WriteOperation.UPSERT, checkpoint)
        return self._result(instant, Counts(read=0, corrupt=0, keyless=0), checkpoint)

    def nothing(self, message: str = "") -> TaskResult:
        """Return the result without new rows."""
        batch = self._batch
        return TaskResult(
            id=self._context.task.id,
            outcome=Outcome.NOTHING_TO_DO,
            message=f"{message} {batch.remark}".strip(),
            checkpoint=None if batch.checkpoint is None else batch.checkpoint.display,
            more_input=False,
            **batch.figures,
        )

    def _checks(self) -> RowChecks:
        must_be_kept = self._batch.must_be_kept
        return RowChecks(
            self._context, self._task, self._definition, self._table, self._table_schema, must_be_kept=must_be_kept
        )

    def _write(
        self,
        frame: DataFrame,
        operation: WriteOperation,
        checkpoint: Checkpoint,
        *,
        bad: int = 0,
        one_of_each: bool = False,
    ) -> str:
        """Write the checkpoint's files, which count only with the commit, and then the commit."""
        context = self._context
        context.begin(RunPhase.WRITING)
        self._batch.before_commit()
        reach(Phase.RECORDED)
        notes = commit_metadata(context.run, context.task, context.asked_operation)
        if bad:
            notes[QUARANTINED_KEY] = str(bad)
        text = encode_checkpoint(checkpoint)
        given = context.task.hudi_options
        options = write_options(given, operation, notes=notes, checkpoint=text, one_of_each=one_of_each)
        try:
            instant = write_commit(context.spark, frame, self._definition, options, notes)
        except TaskFailed as failure:
            raise self._explained(failure, operation) from failure
        reach(Phase.AFTER_COMMIT)
        self._batch.after_commit()
        return instant

    def _explained(self, failure: TaskFailed, operation: WriteOperation) -> TaskFailed:
        """Explain a failure of the write, and remove its cause when possible."""
        if self._table_schema is None:
            return failure
        if failure.reason is FailureReason.CONFLICT and (plans := roll_back_begun_clusterings(self._context)):
            instants = ", ".join(plans)
            return TaskFailed(failure.reason, f"{failure.message} Rolled back what an ended run left: {instants}.")
        return explained(failure, self._table_schema, roles_of(self._context.task, operation, self._table))

    def _require_rewritable(self, frame: DataFrame) -> None:
        """Raise `TaskFailed` when column types would make the write, or its inline clustering, fail."""
        context = self._context
        if self._table is not None:
            require_readable_lists(context.spark, self._table, context.task, frame)
        if context.task.hudi_options.get(INLINE_CLUSTERING) == "true":
            require_order(frame.schema, context.task.hudi_options)

    def _overtaken(self) -> TaskResult | None:
        """Refuse when another run has committed a checkpoint since the read, or may be about to.

        The leases should prevent this. A driver without leases may still run: writing then would
        repeat rows. Abandoned instants are rolled back first, so that they cannot complete after the read; beside any
        other begun instant nothing is written.
        """
        others, now = Others(self._context), self._table_now()
        if now is not None:
            require_plans_inside(self._context, now)
            require_partitions_inside(self._context, now)
            if merges_inside_the_writer(self._context.task.hudi_options):
                require_same_merge(self._context, now, "A compaction or clustering inside the writer")
            if others.is_alone and self._roll_back_left_behind(others, now):
                now = self._table_now()
                assert now is not None, "a table does not vanish"
            timeline = Timeline(self._context.spark, now)
            refused = others.refusal(timeline)
            if refused is not None:
                return refused
            if self._context.task.savepoint is not None:
                self._kept = keep_savepoint(self._context, timeline)
        with stage("The table's checkpoint cannot be read again", otherwise=FailureReason.HUDI_ERROR):
            # A service that completes now may have copied an older checkpoint.
            same = _newest_checkpoint(now) == self._begun_with or newest_progress(now) == self._before
            return None if same else self._conflict()

    def _roll_back_left_behind(self, others: Others, now: HudiTable) -> bool:
        """Roll back what ended runs left of a serialized table; tell whether there was anything.

        Beside batches the services handle their own plans.
        """
        timeline = Timeline(self._context.spark, now)
        writes = others.roll_back(timeline)
        plans = [] if self._context.inline_queue is not None else others.roll_back_begun_clusterings(timeline)
        return bool(writes or plans)

    def _table_now(self) -> HudiTable | None:
        with stage("The table cannot be read before the write", otherwise=FailureReason.HUDI_ERROR):
            return HudiTable.open(self._context.spark, self._definition.base_path)

    def _conflict(self) -> TaskResult:
        return TaskResult(
            id=self._context.task.id,
            outcome=Outcome.CONFLICT,
            reason=FailureReason.CONFLICT,
            message="Another run has committed progress of the source since this run began, so nothing was written: "
            "the rows would be in the table twice. The next run continues from that commit.",
        )

    def _result(self, instant: str, counts: Counts, checkpoint: Checkpoint, remark: str = "") -> TaskResult:
        batch = self._batch
        summary = f"Read {counted(counts.read, 'row')} of {batch.contents}, {counts.bad:,} quarantined. "
        if counts.passed_over:
            summary += f"{counted(counts.passed_over, 'tombstone')} skipped. "
        if counts.left_out:
            summary += f"{counted(counts.left_out, 'delete')} left out by the transform. "
        summary += f"{batch.remark} {remark}".strip()
        return TaskResult(
            id=self._context.task.id,
            outcome=Outcome.SUCCEEDED,
            message=summary.rstrip(),
            instant=instant,
            checkpoint=checkpoint.display,
            rows_read=counts.read,
            rows_quarantined=counts.bad,
            more_input=batch.has_backlog,
            savepoint=self._kept,
            **batch.figures,
        )
