"""`top`: how large tables are, how fast they grow, and how many small files and logs they have."""

from collections.abc import Sequence
from datetime import datetime

from hudi_operator.api.status.table_parts import StatisticsStatus
from hudi_operator.cli.render.text import Row, age, table
from hudi_operator.cli.render.view import TableView
from hudi_operator.planning.model.times import instant_time

_UNKNOWN = "?"


def size_of(view: TableView) -> int | None:
    """Return the bytes of a table's base and log files; None if they are unknown."""
    found = view.status.statistics
    return found.exact.base_bytes + found.exact.log_bytes if found is not None and found.exact is not None else None


def top_text(views: Sequence[TableView], *, now: datetime, namespaces: bool) -> str:
    """Return the statistics of tables; what is unknown is a question mark."""
    header = ["NAME", "SIZE", "GROWTH/DAY", "ROWS", "FILES", "SMALL", "LOGS", "PARTITIONS", "SKEW", "AS OF", "SINCE"]
    rows: list[Row] = [
        [one.metadata.namespace] * namespaces + [one.metadata.name, *_figures(one.status.statistics, now)]
        for one in views
    ]
    return table(["NAMESPACE"] * namespaces + header, rows, colour=False)


def _figures(found: StatisticsStatus | None, now: datetime) -> list[str]:
    if found is None:
        return [_UNKNOWN] * 10
    figures = (found.size, found.growth_per_day, found.rows, found.files, found.small_files)
    partitions = found.exact.partitions if found.exact is not None else None
    return [
        *(_UNKNOWN if one is None else str(one) for one in figures),
        found.log_ratio or "",
        _UNKNOWN if partitions is None else str(partitions),
        found.partition_skew or "",
        age(instant_time(found.as_of), now),
        str(found.commits_since),
    ]
