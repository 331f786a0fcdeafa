"""Copies bad rows to the quarantine, each with its origin, the column at fault and the cause."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf

from hudi_jobs.contract import BadRecordPolicy, FailureReason, IngestionTask, Location
from hudi_jobs.ingestion.rows import BINARY, FAULT, PLACE, UNREADABLE, SourceRows
from hudi_jobs.ingestion.rules.quality import Counts, Faults, by_column, columns_told
from hudi_jobs.schemas.row_faults import UNFIT
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import TaskFailed, stage


def quarantine(counts: Counts, rows: SourceRows, unwritable: tuple[DataFrame, Faults] | None, folder: Location) -> str:
    """Copy the bad rows below a folder as JSON lines of their origin, reason and record.

    Another write of the same run replaces the folder's content, so nothing is doubled within a run. Returns how many
    rows each column made bad, as a sentence.
    """
    columns = Counter[str]()
    with stage(f"The quarantine {folder.url} cannot be written", otherwise=FailureReason.INTERNAL_ERROR):
        corrupt = rows.corrupt
        if counts.corrupt and corrupt is not None:
            said = [sf.col(FAULT)["column"].alias("column"), _cause(rows).alias("reason")]
            if rows.origin is not None and rows.origin.before_base64 is not None:
                said.append(sf.lit(rows.origin.before_base64).alias(BINARY))
            *origin, _, record = corrupt.columns
            _save(corrupt.select(*origin, *said, record), (folder / UNREADABLE).url)
            columns = by_column(corrupt, sf.col(FAULT)["column"])
        if unwritable is None:
            return columns_told(columns)
        frame, faults = unwritable
        if counts.unfit:
            unfit, fault = frame.where(faults.unfit), sf.col(UNFIT)
            told = [fault["column"].alias("column"), fault["cause"].alias("reason"), fault["record"].alias("record")]
            _save(unfit.select(*_place(unfit, rows), *told), (folder / "unfit").url)
            columns.update(by_column(unfit, fault["column"]))
        for each in _unwritable(counts, faults):
            bad, column = frame.where(each.condition), _first_of(each.columns)
            told = [*_place(bad, rows), column.alias("column"), sf.lit(each.reason).alias("reason"), _record(bad)]
            _save(bad.select(*told), (folder / each.folder).url)
            columns.update(by_column(bad, column))
    return columns_told(columns)


class _Unwritable(NamedTuple):
    """Rows with a fault that one folder of the quarantine holds, and the conditions of its columns."""

    folder: str
    reason: str
    condition: Column
    columns: Mapping[str, Column]


def _unwritable(counts: Counts, faults: Faults) -> Iterator[_Unwritable]:
    """Yield the faults that rows have."""
    if counts.keyless:
        yield _Unwritable("no-record-key", "no record key", faults.has_no_key, faults.keyless)
    if any(counts.ambiguous.values()):
        condition = ~faults.has_no_key & faults.unidentified
        yield _Unwritable("ambiguous-record-key", "a record key that others may have", condition, faults.ambiguous)
    if counts.misplaced:
        yield _Unwritable("no-partition", "no partition inside the table", faults.only_misplaced, faults.misplaced)
    if counts.unordered:
        yield _Unwritable("no-ordering-value", "no ordering value", faults.only_unordered, faults.unordered)


def _first_of(columns: Mapping[str, Column]) -> Column:
    """Return the name of the first column at fault."""
    return sf.coalesce(*(sf.when(condition, sf.lit(name)) for name, condition in columns.items()))


def _place(frame: DataFrame, rows: SourceRows) -> list[Column]:
    """Return the origin of each row, if the rows brought it."""
    if rows.origin is None or not rows.knows_places or PLACE not in frame.columns:
        return []
    return [sf.col(PLACE).alias(rows.origin.name)]


def _record(frame: DataFrame) -> Column:
    names = (name for name in frame.columns if name not in {UNFIT, PLACE})
    return sf.to_json(sf.struct(*map(column_named, names))).alias("record")


def require_quarantine(task: IngestionTask) -> None:
    """Raise `TaskFailed` for a policy without its path."""
    if task.bad_records is BadRecordPolicy.QUARANTINE and not task.quarantine_path:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST, "The policy for bad records is Quarantine, but no quarantine path is given."
        )


def _cause(rows: SourceRows) -> Column:
    return sf.coalesce(sf.col(FAULT)["cause"], sf.lit(f"cannot be read as {rows.format}"))


def _save(frame: DataFrame, folder: str) -> None:
    frame.write.mode("overwrite").json(folder)
