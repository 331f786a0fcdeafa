"""Continuous ingestion: batch after batch under the same lease, each with the same steps as a batch run.

Each batch opens the table again and makes a commit with its checkpoint inside, so the successor of a driver that dies
at any moment continues from there. Between batches the run checks whether to end: the pod was asked to stop, or the
time is over after which growing memory, such as loaded classes, is given back. Then it accepts no further table
service, and ends after the current service. An exception in a batch ends the run.

If the run executes table services for others beside its batches, a batch may lose to a service: Hudi refuses to change
a file group of a pending clustering. The batch's pending work is then rolled back, and the batch is repeated after the
service ends, before another service begins. So neither can starve the other.
"""

import gc
import time
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

from hudi_jobs.catalogs.sync import sync_after_commit
from hudi_jobs.clock import newest_of
from hudi_jobs.commit_metadata import CommitStats
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    ContinuousTask,
    FailureReason,
    IngestionTableTask,
    IngestionTask,
    Outcome,
    ProgressState,
    TaskResult,
)
from hudi_jobs.contract.wording import counted
from hudi_jobs.exclusive import with_lease
from hudi_jobs.ingestion.batches.batch_progress import MadeInstants, ProgressWriter
from hudi_jobs.ingestion.rules.quarantine import require_quarantine
from hudi_jobs.ingestion.run import OpenedTable, ingest_once
from hudi_jobs.ingestion.sources.registry import source_of
from hudi_jobs.inline_services.inline_server import InlineServer
from hudi_jobs.lease.leases import Lease
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import DriverStopping, TaskFailed, Unfinished
from hudi_jobs.spark.jvm import open_sockets
from hudi_jobs.statistics.renewal import RepeatedRenewal, renew_statistics
from hudi_jobs.table_services.preparation import roll_back_writes
from hudi_jobs.table_services.savepoints import held_back_after_writes
from hudi_jobs.usage.run_usage import run_usage

_LOOKS_EVERY_SECONDS = 1.0
_MOST_SOCKETS = 500
"""Half of `fs.s3a.connection.maximum`; without a free connection, every call to the store fails after a minute.

Connections open between two batches have leaked. The published Hudi 1.2.0 leaks one for each block of a log file that
it looks into (`InLineFsDataInputStream`), ten a commit and more with services beside it; the version in the image
closes them (spark_jobs/java, `InLineFsDataInputStream`).
"""
_LAST_SOCKETS = 750
"""Beyond these connections no batch begins: a running table service gets the rest, and the run then ends."""
_GAVE_WAY = frozenset({Outcome.CONFLICT, Outcome.FENCED, Outcome.FAILED})


def ingest_continuously(context: TaskContext[IngestionTableTask]) -> TaskResult:
    """Ingest until the run ends, or raise `Unfinished` with the figures of all commits so far."""
    task = context.task.ingestion
    require_quarantine(task)
    source_of(context, task)  # an unknown kind is refused before the lease is taken
    files = open_table_files(context.spark, context.task.table.base_path)
    commits, made = CommitStats(), list[str]()

    def work(lease: Lease) -> TaskResult:
        server = context.inline_server
        progress = ProgressWriter(
            files, context.run, commits, inline_server=server, made=made, usage=partial(run_usage, context.spark)
        )
        drain = (task.continuous or ContinuousTask()).drain_seconds
        with nullcontext() if server is None else server.open(files, lease, drain_seconds=drain):
            return _Loop(replace(context, held=lease), task, progress, commits=commits, made=made).run()

    try:
        result = with_lease(context, work, before=OpenedTable(context).open)
    except Exception as error:
        raise Unfinished(error, **commits.figures, made=tuple(made)) from error
    return result.copy_with(**commits.figures, made=tuple(made))


