"""Renews the statistics of a table at the end of a run, and in a continuous run after batches.

Statistics take at most a tenth of a driver's time: after a slow renewal the next one waits. A renewal that fails is
logged and changes nothing else: the operator then shows the earlier figures, and as of which instant they are.
"""

import logging
import time
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime

from hudi_jobs.context import TaskContext
from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.contract.statistics import (
    SMALL_FILE_LIMIT,
    STATISTICS_FILE,
    Figures,
    TableStatistics,
    decode_statistics,
    encode_statistics,
    sizes_with,
)
from hudi_jobs.lease.leases import VersionConflict
from hudi_jobs.lease.stores import TableFiles, open_table_files
from hudi_jobs.spark.failures import DriverStopping
from hudi_jobs.statistics.file_sizes import MOST_FILES, Sums, decode_rows, encode_rows
from hudi_jobs.statistics.view import FilesView
from hudi_jobs.table import HudiTable, with_times

ROWS_FILE = "statistics-rows.json"
"""The rows of each newest base file; only drivers read it."""

ROWS_LIMIT = 8_000_000
"""Bytes; enough for the most files."""

_SHARE = 10
_LONGEST = 120.0
"""Seconds after which a renewal gives up; figures of so many files are unknown."""
_COMMITS_READ = 200
"""The most commits to read for the rows of their files in a renewal; the next renewal reads further commits."""

_LOGGER = logging.getLogger(__name__)


def renew_statistics(context: TaskContext) -> float | None:
    """Write the statistics if they are due; return the seconds until they are, or None if they are current.

    The caller holds a lease on the table. Raises nothing.
    """
    try:
        table = HudiTable.open(context.spark, context.task.table.base_path)
        if table is None:
            return None
        with with_times(context.spark, table, context.task.hudi_options) as timed:
            return _Renewal(context, timed).run()
    except (VersionConflict, DriverStopping):
        return None  # another run of the table has written them, or a later run will
    except Exception:
        _LOGGER.warning("the statistics of the table could not be renewed", exc_info=True)
        return None


class _Renewal:
    def __init__(self, context: TaskContext, table: HudiTable) -> None:
        self._context = context
        self._table = table
        self._view = FilesView(context.spark, table)
        self._began = time.monotonic()
        limit = context.task.small_file_limit
        self._limit = SMALL_FILE_LIMIT if limit is None else limit

    def run(self) -> float | None:
        files = open_table_files(self._context.spark, self._table.base_path, limit=ROWS_LIMIT)
        found = files.read(STATISTICS_FILE)
        before = None if found is None else decode_statistics(found[0])
        as_of = self._view.as_of
        if as_of is None:
            return None
        wait = self._wait(before, as_of)
        if wait is None or wait > 0:
            return wait
        figures = self._figures(files)
        content = encode_statistics(self._document(before, as_of, figures))
        files.write(STATISTICS_FILE, content, expected=None if found is None else found[1])
        return None

    def _wait(self, before: TableStatistics | None, as_of: str) -> float | None:
        """Return the seconds until the next renewal, or None if nothing has changed.

        Another table version, another limit and a restore renew at once. In layout 1 the newest request does not show
        that an older plan has completed, so a change is assumed.
        """
        if before is None or (before.table_version, before.small_file_limit) != (self._table.version, self._limit):
            return 0
        if before.as_of == as_of and self._table.version >= LAYOUT_2_FROM:
            return None
        age = (datetime.now(UTC) - before.written_at).total_seconds()
        if age < 0 or self._view.restored_after(before.as_of):
            return 0
        return max(0, before.seconds * _SHARE - age)

    def _figures(self, files: TableFiles) -> Figures | None:
        """Return the figures; None if there are too many files."""
        sums = Sums(small_file_limit=self._limit)
        for slices in self._view.partitions():
            sums.add(slices)
            if not self._may_continue():
                return None
        return sums.figures(self._rows(files, sums), self._view.newest)

    def _rows(self, files: TableFiles, sums: Sums) -> Mapping[int, int]:
        """Return the rows of the newest base files, and store them for the time when their commits are archived."""
        if sums.base_files > MOST_FILES:
            return {}
        found = files.read(ROWS_FILE)
        stored = {} if found is None else decode_rows(found[0])
        rows = {each: stored[each] for each in sums.written if each in stored}
        for told in self._told(sums.unknown(rows)):
            rows |= {each: number for each, number in told.items() if each in sums.written}
        if rows != stored:
            files.write(ROWS_FILE, encode_rows(rows), expected=None if found is None else found[1])
        return rows

    def _told(self, instants: set[str]) -> Iterator[dict[int, int]]:
        for instant in sorted(instants, reverse=True)[:_COMMITS_READ]:
            if not self._may_continue():
                return
            yield self._view.rows_of(instant)

    def _may_continue(self) -> bool:
        if self._context.stopping.is_set():
            raise DriverStopping
        return time.monotonic() - self._began < _LONGEST

    def _document(self, before: TableStatistics | None, as_of: str, figures: Figures | None) -> TableStatistics:
        now = datetime.now(UTC)
        sizes = before.sizes if before is not None else ()
        return TableStatistics(
            as_of=as_of,
            table_version=self._table.version,
            small_file_limit=self._limit,
            written_at=now,
            seconds=round(time.monotonic() - self._began, 3),
            figures=figures,
            sizes=sizes if figures is None else sizes_with(sizes, figures.total_bytes, now),
        )


class RepeatedRenewal:
    """Calls `renew` during a run with many commits, seldom enough to take a tenth of the run's time."""

    def __init__(self, renew: Callable[[], float | None], *, clock: Callable[[], float] = time.monotonic) -> None:
        """`renew` returns the seconds until the statistics are due, or None if they are current."""
        self._renew = renew
        self._clock = clock
        self._due: float | None = None
        self._rests_until = 0.0

    def committed(self) -> None:
        """Renew after a commit, at once or later."""
        if self._due is None:
            self._due = self._clock()
        self.renew_if_due()

    def renew_if_due(self) -> None:
        """Renew if a commit is not in the statistics and the last renewal is long enough ago."""
        began = self._clock()
        if self._due is None or began < max(self._due, self._rests_until):
            return
        wait = self._renew()
        now = self._clock()
        self._due = None if wait is None else now + wait
        self._rests_until = now + _SHARE * (now - began)
