"""The statistics of a table's newest file slices, as a driver writes them and the operator reads them.

The driver computes the figures from Hudi's own view of the files, and stores them in the operator's folder. The
operator reads only this document, so its size is bounded whatever the table's size. Without names of partitions or
files, the document holds no value of a row.
"""

from datetime import datetime, timedelta
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.operator_folder import read_document, write_document

STATISTICS_FILE = "statistics.json"
"""The file in the operator's folder."""

SMALL_FILE_LIMIT = 104_857_600
"""Bytes; Hudi's default of `hoodie.parquet.small.file.limit`."""

MOST_SIZES = 8
"""The most days with a size: the current day and a week before it."""

_Number = Annotated[int, Field(ge=0, le=2**53)]
_DAY = timedelta(days=1)


class Figures(Document):
    """The files that a snapshot query reads. Sizes are bytes.

    `rows` are the rows of all base files, before log files are merged; None if the commit of a base file was archived
    before a driver saw the file. `largest_partition` is the size of the largest of `partitions`. `oldest` is the
    instant of the file slice that was written longest ago, `newest` the newest commit.
    """

    base_files: _Number
    base_bytes: _Number
    small_files: _Number
    log_files: _Number
    log_bytes: _Number
    partitions: _Number
    largest_partition: _Number
    rows: _Number | None = None
    oldest: Instant | None = None
    newest: Instant | None = None

    @property
    def total_bytes(self) -> int:
        """The size of all base and log files."""
        return self.base_bytes + self.log_bytes

    @property
    def log_ratio(self) -> float | None:
        """The size of the log files over that of the base files, or None without base files."""
        return self.log_bytes / self.base_bytes if self.base_bytes else None

    @property
    def skew(self) -> float | None:
        """The size of the largest partition over the mean, or None without data."""
        return self.largest_partition * self.partitions / self.total_bytes if self.total_bytes else None


class DaySize(Document):
    """The size of the table when it was last measured on a day (UTC)."""

    at: AwareDatetime
    total_bytes: _Number


class TableStatistics(Document):
    """The figures after the instant that completed at `as_of`.

    `as_of` is a requested time in timeline layout 1, which records no completion times. `figures` are None if the files
    were too many to read in the time that a run spends on statistics. `seconds` is the time that it took. `sizes` has
    the size on each of the last days, the oldest first.
    """

    version: Literal[1] = 1
    as_of: Instant
    table_version: Annotated[int, Field(ge=0, le=1000)]
    small_file_limit: _Number
    written_at: AwareDatetime
    seconds: Annotated[float, Field(ge=0, le=1e6)]
    figures: Figures | None = None
    sizes: Annotated[tuple[DaySize, ...], Field(max_length=MOST_SIZES)] = ()

    @property
    def growth_per_day(self) -> int | None:
        """The bytes by which the table grows each day, or None before a whole day was measured."""
        if not self.sizes:
            return None
        first, last = self.sizes[0], self.sizes[-1]
        elapsed = last.at - first.at
        return round((last.total_bytes - first.total_bytes) / (elapsed / _DAY)) if elapsed >= _DAY else None


def sizes_with(sizes: tuple[DaySize, ...], total_bytes: int, now: datetime) -> tuple[DaySize, ...]:
    """Return the sizes of the last days with the current size; a later size of a day replaces the earlier size."""
    days = {one.at.date(): one for one in sizes if one.at <= now and now - one.at < MOST_SIZES * _DAY}
    days[now.date()] = DaySize(at=now, total_bytes=total_bytes)
    return tuple(days[day] for day in sorted(days))[-MOST_SIZES:]


def decode_statistics(content: bytes) -> TableStatistics | None:
    """Read the document; return None for anything that this release cannot read."""
    return read_document(TableStatistics, content)


def encode_statistics(statistics: TableStatistics) -> bytes:
    """Write the document as JSON."""
    return write_document(statistics)
