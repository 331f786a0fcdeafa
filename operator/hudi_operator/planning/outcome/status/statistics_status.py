"""Builds the statistics of a table's status from the document that its last driver wrote."""

from decimal import Context, Decimal

from hudi_jobs.contract.statistics import Figures, TableStatistics
from hudi_operator.api.status.table_parts import ExactStatistics, StatisticsStatus
from hudi_operator.planning.model import Observation
from hudi_operator.services.clustering import small_file_limit
from hudi_operator.timeline import Timeline
from hudi_operator.timeline.rules.changes import completed_changes

_BINARY = ((2**50, "Pi"), (2**40, "Ti"), (2**30, "Gi"), (2**20, "Mi"), (2**10, "Ki"))
_DECIMAL = ((10**15, "P"), (10**12, "T"), (10**9, "G"), (10**6, "M"), (10**3, "k"))
_ROUND = Context(prec=3)
_LARGEST_RATIO = 1e6


def statistics_status(observation: Observation) -> StatisticsStatus | None:
    """Return the statistics of a table; those of the last reading while the figures are stale."""
    snapshot = observation.snapshot
    if snapshot.timeline is None or observation.is_hidden:
        return observation.table.status.statistics if observation.is_stale else None
    found = snapshot.statistics
    if found is None:
        return None
    since = sum(one > found.as_of for one in completed_changes(snapshot.timeline))
    status = StatisticsStatus(as_of=found.as_of, commits_since=since)
    if found.figures is None:
        return status
    counts_small = found.small_file_limit == small_file_limit(observation.table.spec)
    return _with_figures(status, found, found.figures, snapshot.timeline, counts_small=counts_small)


def _with_figures(
    status: StatisticsStatus, found: TableStatistics, figures: Figures, timeline: Timeline, *, counts_small: bool
) -> StatisticsStatus:
    has_logs = timeline.properties.is_merge_on_read
    return status.copy_with(
        rows=_rounded(figures.rows, _DECIMAL),
        size=_rounded(figures.total_bytes, _BINARY),
        growth_per_day=_rounded(found.growth_per_day, _BINARY),
        files=figures.base_files,
        small_files=figures.small_files if counts_small else None,
        log_ratio=_ratio(figures.log_ratio) if has_logs else None,
        partition_skew=_ratio(figures.skew) if figures.partitions > 1 else None,
        exact=ExactStatistics(
            base_bytes=figures.base_bytes,
            log_bytes=figures.log_bytes,
            partitions=figures.partitions,
            rows=figures.rows,
        ),
    )


def _rounded(number: int | None, units: tuple[tuple[int, str], ...]) -> str | None:
    """Return a number as a quantity with three significant digits."""
    if number is None:
        return None
    factor, suffix = next((unit for unit in units if abs(number) >= unit[0]), (1, ""))
    return f"{_plain(Decimal(number) / factor)}{suffix}"


def _ratio(value: float | None) -> str | None:
    """Return a ratio with three significant digits; anybody may write into the document, so it is bounded."""
    return None if value is None else _plain(Decimal(str(round(min(value, _LARGEST_RATIO), 3))))


def _plain(value: Decimal) -> str:
    rounded = _ROUND.create_decimal(value)
    text = f"{rounded:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text
