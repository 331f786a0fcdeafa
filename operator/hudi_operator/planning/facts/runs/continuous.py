"""Follows a running continuous ingestion: its results, and whether it makes progress.

The operator reads the driver's own document and the timeline. The last seen progress and its time are in the status, by
the API server's clock; the driver's clock is compared with nothing. Time without observation does not count.
"""

from collections.abc import Iterable
from datetime import datetime
from itertools import islice

from hudi_jobs.contract import ConcurrencyMode, Progress, ProgressState
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.schedule import Continuous
from hudi_operator.api.status.runs import ActiveJob, LiveStatus
from hudi_operator.api.values.base import parse_duration
from hudi_operator.planning.model import JobObservation, JobPhase, Observation, TimelineSnapshot
from hudi_operator.planning.model.healing import class_version_of
from hudi_operator.planning.model.reasons import RunRemark, RunTrouble
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.timeline import PendingKind, pending_instants

DRAINING = RunRemark.DRAINING.value
"""State of a Job asked to end at the next batch boundary."""

STOPPED = frozenset({DRAINING, RunTrouble.NO_PROGRESS.value})
"""States of a continuous Job stopped by the operator, kept until its run is concluded."""

_RENEWALS = 5
"""How often the time of the last progress is renewed within the deadline: each renewal writes the status."""

_SHOWN = ("batches", "rows_read", "rows_quarantined", "files_read", "bytes_read", "records_skipped")
_NAMES_SHOWN = 3
_NAME_SHOWN = 128
_UNSEEN = frozenset({"moved_at", "seen", "polled_at", "state"})
"""Fields that alone are not worth a write: without input the driver alternates between `Ingesting` and `Waiting`."""


def settings_of(table: HudiTable) -> Continuous:
    """Return the continuous settings of a table; defaults if the spec has another mode by now."""
    return table.spec.ingestion.continuous if table.spec.ingestion is not None else Continuous()


def driver_version(observation: Observation) -> str | None:
    """Return the fingerprint of what a driver is told beside the spec: the class, and an entry that it may not sync.

    None without a class.
    """
    known = observation.table_class
    if known is None:
        return None
    return class_version_of(known) + ("" if observation.entry_taken is None else "-entry-taken")


def is_healthy(job: ActiveJob) -> bool:
    """Whether a continuous driver has polled its source, which ends the cause of earlier failures."""
    return job.live is not None and job.live.polled_at is not None and job.state not in STOPPED


def with_live_progress(job: ActiveJob, snapshot: TimelineSnapshot) -> ActiveJob:
    """Return a run with the reports of its driver and commits."""
    if job.live is None:
        return job
    live, document = job.live.copy_with(instant=_newest_own(job, snapshot)), progress_of(job, snapshot)
    if document is not None:
        live = live.copy_with(
            **{name: getattr(document, name) for name in _SHOWN},
            polled_at=document.polled_at,
            state=document.state.value,
            skipped=cut_names(document.skipped) or None,
            takes=(document.takes and document.state is not ProgressState.ENDING) or None,
        )
    return job.copy_with(live=live)


def cut_names(names: Iterable[str]) -> tuple[str, ...]:
    """Return the skipped names, cut to fit the status."""
    return tuple(name[:_NAME_SHOWN] for name in islice(names, _NAMES_SHOWN))


def progress_of(job: ActiveJob, snapshot: TimelineSnapshot) -> Progress | None:
    """Return a run's last progress document; a document of an earlier run is ignored."""
    return snapshot.progress if snapshot.progress is not None and snapshot.progress.run == job.name else None


def _newest_own(job: ActiveJob, snapshot: TimelineSnapshot) -> str | None:
    """Return a run's newest commit in the timeline; an unconfirmed or undone commit does not count."""
    document, before = progress_of(job, snapshot), job.live.instant if job.live is not None else None
    if snapshot.timeline is None:
        return before
    first = snapshot.timeline.instants[0].time if snapshot.timeline.instants else ""
    completed = {one.time for one in snapshot.timeline.completed}
    said = document.instant if document is not None else None
    known = (
        snapshot.instant_of(job.name),
        said if said in completed else None,
        before if before is not None and (before in completed or before < first) else None,
    )
    return max((one for one in known if one is not None), default=None)


def followed(job: ActiveJob, found: JobObservation, observation: Observation, *, now: datetime) -> ActiveJob:
    """Return an active run's memory: its reports, and when it last made progress."""
    if job.live is None:
        return job
    before, after = job.live, with_live_progress(job, observation.snapshot).live
    assert after is not None, "it is told of a continuous run alone"
    is_running = found.phase is JobPhase.RUNNING
    since = before.running_since or (format_time(now) if is_running else None)
    seen = _seen(job, observation)
    moved_at = parse_time(before.moved_at)
    unknown = observation.snapshot.trouble is not None or not is_running
    moves = unknown or seen != before.seen or moved_at is None or moved_at > now
    after = after.copy_with(running_since=since)
    if moves and (moved_at is None or _is_worth_telling(before, after) or _is_due(moved_at, observation, now=now)):
        after = after.copy_with(seen=seen, moved_at=format_time(now))
    else:
        after = after.copy_with(**{name: getattr(before, name) for name in _UNSEEN})
    return job.copy_with(live=after)


def _is_worth_telling(before: LiveStatus, after: LiveStatus) -> bool:
    first = before.polled_at is None and after.polled_at is not None
    return first or before.model_dump(exclude=set(_UNSEEN)) != after.model_dump(exclude=set(_UNSEEN))


def _is_due(moved_at: datetime, observation: Observation, *, now: datetime) -> bool:
    deadline = parse_duration(settings_of(observation.table).progress_deadline)
    return moved_at > now or now - moved_at >= deadline / _RENEWALS


def _seen(job: ActiveJob, observation: Observation) -> str:
    """Return a text that changes with the run's progress; beside other writers a pending write may not be its own."""
    document, timeline = progress_of(job, observation.snapshot), observation.snapshot.timeline
    pending = ""
    if timeline is not None and observation.table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED:
        writes = (one.instant for one in pending_instants(timeline) if one.kind is PendingKind.WRITE)
        pending = max((f"{one.time}.{one.state.value}" for one in writes), default="")
    number = document.sequence if document is not None else ""
    return f"{number}/{observation.snapshot.instant_of(job.name) or ''}/{pending}"[:128]