class _Loop:
    """The batches of a run."""

    def __init__(
        self,
        context: TaskContext[IngestionTableTask],
        task: IngestionTask,
        progress: ProgressWriter,
        *,
        commits: CommitStats,
        made: list[str],
    ) -> None:
        self._context = context
        self._commits = commits
        self._task = task
        self._progress = progress
        self._settings = task.continuous or ContinuousTask()
        self._made = MadeInstants(made, newest_of(context.spark), progress.tell_made)
        self._statistics = RepeatedRenewal(lambda: renew_statistics(context))
        self._began = time.monotonic()
        self._recycles: str | None = None
        self._number = 0
        self._repeats = 0
        self._told = ""
        self._is_shown = False
        """Whether the catalog shows the table, as far as this run knows."""

    def run(self) -> TaskResult:
        """Ingest until the run ends; return the combined result of all batches."""
        while (why := self._why_to_end()) is None:
            if (server := self._context.inline_server) is not None and self._is_spent():
                self._wait_for_service(server)
                continue
            began = time.monotonic()
            self._progress.write(ProgressState.INGESTING)
            result = self._batch()
            if result is None:
                continue
            if result.outcome in _GAVE_WAY:
                return result
            self._commits.add(result)
            self._tell(result.message)
            reach(Phase.BETWEEN_BATCHES)
            self._progress.polled(committed=result.instant is not None)
            self._sync(committed=result.instant is not None)
            self._tidy()
            if result.instant is not None:
                self._statistics.committed()
            if not result.more_input:
                self._wait(began + self._settings.min_interval_seconds)
        self._progress.write(ProgressState.ENDING, now=True)
        return self._ended(why)

    def _batch(self) -> TaskResult | None:
        """Run a batch; return None if it gave way to a table service and is repeated."""
        server = self._context.inline_server
        if server is None:
            self._number += 1
            return self._ingest()
        begun, was_idle = server.begun, server.wait_until_idle(0)
        try:
            with server.queue.batch():
                self._number += 1
                result = self._attempt()
        except TaskFailed as error:
            if error.reason is not FailureReason.CONFLICT or not server.was_at_work_since(begun, was_idle=was_idle):
                raise
            self._context.log("the batch is repeated after a table service", cause=error.message)
            self._number, self._repeats = self._number - 1, self._repeats + 1
            server.let_begin(may=False)
            self._wait_for_service(server)
            return None
        server.let_begin(may=True)
        return result

    def _attempt(self) -> TaskResult:
        """Run a batch in its turn; a batch that lost to another writer leaves no pending instant."""
        try:
            return self._ingest()
        except TaskFailed as error:
            if error.reason is FailureReason.CONFLICT:
                roll_back_writes(self._context, self._made.of_the_last)
            raise

    def _ingest(self) -> TaskResult:
        """Run a batch with the steps of a batch run, on a freshly opened table and a session of its own."""
        session = self._context.spark.newSession()
        context = replace(self._context, spark=session, batch=self._number, repeats=self._repeats)
        opened = OpenedTable(context)
        with self._made.of_a_batch():
            opened.open()
            return ingest_once(context, self._task, source_of(context, self._task), opened.table)

    def _wait_for_service(self, server: InlineServer) -> None:
        while not server.wait_until_idle(_LOOKS_EVERY_SECONDS) and not self._context.stopping.is_set():
            self._progress.write(ProgressState.WAITING)

    def _tell(self, message: str) -> None:
        """Log a batch's result, once for repeated equal results: no status keeps each batch's message."""
        if message != self._told:
            self._context.log("the batch has ended", batch=self._number, came_to=message)
        self._told = message

    def _sync(self, *, committed: bool) -> None:
        """Sync the catalog after a commit, and after every batch until it shows the table."""
        if committed or not self._is_shown:
            self._is_shown = sync_after_commit(self._context)

    def _tidy(self) -> None:
        """Release a batch's remains: cached rows, and JVM objects kept alive by Python."""
        self._context.spark.catalog.clearCache()
        gc.collect()

    def _wait(self, until: float) -> None:
        while self._why_to_end() is None and (left := until - time.monotonic()) > 0:
            self._progress.write(ProgressState.WAITING)
            self._statistics.renew_if_due()
            self._context.stopping.wait(min(left, _LOOKS_EVERY_SECONDS))

    def _why_to_end(self) -> str | None:
        if self._context.stopping.is_set():
            return "The pod was asked to end"
        self._recycles = self._recycles or self._why_to_recycle()
        server = self._context.inline_server
        if server is None or self._recycles is None:
            return self._recycles
        server.take_no_more()
        return self._recycles if server.wait_until_idle(0) else None

    def _why_to_recycle(self) -> str | None:
        if time.monotonic() - self._began >= self._settings.recycle_after_seconds:
            return "The driver was recycled because recycleAfter had elapsed"
        if self._commits.batches and open_sockets() > _MOST_SOCKETS:
            return f"The driver was recycled because it had more than {_MOST_SOCKETS} connections open"
        return None

    def _is_spent(self) -> bool:
        """Tell whether the remaining connections are reserved for the running service."""
        return self._recycles is not None and open_sockets() > _LAST_SOCKETS

    def _ended(self, why: str) -> TaskResult:
        totals = self._commits
        if not totals.batches and self._context.stopping.is_set() and not self._number:
            raise DriverStopping
        last = f"The last batch: {totals.message}" if totals.message else ""
        return TaskResult(
            id=self._context.task.id,
            outcome=Outcome.SUCCEEDED if totals.batches else Outcome.NOTHING_TO_DO,
            message=f"{why}, after {counted(totals.batches, 'batch', 'batches')} in this run. {last}".rstrip(),
            held_back=held_back_after_writes(self._context, since="") if totals.batches else (),
        )
