"""The metrics that name a table: what each says, and how it is read from the figures of a table.

A new metric is one entry of `TABLE_SERIES`. Only names and words of the operator may become labels: texts of other
programs would make a series of each.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_operator.api.status.conditions import ConditionStatus, ConditionType
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.telemetry.run_costs import COST_LABELS, CPU, CPU_LABELS, NOTHING_SPENT, READ, WRITTEN, Spent

Sample = tuple[tuple[str, ...], float]
"""The values of a series' own labels, and its figure."""


@dataclass(frozen=True, kw_only=True)
class TableFigures:
    """What the series of a table are read from, whenever its status is decided.

    `target` is the declared freshness, None while a table is suspended or observed.
    """

    status: HudiTableStatus
    class_name: str = ""
    complete_up_to: datetime | None = None
    backlog_records: int | None = None
    backlog_bytes: int | None = None
    target: timedelta | None = None
    quarantined_rows: int = 0
    spent: Spent = NOTHING_SPENT

    @property
    def is_ready(self) -> bool:
        """Whether the condition Ready is True."""
        return self.ready is ConditionStatus.TRUE

    @property
    def ready(self) -> ConditionStatus:
        """The status of the condition Ready."""
        return self._status_of(ConditionType.READY)

    @property
    def reason(self) -> str:
        """The reason of the condition Ready."""
        return next((one.reason for one in self.status.conditions if one.type is ConditionType.READY), "")

    @property
    def needs_attention(self) -> bool:
        """Whether the table is not ready, misses its freshness or has findings."""
        is_behind = self._status_of(ConditionType.FRESH) is ConditionStatus.FALSE
        return not self.is_ready or is_behind or bool(self.status.findings)

    def _status_of(self, wanted: ConditionType) -> ConditionStatus:
        stated = (one.status for one in self.status.conditions if one.type is wanted)
        return next(stated, ConditionStatus.UNKNOWN)


@dataclass(frozen=True, kw_only=True)
class TableSeries:
    """A metric with the labels `table_namespace` and `table`, and labels of its own; `name` follows `table_`.

    The name of a counter ends in `_total`; every other metric is a gauge.
    """

    name: str
    text: str
    read: Callable[[TableFigures], Iterator[Sample]]
    labels: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """The type of the metric."""
        return "counter" if self.name.endswith("_total") else "gauge"


def known(figure: float | None) -> Iterator[Sample]:
    """Yield a figure without labels of its own; nothing for an unknown one."""
    if figure is not None:
        yield (), float(figure)


def _ready(table: TableFigures) -> Iterator[Sample]:
    return known(table.is_ready)


def _info(table: TableFigures) -> Iterator[Sample]:
    shape = table.status.table
    yield (table.class_name, table.ready.value, table.reason, shape.type if shape else ""), 1.0


def _findings(table: TableFigures) -> Iterator[Sample]:
    for one in table.status.findings:
        yield (one.code.value, one.severity.value), 1.0


def _complete_up_to(table: TableFigures) -> Iterator[Sample]:
    return known(table.complete_up_to.timestamp() if table.complete_up_to else None)


def _backlog_records(table: TableFigures) -> Iterator[Sample]:
    return known(table.backlog_records)


def _backlog_bytes(table: TableFigures) -> Iterator[Sample]:
    return known(table.backlog_bytes)


def _target(table: TableFigures) -> Iterator[Sample]:
    return known(table.target.total_seconds() if table.target else None)


def _quarantined_rows(table: TableFigures) -> Iterator[Sample]:
    return known(table.quarantined_rows)


def _cpu_seconds(table: TableFigures) -> Iterator[Sample]:
    yield from table.spent.cpu_seconds.items()


def _read_bytes(table: TableFigures) -> Iterator[Sample]:
    yield from table.spent.read_bytes.items()


def _written_bytes(table: TableFigures) -> Iterator[Sample]:
    yield from table.spent.written_bytes.items()


def _size(table: TableFigures) -> Iterator[Sample]:
    exact = table.status.statistics and table.status.statistics.exact
    return known(exact.base_bytes + exact.log_bytes if exact else None)


def _rows(table: TableFigures) -> Iterator[Sample]:
    exact = table.status.statistics and table.status.statistics.exact
    return known(exact.rows if exact else None)


def _files(table: TableFigures) -> Iterator[Sample]:
    return known(table.status.statistics.files if table.status.statistics else None)


def _small_files(table: TableFigures) -> Iterator[Sample]:
    return known(table.status.statistics.small_files if table.status.statistics else None)


def _log_ratio(table: TableFigures) -> Iterator[Sample]:
    exact = table.status.statistics and table.status.statistics.exact
    return known(exact.log_bytes / exact.base_bytes if exact and exact.base_bytes else None)


TABLE_SERIES: tuple[TableSeries, ...] = (
    TableSeries(name="ready", text="1 if a table is Ready, 0 if its condition is False or Unknown.", read=_ready),
    TableSeries(
        name="info",
        text="Always 1: the class of a table, its condition Ready with the reason, and its type.",
        read=_info,
        labels=("class", "ready", "reason", "type"),
    ),
    TableSeries(
        name="findings",
        text="Always 1: a finding of a table; docs/operations/findings.md explains each code.",
        read=_findings,
        labels=("code", "severity"),
    ),
    TableSeries(
        name="complete_up_to_timestamp_seconds",
        text="Time since 1970 up to which the table holds everything in its source.",
        read=_complete_up_to,
    ),
    TableSeries(
        name="backlog_records",
        text="Records that the newest run of a table left to read in its source.",
        read=_backlog_records,
    ),
    TableSeries(
        name="backlog_bytes",
        text="Bytes that the newest run of a table left to read in its source.",
        read=_backlog_bytes,
    ),
    TableSeries(
        name="freshness_target_seconds",
        text=(
            "Declared freshness of a table: how far it may be behind its source; absent while it is suspended or "
            "observed."
        ),
        read=_target,
    ),
    TableSeries(
        name="quarantined_rows",
        text="Rows of a table in its quarantine that nobody has acknowledged.",
        read=_quarantined_rows,
    ),
    TableSeries(name="run_cpu_seconds_total", text=f"{CPU}; of a table.", read=_cpu_seconds, labels=CPU_LABELS),
    TableSeries(name="run_read_bytes_total", text=f"{READ}; of a table.", read=_read_bytes, labels=COST_LABELS),
    TableSeries(
        name="run_written_bytes_total", text=f"{WRITTEN}; of a table.", read=_written_bytes, labels=COST_LABELS
    ),
    TableSeries(
        name="size_bytes", text="Size of the base and log files of a table, as its last run measured it.", read=_size
    ),
    TableSeries(name="rows", text="Rows of a table before log files are merged; absent while unknown.", read=_rows),
    TableSeries(name="files", text="Base files of a table that a query reads.", read=_files),
    TableSeries(name="small_files", text="Base files of a table below its small file limit.", read=_small_files),
    TableSeries(
        name="log_ratio", text="Size of the log files of a table over that of its base files.", read=_log_ratio
    ),
)
