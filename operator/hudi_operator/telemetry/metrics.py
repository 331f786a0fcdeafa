"""The operator's metrics. Names start with `hudi_operator_`; units are seconds.

`table_series.py` has the metrics that name a table.
"""

from collections import Counter as Tally
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
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

from hudi_jobs.contract import FailureReason
from hudi_operator.api.status.findings import Finding
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.service_status import service_name
from hudi_operator.api.status.table_operations import TableOperation
from hudi_operator.telemetry.run_costs import COST_LABELS, CPU, CPU_LABELS, READ, WRITTEN, RunCosts
from hudi_operator.telemetry.table_metrics import TABLE_LABELS, TableMetrics
from hudi_operator.telemetry.table_series import TableFigures

# Without this, every counter brings a second series that the operator does not need.
disable_created_metrics()

_PREFIX = "hudi_operator_"
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300)

_FINDING = ("code", "severity")

_DELAY_BUCKETS = (0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600)


@dataclass(frozen=True, kw_only=True)
class MetricDescription:
    """A metric as the reference page shows it; `name` is the name that Prometheus stores."""

    name: str
    kind: str
    text: str
    labels: tuple[str, ...] = ()


class Metrics:
    """All metrics of a process, in their own registry. `descriptions` lists those of the operator itself."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._unnamed = CollectorRegistry()  # all but those that name a table
        self.descriptions: list[MetricDescription] = []
        for collector in (ProcessCollector, PlatformCollector, GCCollector):
            collector(registry=self._unnamed)
        self._describe_loop()
        self._describe_runs()
        self._describe_timelines()
        self.tables = TableMetrics(prefix=_PREFIX)
        self.registry.register(self._unnamed)
        self.registry.register(self.tables)
        self._describe_tables()
        self._describe_watching()
        self._active: dict[str, Tally[str]] = {}
        self._findings: dict[str, Tally[tuple[str, str]]] = {}
        self._unready: dict[str, tuple[str, str]] = {}

    def _describe_loop(self) -> None:
        self._reconciles = self._counter(
            "reconcile",
            "Reconciles of a table, by result: success, error, or unchanged if a poll found an unchanged timeline.",
            "result",
        )
        self._reconcile_seconds = self._histogram(
            "reconcile_duration_seconds", "Time that a reconcile of a table took.", _BUCKETS
        )
        self._queue_depth = self._gauge("queue_depth", "Tables that wait to be reconciled.")
        self._queue_oldest = self._gauge("queue_oldest_seconds", "Time that the longest waiting table has waited.")
        self._tables = self._gauge("tables", "Tables that the operator knows.")
        self._leader = self._gauge("leader", "1 in the leading process, 0 in the standby processes.")

    def _describe_runs(self) -> None:
        self._jobs_active = self._gauge("jobs_active", "Jobs that have not ended, by service.", "service")
        self._launched = self._counter("jobs_launched", "Jobs that were created, by service.", "service")
        self._jobs = self._counter(
            "jobs", "Jobs that have ended or were refused, by service and outcome.", "service", "outcome"
        )
        self._costs = RunCosts(
            cpu=self._counter("run_cpu_seconds", f"{CPU}.", "table_namespace", *CPU_LABELS),
            read=self._counter("run_read_bytes", f"{READ}.", "table_namespace", *COST_LABELS),
            written=self._counter("run_written_bytes", f"{WRITTEN}.", "table_namespace", *COST_LABELS),
        )
        self._rows_quarantined = self._counter("rows_quarantined", "Rows that ingestion has put into a quarantine.")
        self._operations = self._counter(
            "operations",
            "HudiOperations that have ended on their own table, except dry runs, by kind and outcome: Succeeded; "
            "NotVerified if the counts of rows differ from those before, or rows of other commits may be missing; "
            "Failed if it was refused without a change, used up its retries, or is an erasure that left keys in files "
            "or lost its keys.",
            "kind",
            "outcome",
        )
        self._launch_delay = self._histogram(
            "launch_delay_seconds",
            "Time between the moment a run was due and the creation of its Job.",
            _DELAY_BUCKETS,
            "service",
        )

    def _describe_timelines(self) -> None:
        self._timeline_reads = self._counter("timeline_reads", "Reads of a timeline, by result.", "result")
        self._timeline_seconds = self._histogram(
            "timeline_read_seconds", "Time that a read of a timeline took.", _BUCKETS
        )
        self._store_requests = self._counter(
            "store_requests",
            "Requests to object stores for reads of tables, by operation: list, read or stat.",
            "operation",
        )
        self._source_looks = self._counter(
            "source_looks", "Looks at the source of a table before a run, by result.", "result"
        )
        self._source_look_seconds = self._histogram(
            "source_look_seconds", "Time that a look at a source took.", _BUCKETS
        )
        self._source_requests = self._counter(
            "source_requests",
            "Requests to object stores for looks at sources, by operation: list, read or stat.",
            "operation",
        )
        self._findings_shown = self._gauge(
            "findings",
            "Findings of all tables, by code and severity; docs/operations/findings.md explains each.",
            *_FINDING,
        )

    def _describe_tables(self) -> None:
        self._tables_shown = self._gauge(
            "tables_with_series", "Tables that have series of their own, by the settings for metrics of tables."
        )
        self._tables_shown.set_function(lambda: len(self.tables.shown))
        self._not_ready = self._gauge(
            "tables_not_ready", "Tables whose condition Ready is not True, by its status and reason.", "ready", "reason"
        )
        for one in self.tables.series:
            self._describe(f"table_{one.name}", one.kind, one.text, (*TABLE_LABELS, *one.labels))

    def _describe_watching(self) -> None:
        self._resyncs = self._counter("resync", "Listings of all tables and classes, by result.", "result")
        self._resync_age = self._gauge(
            "resync_age_seconds", "Time since the last complete listing of all tables and classes."
        )
        self._refused_namespaces = self._gauge(
            "refused_namespaces",
            "Namespaces of `watchNamespaces` that refuse every listing, so that the operator does nothing in them.",
        )
        self._watch = self._gauge(
            "watch_last_event_timestamp_seconds", "Time of the last watch event of a kind, since 1970.", "kind"
        )
        self._watch_restarts = self._counter("watch_restarts", "Number of times the watches ended and were restarted.")

    @contextmanager
    def reconcile(self) -> Iterator[None]:
        """Count and time a reconcile of a table; an exception makes it an error."""
        started = perf_counter()
        result = "error"
        try:
            yield
            result = "success"
        finally:
            self._reconciles.labels(result).inc()
            self._reconcile_seconds.observe(perf_counter() - started)

    def found_unchanged(self) -> None:
        """Count a reconcile that ended early because the timeline was unchanged; it counts as a success too."""
        self._reconciles.labels("unchanged").inc()

    def timeline_read(self, *, result: str, seconds: float) -> None:
        """Count a read of a timeline; `result` is `success` or a word for the failure."""
        self._timeline_reads.labels(result).inc()
        self._timeline_seconds.observe(seconds)

    def store_requests(self, *, lists: int, reads: int, stats: int, is_look: bool = False) -> None:
        """Count requests to an object store, those of looks at sources apart."""
        counter = self._source_requests if is_look else self._store_requests
        for operation, number in (("list", lists), ("read", reads), ("stat", stats)):
            if number:
                counter.labels(operation).inc(number)

    def source_look(self, *, result: str, seconds: float) -> None:
        """Count a look at a source; `result` is `success` or a word for the problem."""
        self._source_looks.labels(result).inc()
        self._source_look_seconds.observe(seconds)

    def job_launched(self, service: str, *, delay_seconds: float | None) -> None:
        """Count a created Job; the delay is from the time when it was due, None if that is unknown."""
        self._launched.labels(service).inc()
        if delay_seconds is not None:
            self._launch_delay.labels(service).observe(max(0.0, delay_seconds))

    def run_finished(self, run: RunStatus) -> None:
        """Count an ended Job."""
        self._jobs.labels(service_name(run.service), run.outcome.value).inc()

    def run_cost(self, namespace: str, name: str, run: RunStatus, *, class_name: str) -> None:
        """Count what an ended run of a table cost."""
        self._costs.count(namespace, name, run, class_name=class_name)

    def quarantined(self, rows: int) -> None:
        """Count rows that ingestion has put into a quarantine."""
        self._rows_quarantined.inc(rows)

    def operation_finished(self, operation: TableOperation) -> None:
        """Count an ended operation, with the outcome of its Event."""
        if operation.dry_run:
            return
        is_left = operation.reason == FailureReason.NOT_VERIFIED
        outcome = FailureReason.NOT_VERIFIED if is_left else operation.state
        self._operations.labels(operation.kind.value, outcome.value).inc()

    def set_active_jobs(self, table: str, services: Iterable[str]) -> None:
        """Set the services that have a Job for this table now; an empty set forgets the table."""
        now = Tally(services)
        before = self._active.pop(table, Tally[str]())
        if now:
            self._active[table] = now
        for service in before.keys() | now.keys():
            self._jobs_active.labels(service).inc(now[service] - before[service])

    def set_findings(self, table: str, findings: Iterable[Finding]) -> None:
        """Set the findings of a table now; no findings forget the table."""
        now = Tally((one.code.value, one.severity.value) for one in findings)
        before = self._findings.pop(table, Tally[tuple[str, str]]())
        if now:
            self._findings[table] = now
        for labels in before.keys() | now.keys():
            self._findings_shown.labels(*labels).inc(now[labels] - before[labels])

    def set_table(self, namespace: str, name: str, figures: TableFigures) -> None:
        """Set the figures of a table now: its findings, readiness and series."""
        key = f"{namespace}/{name}"
        self.set_findings(key, figures.status.findings)
        self._set_unready(key, None if figures.is_ready else (figures.ready.value, figures.reason))
        self.tables.show(namespace, name, replace(figures, spent=self._costs.of_table(namespace, name)))

    def forget_table(self, namespace: str, name: str) -> None:
        """Remove everything that a table contributes to the metrics."""
        key = f"{namespace}/{name}"
        self.set_active_jobs(key, ())
        self.set_findings(key, ())
        self._set_unready(key, None)
        self._costs.forget(namespace, name)
        self.tables.forget(namespace, name)

    def _set_unready(self, table: str, labels: tuple[str, str] | None) -> None:
        before = self._unready.pop(table, None)
        if before is not None:
            self._not_ready.labels(*before).dec()
        if labels is not None:
            self._unready[table] = labels
            self._not_ready.labels(*labels).inc()

    def resync_ended(self, *, succeeded: bool) -> None:
        """Count a listing of all tables and classes."""
        self._resyncs.labels("success" if succeeded else "error").inc()

    def watch_event(self, kind: str) -> None:
        """Record the time of a watch event of a kind."""
        self._watch.labels(kind).set_to_current_time()

    def watch_restarted(self) -> None:
        """Count an unexpected end of the watches."""
        self._watch_restarts.inc()

    def observe_queue(self, *, depth: Callable[[], float], oldest_seconds: Callable[[], float]) -> None:
        """Read the figures of the queue from these functions whenever the metrics are read."""
        self._queue_depth.set_function(depth)
        self._queue_oldest.set_function(oldest_seconds)

    def observe_resync(self, *, age_seconds: Callable[[], float]) -> None:
        """Read the age of the last resync from this function whenever the metrics are read."""
        self._resync_age.set_function(age_seconds)

    def observe_refused_namespaces(self, number: Callable[[], float]) -> None:
        """Read the number of namespaces that refuse to be served from this function whenever the metrics are read."""
        self._refused_namespaces.set_function(number)

    def observe_tables(self, number: Callable[[], float]) -> None:
        """Read the number of known tables from this function whenever the metrics are read."""
        self._tables.set_function(number)

    def observe_leader(self, leads: Callable[[], bool]) -> None:
        """Read whether this process leads from this function whenever the metrics are read."""
        self._leader.set_function(lambda: float(leads()))

    def exposition(self) -> bytes:
        """Return all metrics in the text format of Prometheus."""
        return generate_latest(self._unnamed) + self.tables.exposition()

    def _counter(self, name: str, text: str, *labels: str) -> Counter:
        self._describe(f"{name}_total", "counter", text, labels)
        return Counter(f"{_PREFIX}{name}", text, labels, registry=self._unnamed)

    def _gauge(self, name: str, text: str, *labels: str) -> Gauge:
        self._describe(name, "gauge", text, labels)
        return Gauge(f"{_PREFIX}{name}", text, labels, registry=self._unnamed)

    def _histogram(self, name: str, text: str, buckets: tuple[float, ...], *labels: str) -> Histogram:
        self._describe(name, "histogram", text, labels)
        return Histogram(f"{_PREFIX}{name}", text, labels, buckets=buckets, registry=self._unnamed)

    def _describe(self, name: str, kind: str, text: str, labels: tuple[str, ...]) -> None:
        self.descriptions.append(MetricDescription(name=f"{_PREFIX}{name}", kind=kind, text=text, labels=labels))


metrics = Metrics()
"""The metrics of this process."""
