"""The rows of a source, including unparsable rows, and the form of unreadable records in the quarantine."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.schemas.types import column_named

UNREADABLE = "unreadable"
"""The folder of records that no run could read."""

BASE64 = "base64:"
"""The prefix of bytes that are not UTF-8."""

BINARY = "binary"
"""The field of a record with the prefix of bytes. Records of earlier releases lack it, and have no prefix."""

TOMBSTONE = "a tombstone with the key "
TIME, TIME_END = "a message with the time ", " ms: "
NO_CONTENT = "null"

_BEGINNING = re.compile(f"{TOMBSTONE}|{TIME}-?[0-9]{{1,19}}{TIME_END}")


def content_of(record: str) -> str:
    """Return the value or the key of a message, without the words that a run writes before it."""
    found = _BEGINNING.match(record)
    content = record[found.end() :] if found else record
    return "" if found and content == NO_CONTENT else content


def bytes_of(text: str) -> bytes | None:
    """Return the bytes of a base64 text, which Spark cuts into lines; None for another text."""
    try:
        return base64.b64decode(re.sub(r"[\r\n]", "", text), validate=True)
    except (binascii.Error, ValueError):
        return None


CORRUPT_RECORD = "_corrupt_record"
"""Column with the text of an unparsable row."""

FAULT = "_corrupt_fault"
"""Column with the reason for an unparsable row: a struct of `column` and `cause`, null when unknown.

`cause` is a clause after the column's name, or a sentence about the whole row when `column` is null.
"""

NO_COLUMN = "_no_column"
"""Replaces the columns of a source when no row could be parsed."""


SEQUENCE = "_sequence"
"""Column that orders the rows of a source; never written to the table.

The transform's view has it too, so that the transform may keep it or compute its own.
"""

PLACE = "_corrupt_place"
"""Column with a row's origin, carried to the quarantine; never written to the table."""

IS_DELETED = "_hoodie_is_deleted"
"""Hudi's own column for deletes: true for a row that deletes its record in an upsert."""


def nothing() -> None:
    """Do nothing; the default step before or after a commit."""


@dataclass(frozen=True)
class Origin:
    """The source column with a row's origin, and its name in the quarantine.

    `before_base64` marks bytes in the text of a row, when there may be any.
    """

    column: str
    name: str
    before_base64: str | None = None


@dataclass(frozen=True)
class SourceRows:
    """All rows of a batch.

    `name` is the source and `format` the form of its rows, for people. `reading` wraps every step in which Spark reads
    the rows, to explain errors in the source's words.

    With `ordered` the column `SEQUENCE` orders the rows. With `deletes` the column `IS_DELETED` marks deletes.
    `passed_over` is a column that is true for items that are counted but are no rows. `events` and `remark` belong to
    the source: data to store with its checkpoint, and a sentence for people; `before_commit` writes files that the
    checkpoint refers to. `as_written` returns the rows without columns and types of schemas that no row was written
    with; it receives the table's columns, and shared columns keep the table's types.
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
    """The types of the columns are neither declared nor in the format: a text may be a written number."""
    checks_texts: bool = False
    """The reader takes a row with bytes that are no text for a bad row."""

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
        """The rows without passed-over items."""
        return self.frame if self.passed_over is None else self.frame.where(~column_named(self.passed_over))

    @property
    def parsed(self) -> DataFrame:
        """The parsed rows, with the source's columns and the marks of order and deletes."""
        frame = self.with_content
        if self.may_be_corrupt:
            frame = frame.where(sf.col(CORRUPT_RECORD).isNull()).drop(CORRUPT_RECORD, FAULT)
        return frame.drop(*(name for name in self._places if name is not None))

    @property
    def _places(self) -> set[str | None]:
        """Columns that only describe rows; the column of files is hidden."""
        origin = None if self.origin is None or self.origin.column not in self.frame.columns else self.origin.column
        return {origin, self.passed_over}

    @property
    def knows_places(self) -> bool:
        """Whether `with_places` adds the column; a source may have a column of this name itself."""
        return self.origin is not None and PLACE not in self.frame.columns

    def with_places(self) -> "SourceRows":
        """Return the rows with `PLACE`, if the source knows the origin of its rows."""
        if self.origin is None or not self.knows_places:
            return self
        known = self.origin.column in self.frame.columns
        place = column_named(self.origin.column) if known else sf.nullif(sf.input_file_name(), sf.lit(""))
        return replace(self, frame=self.frame.withColumn(PLACE, place))

    @property
    def corrupt(self) -> DataFrame | None:
        """Origin, fault and text of the unparsable rows."""
        if not self.may_be_corrupt:
            return None
        origins = {} if self.origin is None else {self.origin.name: sf.col(self.origin.column)}
        fault = (
            sf.col(FAULT) if FAULT in self.frame.columns else sf.lit(None).cast("struct<column:string,cause:string>")
        )
        # Persist whole rows first: Spark parses only requested columns, and finds only their faults.
        rows = self.frame.withColumns(origins).persist(StorageLevel.DISK_ONLY)
        corrupt = rows.where(sf.col(CORRUPT_RECORD).isNotNull())
        return corrupt.select(*origins, fault.alias(FAULT), sf.col(CORRUPT_RECORD).alias("record"))

    @property
    def is_corrupt(self) -> Column:
        """A column that is null for a parsed row; it names every column, so that Spark parses all of them.

        The fault is left out, because it costs more than the row and is computed for bad rows only.
        """
        everything = sf.struct(*[column_named(name) for name in self.frame.columns if name != FAULT])
        return sf.when(sf.col(CORRUPT_RECORD).isNotNull(), everything)


def corrupt_text(value: Column) -> Column:
    """Return a value as the text of a corrupt record, in which base64 is recognisable."""
    return text_of(value, before_base64=BASE64)


def text_of(value: Column, *, before_base64: str = "") -> Column:
    """Return a value as text: itself if it is UTF-8, else base64."""
    text = sf.decode(value, "UTF-8")
    coded = sf.concat(sf.lit(before_base64), sf.base64(value))
    return sf.when(sf.encode(text, "UTF-8") == value, text).otherwise(coded)
