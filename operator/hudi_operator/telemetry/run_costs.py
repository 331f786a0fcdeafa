"""Counts what ended runs cost: for each namespace, class and service, and for each table that exists.

The counters begin at 0 with the process, like all counters; a run counts once, after its end was written to the status.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from prometheus_client import Counter

from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.service_status import service_name

COST_LABELS = ("class", "service")
CPU_LABELS = (*COST_LABELS, "estimated")

CPU = "Processor seconds that ended runs used, as reported by their drivers, or estimated as requested cores times time"
READ = "Bytes that ended runs read from the store"
WRITTEN = "Bytes that ended runs wrote to the store"


@dataclass(frozen=True, kw_only=True)
class Spent:
    """What runs of one class and service cost, by the labels of each counter."""

    cpu_seconds: Mapping[tuple[str, ...], float]
    read_bytes: Mapping[tuple[str, ...], float]
    written_bytes: Mapping[tuple[str, ...], float]


NOTHING_SPENT = Spent(cpu_seconds={}, read_bytes={}, written_bytes={})

Samples = Iterator[tuple[tuple[str, ...], float]]


class RunCosts:
    """The counters of a process, with the sums of each table for the series that name it."""

    def __init__(self, *, cpu: Counter, read: Counter, written: Counter) -> None:
        self._counters = (cpu, read, written)
        self._tables: dict[tuple[str, str], tuple[defaultdict[tuple[str, ...], float], ...]] = {}

    def count(self, namespace: str, name: str, run: RunStatus, *, class_name: str) -> None:
        """Count a run that has ended; a run without a cost counts nothing."""
        sums = self._tables.setdefault((namespace, name), tuple(defaultdict(float) for _ in self._counters))
        for counter, own, samples in zip(self._counters, sums, _samples(run, class_name), strict=True):
            for labels, figure in samples:
                counter.labels(namespace, *labels).inc(figure)
                own[labels] += figure

    def of_table(self, namespace: str, name: str) -> Spent:
        """Return the sums of a table since the process began."""
        sums = self._tables.get((namespace, name))
        if sums is None:
            return NOTHING_SPENT
        cpu, read, written = sums
        return Spent(cpu_seconds=cpu, read_bytes=read, written_bytes=written)

    def forget(self, namespace: str, name: str) -> None:
        """Forget the sums of a table that is gone; those of its namespace stay."""
        self._tables.pop((namespace, name), None)


def _samples(run: RunStatus, class_name: str) -> tuple[Samples, Samples, Samples]:
    labels, cost = (class_name, service_name(run.service)), run.cost
    if cost is None:
        return iter(()), iter(()), iter(())
    cpu = (
        ((*labels, "false"), cost.cpu_milliseconds / 1000),
        ((*labels, "true"), cost.estimated_cpu_milliseconds / 1000),
    )
    return (
        (sample for sample in cpu if sample[1]),
        ((labels, figure) for figure in (cost.bytes_read,) if figure),
        ((labels, figure) for figure in (cost.bytes_written,) if figure),
    )
