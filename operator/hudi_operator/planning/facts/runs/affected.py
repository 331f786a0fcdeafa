"""Records the effects of a run on other instants, and when our runs were active."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from hudi_jobs.contract import MOST_AFFECTED, AffectedInstant, ConcurrencyMode, Effect
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.service_status import ServicesStatus
from hudi_operator.api.status.timeline import AffectedStatus, PendingOwner, PendingStatus
from hudi_operator.planning.model import JobObservation, Observation
from hudi_operator.planning.model.times import instant_time, parse_time
from hudi_operator.services.registry import SERVICES
from hudi_operator.timeline import Action, Timeline

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


_WRITES = frozenset({Action.COMMIT.value, Action.DELTA_COMMIT.value, Action.REPLACE_COMMIT.value})
_DID = {
    Effect.FINISHED: "Finished",
    Effect.ROLLED_BACK: "Rolled back",
    Effect.REPLANNED: "Rolled back, and planned again, the",
}


def with_affected(
    run: RunStatus, job: ActiveJob, observed: JobObservation | None, observation: Observation
) -> RunStatus:
    """Return an ended run with its effects on instants it did not begin."""
    pending = {one.time: one for service in SERVICES for one in observation.table.status.services.of(service).pending}
    result = observed.result if observed is not None else None
    if result is not None:
        # No other part of the status remembers instants that a continuous run ended hours ago.
        behind = (*observation.table.status.left_behind, *(job.left_behind or ()))
        affected = tuple(_as_reported(one, pending.get(one.instant), behind) for one in result.affected)
    else:
        affected = tuple(_as_seen(job, pending.values(), observation))
    return run.copy_with(affected=affected[:MOST_AFFECTED] or None)


def affected_message(affected: AffectedStatus) -> str:
    """Return the sentence on a run's effect on an instant, with the instant's owner."""
    whose = "another tool or an unknown run" if affected.owner is PendingOwner.OTHER else "an earlier run"
    if affected.run is not None:
        whose = f"run {affected.run}"
    return f"{_DID[affected.effect]} {affected.action} {affected.time} of {whose}."


def _as_reported(one: AffectedInstant, known: PendingStatus | None, left_behind: tuple[str, ...]) -> AffectedStatus:
    ours = one.run is not None or one.instant in left_behind or (known and known.owner is PendingOwner.THIS_TABLE)
    return AffectedStatus(
        time=one.instant,
        action=one.action,
        effect=one.effect,
        owner=PendingOwner.THIS_TABLE if ours else PendingOwner.OTHER,
        run=one.run,
    )


def _as_seen(job: ActiveJob, known: Iterable[PendingStatus], observation: Observation) -> Iterator[AffectedStatus]:
    """Compare the timeline with the pending instants when the run was decided.

    Only for a serialized table: elsewhere another writer may have ended an instant.
    """
    timeline = observation.snapshot.timeline
    if timeline is None or observation.table.spec.concurrency.mode is not ConcurrencyMode.SERIALIZED:
        return
    for one in known:
        effect = _effect(one, timeline) if one.time in (job.pending or ()) else None
        if effect is not None:
            yield AffectedStatus(time=one.time, action=one.action, effect=effect, owner=one.owner)


def _effect(one: PendingStatus, timeline: Timeline) -> Effect | None:
    found = next((instant for instant in timeline.instants if instant.time == one.time), None)
    if found is None:
        # Archival takes the oldest instants, and only completed instants.
        first = next((instant.time for instant in timeline.instants), one.time)
        return Effect.ROLLED_BACK if one.time > first else None
    return Effect.FINISHED if found.is_completed and one.action not in _WRITES else None
