"""The run of an operation: the table under its lease, its record, its reports, its commit, the comparison of rows.

The path of a partition may hold any character, also half a surrogate pair; in an erasure it may hold a key.
"""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field

from pyspark.sql import DataFrame

from hudi_jobs.clock import instants_in_order
from hudi_jobs.commit_metadata import OPERATION_KEY, commit_metadata
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    METADATA_PREFIX,
    FailureReason,
    OperationPhase,
    OperationReport,
    OperationTableTask,
    Outcome,
    TableOperation,
    TaskResult,
    WriteOperation,
)
from hudi_jobs.contract.operator_folder import (
    LONGEST_PATH,
    MOST_CHARACTERS,
    MOST_COMPARED,
    TOLD_FILE,
    ComparedPartition,
    Comparison,
    OperationTold,
    encode_told,
)
from hudi_jobs.contract.run_progress import RunPhase
from hudi_jobs.existing_table import existing_options
from hudi_jobs.journal.journal import AnyRecord, Journal
from hudi_jobs.journal.records import Part, Rows
from hudi_jobs.lease.leases import Lease
from hudi_jobs.operations.refusal import Obstacles
from hudi_jobs.operations.rows import by_partition, difference
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.table import HudiTable

_PHASES = {OperationPhase.RUNNING: RunPhase.CHANGING, OperationPhase.VERIFYING: RunPhase.VERIFYING}
_LOGGER = logging.getLogger(__name__)


@dataclass
class Reports:
    """What a run reports of its operation; the last report is valid, even if the run fails."""

    last: OperationReport | None = None


@dataclass(frozen=True)
class OperationRun:
    """A run of an operation on the declared, existing table; a dry run holds no lease."""

    context: TaskContext[OperationTableTask]
    operation: TableOperation
    table: HudiTable
    journal: Journal
    reports: Reports
    lease: Lease | None = None
    obstacles: Obstacles = field(default_factory=Obstacles)

    def save(self, record: AnyRecord) -> None:
        """Record and report the operation's progress."""
        with stage("The record of the operation cannot be written", otherwise=FailureReason.HUDI_ERROR):
            self.journal.keep(record)
        self.report(record.report())
        if record.phase is not OperationPhase.DONE:
            self.set_phase(record.phase)

    def report(self, report: OperationReport) -> None:
        """Report the operation's progress, whatever becomes of the run."""
        self.reports.last = report

    def set_phase(self, phase: OperationPhase, comparison: Comparison | None = None) -> None:
        """Tell the operator the progress at once, as a hint; failures are only logged."""
        if self.lease is None:
            return
        if phase in _PHASES:
            self.context.begin(_PHASES[phase])
        told = OperationTold(uid=self.operation.uid, run=self.context.run, phase=phase, comparison=comparison)
        try:
            self.journal.put_beside(TOLD_FILE, encode_told(told))
        except Exception:
            _LOGGER.warning("how far the operation came could not be told", exc_info=True)

    def not_verified(self, record: AnyRecord, message: str) -> TaskFailed:
        """Report that the rows may differ from the expected rows, and return the failure with the reason."""
        self.report(record.report().copy_with(verified=False))
        return TaskFailed(FailureReason.NOT_VERIFIED, message)


def succeeded(context: TaskContext, message: str) -> TaskResult:
    """Return the result of a completed operation or dry run."""
    return TaskResult(id=context.task.id, outcome=Outcome.SUCCEEDED, message=message)


_ALONE = {
    "hoodie.archive.automatic": "false",
    "hoodie.clean.automatic": "false",
    "hoodie.clustering.inline": "false",
    "hoodie.compact.inline": "false",
}
"""Keeps services out of the write: an inline clean would follow the table's own policy and retain old versions."""


def commit_of(context: TaskContext, uid: str) -> str | None:
    """Return the commit that the operation has already written, or None."""
    with stage("The table's timeline cannot be read", otherwise=FailureReason.HUDI_ERROR):
        table = HudiTable.open(context.spark, context.task.table.base_path)
        return None if table is None else table.find_commit({OPERATION_KEY: uid})


def write_as(
    context: TaskContext,
    uid: str,
    rows: DataFrame,
    operation: WriteOperation,
    *,
    options: dict[str, str],
    doing: str,
    after: str | None = None,
) -> str:
    """Write rows without Hudi's meta columns as the operation's commit, and return its instant.

    The timeline decides: a write that fails after its commit completed has succeeded. `doing` names what failed in
    messages, and `after` is an earlier commit of the same operation.
    """
    base_path = context.task.table.base_path
    options = {
        **context.task.hudi_options,
        **_ALONE,
        "hoodie.datasource.write.operation": operation.hudi_name,
        "hoodie.datasource.write.commitmeta.key.prefix": METADATA_PREFIX,
        **options,
        **commit_metadata(context.run, context.task, context.asked_operation),
        OPERATION_KEY: uid,
    }
    failure: TaskFailed | None = None
    try:
        with (
            stage(doing, otherwise=FailureReason.HUDI_ERROR),
            instants_in_order(context.spark, base_path, options) as zoned,
        ):
            kept = existing_options(HudiTable.open(context.spark, base_path), zoned)
            rows.write.format("hudi").options(**kept).mode("append").save(base_path)
    except TaskFailed as error:
        failure = error
    found = commit_of(context, uid)
    if found is not None and found != after:
        return found
    raise failure or TaskFailed(FailureReason.HUDI_ERROR, "Hudi returned without an error, but there is no commit.")


HIDDEN = "(not shown: it holds a key)"


def compare(
    work: OperationRun, expected: Rows, found: Rows, *, hides: Callable[[str], bool] = lambda _: False
) -> str | None:
    """Report the comparison, and return a sentence when the rows differ; `hides` selects paths to mask."""
    work.set_phase(OperationPhase.VERIFYING, compared(expected, found, hides=hides))
    return difference(expected, found)


def compared(expected: Rows, found: Rows, *, hides: Callable[[str], bool] = lambda _: False) -> Comparison:
    """Return the reported comparison of two states of a table."""
    every = partitions(expected, found, hides=hides)
    listed: list[ComparedPartition] = []
    characters = 0
    for each in every[:MOST_COMPARED]:
        characters += len(each.path)
        if characters > MOST_CHARACTERS:
            break
        listed.append(each)
    there = len(every) if every else max(expected.partitions, found.partitions)
    return Comparison(
        checksum_after=str(found.checksum),
        different=sum(not each.equal for each in every) if every or not there else None,
        listed=tuple(listed),
        left_out=there - len(listed),
    )


def partitions(
    expected: Rows, found: Rows, *, hides: Callable[[str], bool] = lambda _: False
) -> list[ComparedPartition]:
    """Return all partitions; an empty list when a record cannot hold so many."""
    before, after = by_partition(expected, found)
    every = [_partition(path, before.get(path), after.get(path), hides) for path in before.keys() | after.keys()]
    return sorted(every, key=lambda each: (each.equal, each.path))


def _partition(path: str, before: Part | None, after: Part | None, hides: Callable[[str], bool]) -> ComparedPartition:
    shown = path.encode(errors="replace").decode()
    return ComparedPartition(
        path=HIDDEN if hides(path) else shown[:LONGEST_PATH],
        rows=before.rows if before is not None else 0,
        rows_after=after.rows if after is not None else 0,
        checksum=str(before.checksum if before is not None else 0),
        checksum_after=str(after.checksum if after is not None else 0),
        equal=before == after,
    )
