"""The rows of a source, unparsable ones included where it can have them."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.ingestion.schemas.types import column_named

CORRUPT_RECORD = "_corrupt_record"
"""Column that holds the text of a row that could not be parsed."""

FAULT = "_corrupt_fault"
"""Column with why a row could not be parsed: a struct of `column` and `cause`, null where the reader cannot tell.

`cause` is a clause behind the name of the column, or a sentence about the whole row where `column` is null.
"""

NO_COLUMN = "_no_column"
"""Stands in where the rows of a source have no column at all, because none could be parsed."""


SEQUENCE = "_sequence"
"""Column that tells what came later in a source whose rows have an order; never written to the table.

The view of the transform has it too, so that the transform may keep it or compute its own.
"""

IS_DELETED = "_hoodie_is_deleted"
"""Hudi's own column, by which an upsert deletes: true for a row whose record is to be deleted."""


def nothing() -> None:
    """Do nothing before a commit, or after it."""


@dataclass(frozen=True)
class Origin:
    """Where a row comes from: the column that says so, and its name in the quarantine.

    `before_base64` goes before what is bytes in the text of a row, where that may be.
    """

    column: str
    name: str
    before_base64: str | None = None


@dataclass(frozen=True)
class SourceRows:
    """All rows of a batch.

    `name` is the source and `format` what its rows are read as, for people. `reading` surrounds whatever makes Spark
    read the rows: the source's own words for what goes wrong there.

    `ordered` says that the column `SEQUENCE` tells which rows came later. `deletes` says that `IS_DELETED` tells which
    rows delete their record. `passed_over` is a column that is true for what is counted and is no row. `events` and
    `remark` are the source's own: what it keeps with its checkpoint, and a sentence for people; `before_commit` writes
    what that checkpoint refers to. `as_written` gives the same rows without columns and types that only schemas bring
    with which none of them was written; it is told the columns of the table, whose types those columns have that both
    know.
    """

    frame: DataFrame
    may_be_corrupt: bool = False
    name: str = "the source"
    format: str = "rows"
    origin: Origin | None = None
    reading: Callable[[], AbstractContextManager[None]] = nullcontext
    ordered: bool = False
    deletes: bool = False
    passed_over: str | None = None
    events: Mapping[str, Any] = field(default_factory=dict)
    before_commit: Callable[[], None] = nothing
    remark: str = ""
    as_written: "Callable[[StructType], SourceRows] | None" = None
    guessed: bool = False
    """Nobody has declared the types of the columns, and the format has none: a text may be a number that is written."""

    @property
    def columns(self) -> list[str]:
        """The source's own columns."""
        marks = {
            CORRUPT_RECORD,
            FAULT,
            NO_COLUMN,
            SEQUENCE if self.ordered else None,
            IS_DELETED if self.deletes else None,
        }
        return [name for name in self.frame.columns if name not in marks | self._places]

    @property
    def with_content(self) -> DataFrame:
        """The rows that are not passed over."""
        return self.frame if self.passed_over is None else self.frame.where(~column_named(self.passed_over))

    @property
    def parsed(self) -> DataFrame:
        """The rows that could be parsed, with the source's columns, and the marks of order and of deletes."""
        frame = self.with_content
        if self.may_be_corrupt:
            frame = frame.where(sf.col(CORRUPT_RECORD).isNull()).drop(CORRUPT_RECORD, FAULT)
        return frame.drop(*(name for name in self._places if name is not None))

    @property
    def _places(self) -> set[str | None]:
        """Columns that are in the frame only to say something of its rows; that of files is hidden in it."""
        origin = None if self.origin is None or self.origin.column not in self.frame.columns else self.origin.column
        return {origin, self.passed_over}

    @property
    def corrupt(self) -> DataFrame | None:
        """Origin, fault and text of the rows that could not be parsed."""
        if not self.may_be_corrupt:
            return None
        origins = {} if self.origin is None else {self.origin.name: sf.col(self.origin.column)}
        fault = (
            sf.col(FAULT) if FAULT in self.frame.columns else sf.lit(None).cast("struct<column:string,cause:string>")
        )
        # Kept whole first: Spark parses only columns that are asked for, and finds only their faults.
        rows = self.frame.withColumns(origins).persist(StorageLevel.DISK_ONLY)
        corrupt = rows.where(sf.col(CORRUPT_RECORD).isNotNull())
        return corrupt.select(*origins, fault.alias(FAULT), sf.col(CORRUPT_RECORD).alias("record"))

    @property
    def is_corrupt(self) -> Column:
        """A column that is null for a row that could be parsed; it names every column, so that all are parsed.

        Without the fault, which costs more than the row and is computed for bad rows only.
        """
        everything = sf.struct(*[column_named(name) for name in self.frame.columns if name != FAULT])
        return sf.when(sf.col(CORRUPT_RECORD).isNotNull(), everything)
