"""Keeps the series that name a table, and writes them for each scrape.

The figures are read when the status of a table is decided, and written as text with the first scrape after a change: a
scrape of tables at rest only joins texts. Above `limit` tables only those that need attention have series: not ready,
behind their freshness, or with findings.
"""

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector

from hudi_operator.telemetry.table_series import TABLE_SERIES, Sample, TableFigures, TableSeries

TABLE_LABELS = ("table_namespace", "table")
"""Labels of the table; a scrape overwrites `namespace` with the operator's own, but not these."""

DEFAULT_LIMIT = 1000

_Table = tuple[str, str]
_Texts = tuple[bytes, ...]
"""The lines of a table, for each metric."""


class TableMetrics(Collector):
    """The series of all tables, at most one for each table and set of labels."""

    def __init__(self, *, prefix: str, series: Sequence[TableSeries] = TABLE_SERIES) -> None:
        self._prefix = prefix
        self._series = tuple(series)
        self._samples: dict[_Table, tuple[tuple[Sample, ...], ...]] = {}
        self._texts: dict[_Table, _Texts] = {}
        self._needy: set[_Table] = set()
        self._limit = DEFAULT_LIMIT
        self._enabled = True

    def configure(self, *, enabled: bool, limit: int) -> None:
        """Say whether tables have series, and above which number of tables only those that need attention do."""
        self._enabled, self._limit = enabled, limit
        if not enabled:
            for table in list(self._samples):
                self.forget(*table)

    def show(self, namespace: str, name: str, figures: TableFigures) -> None:
        """Replace the series of a table."""
        if not self._enabled:
            return
        table = (namespace, name)
        samples = tuple(tuple(series.read(figures)) for series in self._series)
        if samples != self._samples.get(table):
            self._samples[table] = samples
            self._texts.pop(table, None)
        if figures.needs_attention:
            self._needy.add(table)
        else:
            self._needy.discard(table)

    def forget(self, namespace: str, name: str) -> None:
        """Remove the series of a table, known or not."""
        self._samples.pop((namespace, name), None)
        self._texts.pop((namespace, name), None)
        self._needy.discard((namespace, name))

    @property
    def shown(self) -> Sequence[_Table]:
        """Return the tables with series."""
        return list(self._samples) if len(self._samples) <= self._limit else sorted(self._needy)

    def exposition(self) -> bytes:
        """Return the series in the text format of Prometheus."""
        heads = [generate_latest(_One(family)) for family in self._families(())]
        texts = [self._text_of(table) for table in self.shown]
        return b"".join(part for lines in zip(heads, *texts, strict=True) for part in lines)

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics of the tables with series."""
        return self._families(self.shown)

    def _text_of(self, table: _Table) -> _Texts:
        text = self._texts.get(table)
        if text is None:
            # A head is two lines; a line break in a label is escaped.
            written = (generate_latest(_One(family)) for family in self._families((table,)))
            text = self._texts[table] = tuple(lines.split(b"\n", 2)[2] for lines in written)
        return text

    def _families(self, tables: Iterable[_Table]) -> Iterator[Metric]:
        for place, series in enumerate(self._series):
            labels = (*TABLE_LABELS, *series.labels)
            kind = CounterMetricFamily if series.kind == "counter" else GaugeMetricFamily
            family = kind(self.name_of(series), series.text, labels=labels)
            for table in tables:
                for own, figure in self._samples[table][place]:
                    family.add_metric((*table, *own), figure)
            yield family

    def name_of(self, series: TableSeries) -> str:
        """Return the name that Prometheus stores."""
        return f"{self._prefix}table_{series.name}"

    @property
    def series(self) -> Sequence[TableSeries]:
        """Return the metrics, in the order of the reference page."""
        return self._series


class _One(Collector):
    """A single metric, for the library's writer."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> Iterator[Metric]:
        yield self._family
