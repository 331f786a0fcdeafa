"""Counts rows that share a key, the rows to remove, and the figures for the record.

After an earlier run's count other commits may have come; then everything is counted again.
"""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.rewriting import obstacles
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.existing_table.metadata import has_record_index, metadata_partitions
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.journal.record import Rows
from hudi_jobs.journal.repair_record import RepairRecord
from hudi_jobs.operations.buckets import is_in_buckets
from hudi_jobs.operations.check import metadata_options_of, require_known_indexes, require_same_rows
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.alone import require_at_rest, require_no_heartbeat
from hudi_jobs.operations.repair.keys.doubles import Doubles, Figures, key_columns, order_of
from hudi_jobs.operations.repair.keys.unchanged import rows_to_keep
from hudi_jobs.operations.repair.step import Found
from hudi_jobs.operations.restore_steps import lost_metadata_table, remake_metadata_table
from hudi_jobs.operations.rows import are_doubled, current_rows, indexed_by, summed
from hudi_jobs.preflight.key_gate import require_keys
from hudi_jobs.services.plans import require_plans_inside
from hudi_jobs.services.preparation import load_timeline
from hudi_jobs.table import HudiTable

MOST_PARTITIONS = 1_000
"""Most partitions to overwrite in a repair."""

_LONGEST_NAMES = 100_000
"""Characters of all partition names together, which are a single option of the write."""

BETWEEN = ","
"""Separator of the partition names."""

IS_DELETED = "_hoodie_is_deleted"
_NAMED = 3


@dataclass(frozen=True)
class Seen:
    """The result of a look: the figures, and the number of rows to remove per partition."""

    doubles: Doubles
    figures: Figures
    going: Mapping[str, int]

    @property
    def partitions(self) -> tuple[str, ...]:
        """The partitions with rows to remove."""
        return tuple(sorted(self.going))

    @property
    def what(self) -> str:
        """The effect of the repair, as a sentence part."""
        going = [f"{path or 'the table'} {count:,}" for path, count in self.going.items()]
        rows, keys = counted(self.figures.surplus, "older row"), counted(self.figures.doubled, "key")
        where = counted(len(self.going), "partition")
        return f"remove {rows} of {keys} and rewrite {where} (rows to remove: {listed(going, _NAMED)})"


def look(work: OperationRun) -> Found:
    """Count the shared keys of a table at rest, and check that its rows can be rewritten."""
    with work.obstacles.each():
        require_no_heartbeat(work.context)
    require_at_rest(work, load_timeline(work.context), "such a commit")
    require_plans_inside(work.context)
    _require_rewritable(work)
    commits = load_timeline(work.context).commits()
    seen = seen_now(work)
    if not seen.figures.surplus:
        return Found("remove no row, because no key occurs twice", is_nothing=True)
    return Found(seen.what, _recorded(work, seen, commits))


def _require_rewritable(work: OperationRun) -> None:
    for sentence in obstacles(work.table.properties):
        with work.obstacles.each():
            raise refused(sentence)
    with work.obstacles.each():
        require_known_indexes(work.table)
    with work.obstacles.each():
        require_same_rows(work, "The deduplication")
    work.obstacles.require_none()


def _recorded(work: OperationRun, seen: Seen, commits: Collection[str]) -> dict[str, Any]:
    """Return the figures for the record; refuse rows that the overwrite could not write or would lose."""
    if seen.figures.surplus:
        by_rows = is_in_buckets(work.context.task.hudi_options)
        require_keys(work.context.spark, work.table, work.context.task, by_rows=by_rows)
        with work.obstacles.each():
            _require_writable(seen)
        _require_indexable(work.table, seen.doubles)
    rows = rows_to_keep(work)
    return {
        "rows_before": rows.rows,
        "expected": _expected(seen) if seen.figures.surplus else rows,
        "count": seen.figures.surplus,
        "keys": seen.figures.keys,
        "keys_checksum": seen.figures.checksum,
        "commits_before": tuple(sorted(commits)),
        "metadata_options": metadata_options_of(work.table),
        "indexes": tuple(sorted(metadata_partitions(work.table.properties))),
    }


