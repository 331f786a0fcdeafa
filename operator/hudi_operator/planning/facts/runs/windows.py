"""Determines when our runs were active, to tell their leftovers from others'."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ActiveJob, ServicesStatus
from hudi_operator.planning.model.times import instant_time, parse_time
from hudi_operator.services.registry import SERVICES

SKEW = timedelta(minutes=10)
"""The largest difference between the clocks of the operator, a driver and a store."""


@dataclass(frozen=True, kw_only=True)
class Window:
    """The time in which a run was active; without an end it still is."""

    start: datetime
    end: datetime | None = None

    @classmethod
    def always(cls) -> "Window":
        """Return a window that includes every instant."""
        return cls(start=datetime.min.replace(tzinfo=UTC) + 2 * SKEW)

    def holds(self, instant: str) -> bool:
        """Whether an instant was requested within the window."""
        moment = instant_time(instant)
        if moment is None:
            return False
        return self.start - SKEW <= moment and (self.end is None or moment <= self.end + SKEW)


def known_runs(services: ServicesStatus, history: Iterable[RunStatus]) -> tuple[RunStatus, ...]:
    """Return every ended run in the status."""
    last = (services.of(service).last_run for service in SERVICES)
    runs = {run.job: run for run in (*history, *(run for run in last if run is not None))}
    return tuple(runs.values())


def windows_of(runs: Iterable[RunStatus], active: Iterable[ActiveJob]) -> tuple[Window, ...]:
    """Return the windows of these runs."""
    times = [(parse_time(run.started_at), parse_time(run.finished_at)) for run in runs]
    ended = [Window(start=start, end=end) for start, end in times if start is not None and end is not None]
    starts = (parse_time(job.started_at) for job in active)
    return (*ended, *(Window(start=start) for start in starts if start is not None))
