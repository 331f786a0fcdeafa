"""Deduplicate: of rows with the same key the newest stays, and the others go in one commit.

A delete by key would take the newest too, and an update changes each row with the key (`HoodieWriteMergeHandle`).
Hudi's own `DedupeSparkJob` replaces base files in place, outside of the timeline. So the partitions in which rows go
are overwritten with those that stay: one commit that replaces their file groups, which can be undone until a clean has
removed these. The metadata table is removed before, and made again after it: its index of record keys held one place
for several rows, and Hudi 1.2.0 was seen to fail where an overwrite of named partitions asks it in executors for their
file groups, without a timeline server.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from hudi_jobs.as_found.metadata import ENABLED, has_record_index, metadata_partitions
from hudi_jobs.contract import CHECKPOINT_KEY, FailureReason, OperationPhase, WriteOperation
from hudi_jobs.contract.table.rewriting import obstacles
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.gates.key_gate import require_keys
from hudi_jobs.ingestion.checkpoint import encode_checkpoint, newest_progress
from hudi_jobs.operations.buckets import is_in_buckets
from hudi_jobs.operations.check import metadata_options_of, require_known_indexes
from hudi_jobs.operations.commit import commit_of, write_as
from hudi_jobs.operations.record import Rows
from hudi_jobs.operations.refusal import refused
from hudi_jobs.operations.repair.alone import require_at_rest, require_no_heartbeat
from hudi_jobs.operations.repair.keys.doubles import Doubles, Figures, key_columns, order_of
from hudi_jobs.operations.repair.keys.unchanged import require_as_the_metadata_table, rows_to_keep
from hudi_jobs.operations.repair.metadata import require_indexes
from hudi_jobs.operations.repair.record import RepairRecord
from hudi_jobs.operations.repair.step import Found, Step
from hudi_jobs.operations.restore.steps import remake_metadata_table, remove_metadata_table
from hudi_jobs.operations.rows import allow_maps, are_doubled, current_rows, indexed_by, summed
from hudi_jobs.operations.work import Work
from hudi_jobs.phases import Phase, reach
from hudi_jobs.services.others import Others
from hudi_jobs.services.plans import require_commits_inside, require_plans_inside
from hudi_jobs.services.preparation import load_timeline
from hudi_jobs.table import HudiTable

MOST_PARTITIONS = 1_000
"""Partitions that one repair overwrites."""

_LONGEST_NAMES = 100_000
"""Characters of the names of all of them, which are one option of the write."""

_NAMED = 3
_STATIC_PARTITIONS = "hoodie.static.overwrite.partition.paths"
_BETWEEN = ","
_PLAIN = {
    "hoodie.combine.before.insert": "false",
    "hoodie.datasource.write.insert.drop.duplicates": "false",
}
"""The rows are written as they are."""

_BY_ROWS = {
    "hoodie.bulkinsert.overwrite.operation.type": WriteOperation.INSERT_OVERWRITE.hudi_name,
    "hoodie.datasource.write.row.writer.enable": "true",
}
"""An overwrite that does not ask the index, which by buckets fails where there are two files of one of them."""

_IS_DELETED = "_hoodie_is_deleted"


@dataclass(frozen=True)
class _Seen:
    """What one look has shown: the figures, and how many rows go in which partitions."""

    doubles: Doubles
    figures: Figures
    going: Mapping[str, int]

    @property
    def partitions(self) -> tuple[str, ...]:
        return tuple(sorted(self.going))

    @property
    def what(self) -> str:
        going = [f"{path or 'the table'} {count:,}" for path, count in self.going.items()]
        rows, keys = counted(self.figures.surplus, "older row"), counted(self.figures.doubled, "key")
        where = counted(len(self.going), "partition")
        return f"remove {rows} of {keys} and rewrite {where} (rows to remove: {listed(going, _NAMED)})"


def _look(work: Work) -> Found:
    check = work.obstacles.each
    with check():
        require_no_heartbeat(work.context)
    require_at_rest(work, load_timeline(work.context), "such a commit")
    require_plans_inside(work.context)
    for sentence in obstacles(work.table.properties):
        with check():
            raise refused(sentence)
    with check():
        require_known_indexes(work.table)
    work.obstacles.require_none()
    seen = _seen(work)
    if not seen.figures.surplus:
        return Found("remove no row, because no key occurs twice", is_nothing=True)
    by_rows = is_in_buckets(work.context.task.hudi_options)
    require_keys(work.context.spark, work.table, work.context.task, by_rows=by_rows)
    with check():
        _require_writable(seen)
    _require_indexable(work.table, seen.doubles)
    kept = {
        "rows_before": rows_to_keep(work).rows,
        "expected": _expected(work, seen),
        "count": seen.figures.surplus,
        "keys": seen.figures.keys,
        "keys_checksum": seen.figures.checksum,
        "metadata_options": metadata_options_of(work.table),
        "indexes": tuple(sorted(metadata_partitions(work.table.properties))),
    }
    return Found(seen.what, kept)


def _seen(work: Work) -> _Seen:
    """Look at the rows now."""
    context, table = work.context, work.table
    allow_maps(context)
    key, order = key_columns(context.task.hudi_options), order_of(table.properties)
    with stage("The keys of the table cannot be counted", otherwise=FailureReason.HUDI_ERROR):
        doubles = Doubles(current_rows(context), key, order)
        figures = doubles.figures()
        going = doubles.going(MOST_PARTITIONS) if figures.surplus else {}
    if len(going) > MOST_PARTITIONS:
        raise refused(f"Rows would be removed from more than {MOST_PARTITIONS:,} partitions, too many for one commit.")
    return _Seen(doubles, figures, going)


def _require_writable(seen: _Seen) -> None:
    """Refuse partitions that cannot be named in an option, and rows that a write would take for deletes."""
    if any(_BETWEEN in path for path in seen.partitions):
        raise refused("A partition with such rows has a comma in its name, so it cannot be overwritten alone.")
    if sum(map(len, seen.partitions)) > _LONGEST_NAMES:
        raise refused("The names of the partitions with such rows are too long for one commit.")
    rows = seen.doubles.rows
    if _IS_DELETED in rows.columns:
        with stage("The rows of the table cannot be read", otherwise=FailureReason.HUDI_ERROR):
            if not rows.where(rows[_IS_DELETED]).isEmpty():
                raise refused(f"The table has rows with {_IS_DELETED}, which a write would leave out.")


def _require_indexable(table: HudiTable, doubles: Doubles) -> None:
    """Refuse where keys may be in several partitions, and an index of record keys that does not know of that."""
    if not has_record_index(table.properties) or set(doubles.key) <= set(indexed_by(table)):
        return
    with stage("The keys of the table cannot be counted", otherwise=FailureReason.HUDI_ERROR):
        if are_doubled(doubles.rows.select(*doubles.key).distinct(), indexed_by(table)):
            raise refused(
                "The index of the table looks up keys within their partition only, some keys are in several "
                "partitions, and the metadata table has an index of record keys of the whole table, which Hudi "
                "could not rebuild; drop that index."
            )


def _expected(work: Work, seen: _Seen) -> Rows:
    """Return what the table is to hold."""
    doubles, partitions = seen.doubles, seen.partitions
    return summed(work.context, doubles.untouched(partitions).unionByName(doubles.staying(partitions)))


def _mend(work: Work, record: RepairRecord) -> RepairRecord:
    context = work.context
    if record.phase is OperationPhase.VERIFYING:
        return record
    require_plans_inside(context)
    Others(context).roll_back(load_timeline(context))
    commit = commit_of(context, record.uid)
    if commit is None:
        _require_nothing_pending(work)
    remove_metadata_table(context)
    reach(Phase.PREPARED)
    commit = commit or _overwrite(work, record)
    reach(Phase.CHANGED)
    record = record.model_copy(update={"commit": commit})
    work.keep(record)
    remake_metadata_table(context, record.metadata_options)
    return record


def _require_nothing_pending(work: Work) -> None:
    begun = load_timeline(work.context).begun()
    if begun:
        raise TaskFailed(
            FailureReason.CONFLICT,
            f"The {begun[0].action} {begun[0].instant} is pending, and its run may be at work; it is rolled back once "
            "its heartbeat has expired.",
        )


def _overwrite(work: Work, record: RepairRecord) -> str:
    seen = _seen(work)
    if seen.figures.surplus != record.count or seen.figures.checksum != record.keys_checksum:
        raise TaskFailed(FailureReason.CONFLICT, "The rows have changed since they were counted; nothing was written.")
    rows = seen.doubles.staying(seen.partitions)
    rows = rows.drop(*(name for name in rows.columns if name.startswith("_hoodie_") and name != _IS_DELETED))
    options = {**_PLAIN, ENABLED: "false"}
    if seen.partitions != ("",):
        options[_STATIC_PARTITIONS] = _BETWEEN.join(seen.partitions)
    checkpoint = newest_progress(_opened(work))
    if checkpoint is not None:
        options[CHECKPOINT_KEY] = encode_checkpoint(checkpoint)
    doing = "Hudi could not overwrite the partitions"
    operation = WriteOperation.INSERT_OVERWRITE
    if is_in_buckets(work.context.task.hudi_options):
        operation, options = WriteOperation.BULK_INSERT, options | _BY_ROWS
    return write_as(work.context, record.uid, rows, operation, options=options, doing=doing)


def _require_mended(work: Work, record: RepairRecord) -> None:
    if record.commit is not None:
        require_commits_inside(_opened(work), (record.commit,))
    found = _seen(work).figures
    if (found.keys, found.checksum, found.surplus) != (record.keys, record.keys_checksum, 0):
        raise work.not_verified(
            record,
            f"The older rows were removed, but the table has {counted(found.keys, 'key')} of {record.keys:,}, of "
            f"which {found.doubled:,} occur twice. Find out what else has written to the table before anything else "
            "is written.",
        )
    require_indexes(work, record)
    require_as_the_metadata_table(work, record)


def _opened(work: Work) -> HudiTable:
    return HudiTable.existing(work.context.spark, work.table.base_path)


DEDUPLICATE = Step(_look, _mend, _require_mended)