def seen_now(work: OperationRun) -> Seen:
    """Count the shared keys now."""
    context, table = work.context, work.table
    key, order = key_columns(context.task.hudi_options), order_of(table.properties)
    with stage("The keys of the table cannot be counted", otherwise=FailureReason.HUDI_ERROR):
        doubles = Doubles(current_rows(context), key, order)
        figures = doubles.figures()
        going = doubles.going(MOST_PARTITIONS) if figures.surplus else {}
    if len(going) > MOST_PARTITIONS:
        raise refused(f"Rows would be removed from more than {MOST_PARTITIONS:,} partitions, too many for one commit.")
    return Seen(doubles, figures, going)


def _require_writable(seen: Seen) -> None:
    """Refuse partition names that an option cannot hold, and rows that a write would treat as deletes."""
    if any(BETWEEN in path for path in seen.partitions):
        raise refused("A partition with such rows has a comma in its name, so it cannot be overwritten alone.")
    if sum(map(len, seen.partitions)) > _LONGEST_NAMES:
        raise refused("The names of the partitions with such rows are too long for one commit.")
    rows = seen.doubles.rows
    if IS_DELETED in rows.columns:
        with stage("The rows of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
            if not rows.where(rows[IS_DELETED]).isEmpty():
                raise refused(f"The table has rows with {IS_DELETED}, which a write would leave out.")


def _require_indexable(table: HudiTable, doubles: Doubles) -> None:
    """Refuse keys in several partitions together with a record index over the whole table."""
    if not has_record_index(table.properties) or set(doubles.key) <= set(indexed_by(table)):
        return
    with stage("The keys of the table cannot be counted", otherwise=FailureReason.HUDI_ERROR):
        if are_doubled(doubles.rows.select(*doubles.key).distinct(), indexed_by(table)):
            raise refused(
                "The index of the table looks up keys within their partition only, some keys are in several "
                "partitions, and the metadata table has an index of record keys of the whole table, which Hudi "
                "could not rebuild; drop that index."
            )


def _expected(seen: Seen) -> Rows:
    """Return the rows that the table will hold."""
    doubles, partitions = seen.doubles, seen.partitions
    return summed(doubles.untouched(partitions).unionByName(doubles.staying(partitions)))


def counted_again(work: OperationRun, record: RepairRecord) -> tuple[RepairRecord, Seen]:
    """Return the current count and the record with it: commits may have come after an earlier look."""
    commits = load_timeline(work.context).commits()
    with _giving_back_the_metadata_table(work, record):
        seen = seen_now(work)
        if commits == {*record.commits_before}:
            _require_as_recorded(seen.figures, record)
            return record, seen
        _require_rewritable(work)
        record = record.following(_recorded(work, seen, commits))
    work.save(record)
    return record, seen


def _require_as_recorded(found: Figures, record: RepairRecord) -> None:
    if (found.surplus, found.keys, found.checksum) != (record.count, record.keys, record.keys_checksum):
        raise TaskFailed(
            FailureReason.HUDI_ERROR,
            "The keys of the table are not those that were counted before, although no commit has come since; no row "
            "was removed. Find out what else changes the files of the table.",
        )


@contextmanager
def _giving_back_the_metadata_table(work: OperationRun, record: RepairRecord) -> Iterator[None]:
    """Rebuild a metadata table that an earlier run removed, before raising a final refusal."""
    try:
        yield
    except TaskFailed as error:
        if error.reason is not FailureReason.OPERATION_REFUSED:
            raise
        remake_metadata_table(work.context, record.metadata_options)
        lost = lost_metadata_table(work.context, record.metadata_options)
        raise TaskFailed(error.reason, f"{error.message} {lost}".rstrip()) from error
