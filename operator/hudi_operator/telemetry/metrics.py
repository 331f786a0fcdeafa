"""The operator's metrics. Names start with `hudi_operator_`; units are seconds.

No metric has a label for the table: with thousands of tables that would be too many series.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import perf_counter

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    GCCollector,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from hudi_operator.api.table_status import RunStatus

# Without this every counter brings a second series, which nothing here needs.
disable_created_metrics()

_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)


class Metrics:
    """All metrics of one process, in a registry of their own."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self.registry)
        self._reconciles = self._counter("reconcile", "Looks at a table, by result: success or error.", "result")
        self._reconcile_seconds = self._histogram("reconcile_duration_seconds", "How long a look at a table took.")
        self._queue_depth = self._gauge("queue_depth", "Tables that wait to be looked at.")
        self._queue_oldest = self._gauge("queue_oldest_seconds", "How long the longest waiting table has waited.")
        self._tables = self._gauge("tables", "Tables that the operator knows.")
        self._jobs_active = self._gauge("jobs_active", "Jobs that have not ended, by service.", "service")
        self._jobs = self._counter("jobs", "Jobs that have ended, by service and outcome.", "service", "outcome")
        self._timeline_reads = self._counter("timeline_reads", "Looks at a timeline, by result.", "result")
        self._timeline_seconds = self._histogram("timeline_read_seconds", "How long a look at a timeline took.")
        self._sweeps = self._counter("sweep", "Listings of all tables and classes, by result.", "result")
        self._watch = self._gauge(
            "watch_last_event_timestamp_seconds", "When the last watch event of a kind came, since 1970.", "kind"
        )
        self._active: dict[str, Tally[str]] = {}

    @contextmanager
    def reconcile(self) -> Iterator[None]:
        """Count and time one look at a table; an exception makes it an error."""
        started = perf_counter()
        result = "error"
        try:
            yield
            result = "success"
        finally:
            self._reconciles.labels(result).inc()
            self._reconcile_seconds.observe(perf_counter() - started)

    def timeline_read(self, *, result: str, seconds: float) -> None:
        """Count one look at a timeline; `result` is `success` or a word for what went wrong."""
        self._timeline_reads.labels(result).inc()
        self._timeline_seconds.observe(seconds)

    def run_finished(self, run: RunStatus) -> None:
        """Count a Job that has ended."""
        self._jobs.labels(run.service.value, run.outcome.value).inc()

    def set_active_jobs(self, table: str, services: Iterable[str]) -> None:
        """Say which services have a Job for this table now; none forgets the table."""
        now = Tally(services)
        before = self._active.pop(table, Tally[str]())
        if now:
            self._active[table] = now
        for service in before.keys() | now.keys():
            self._jobs_active.labels(service).inc(now[service] - before[service])

    def set_tables(self, number: int) -> None:
        """Say how many tables the operator knows."""
        self._tables.set(number)

    def sweep_ended(self, *, succeeded: bool) -> None:
        """Count one listing of all tables and classes."""
        self._sweeps.labels("success" if succeeded else "error").inc()

    def watch_event(self, kind: str) -> None:
        """Note that a watch event of a kind has come."""
        self._watch.labels(kind).set_to_current_time()

    def observe_queue(self, *, depth: Callable[[], float], oldest_seconds: Callable[[], float]) -> None:
        """Take the figures of the queue from these functions whenever the metrics are read."""
        self._queue_depth.set_function(depth)
        self._queue_oldest.set_function(oldest_seconds)

    def exposition(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        return Counter(f"hudi_operator_{name}", text, labels, registry=self.registry)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        return Gauge(f"hudi_operator_{name}", text, labels, registry=self.registry)

    def _histogram(self, name: str, text: str) -> Histogram:
        return Histogram(f"hudi_operator_{name}", text, buckets=_BUCKETS, registry=self.registry)


metrics = Metrics()
"""The metrics of this process."""
