"""How far a table is behind its source: by the reports of its runs, and by looks at the source.

A digest counts only with what made its run read everything: the spec and the circumstances (`fingerprint`), the
position in the source (`checkpoint`) and the table's history (`instant`). Without any of these the table gets a run,
which then finds nothing to do.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_jobs.contract import Outcome, Service, TaskResult
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.status.runs import DIGEST_LIMIT, ActiveJob, LookStatus, RunStatus
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.api.status.table_parts import MOST_BACKLOG, FreshnessStatus
from hudi_operator.planning.facts.runs.failures import failure_kind
from hudi_operator.planning.facts.runs.tracking import own_job
from hudi_operator.planning.model import Observation, TimelineSnapshot
from hudi_operator.planning.model.times import Lag, believed, format_time, known_up_to, lag_of, parse_time, source_of
from hudi_operator.sources.look import SourceLook
from hudi_operator.sources.registry import open_rescan

_RENEWED_EVERY = timedelta(minutes=5)
"""A continuous run reports every few seconds, and each change of the status is a write."""

_MOST_OFTEN = timedelta(minutes=1)
_RENEWALS = 5
"""The renewals within the requested freshness."""

_TRUE = frozenset({Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO})


@dataclass(frozen=True, kw_only=True)
class Progress:
    """A run's report, ended or running; nothing is trusted before the merge."""

    complete_up_to: str | None = None
    backlog_records: int | None = None
    backlog_bytes: int | None = None


def merge_progress(
    known: FreshnessStatus | None, said: Progress, *, source: str, now: datetime
) -> FreshnessStatus | None:
    """Return a table's freshness after a run's report, or None if unknown.

    `said` covers commits in the timeline, of the source with the fingerprint `source`. Rows stay in the table, so the
    newest `complete_up_to` holds; it is never in the future. The backlog is the newest report's, and unknown if that
    report has none.
    """
    before = known if known is not None and known.source == source else None
    moments = (known_up_to(before, now=now), believed(said.complete_up_to, now=now))
    newest = max((moment for moment in moments if moment is not None), default=None)
    records, size = _bounded(said.backlog_records), _bounded(said.backlog_bytes)
    if newest is None and records is None and size is None:
        return None
    return FreshnessStatus(
        complete_up_to=format_time(newest) if newest else None,
        backlog_records=records,
        backlog_bytes=size,
        source=source,
    )


def _bounded(number: int | None) -> int | None:
    return number if number is not None and 0 <= number <= MOST_BACKLOG else None


def freshness_after(
    known: FreshnessStatus | None, observation: Observation, finished: Iterable[RunStatus]
) -> FreshnessStatus | None:
    """Return a table's freshness after these runs have ended.

    A source no longer declared does not count, and a run of an earlier spec may report on it.
    """
    source = source_of(observation.table.spec)
    if source is None:
        return None
    if known is not None and known.source != source:
        known = None
    for run in finished:
        result = _believable(run, observation)
        ended = parse_time(run.finished_at)
        if result is not None and ended is not None:
            said = Progress(
                complete_up_to=result.complete_up_to,
                backlog_records=result.backlog_records,
                backlog_bytes=result.backlog_bytes,
            )
            known = merge_progress(known, said, source=source, now=ended)
    return known


def freshness_while_running(
    known: FreshnessStatus | None, observation: Observation, active: Iterable[ActiveJob], *, now: datetime
) -> FreshnessStatus | None:
    """Return a table's freshness while a continuous ingestion of its spec runs.

    Its commits must be in the timeline. A change of time alone is taken over every five minutes, or a few times within
    the spec's freshness, and at once if the table is further behind than that.
    """
    table, said = observation.table, observation.snapshot.progress
    source = source_of(table.spec)
    own = {job.name for job in active if job.live is not None and job.generation == table.metadata.generation}
    if said is None or source is None or said.run not in own:
        return known
    if said.instant not in {None, observation.snapshot.instant_of(said.run)}:
        return known
    progress = Progress(
        complete_up_to=said.complete_up_to, backlog_records=said.backlog_records, backlog_bytes=said.backlog_bytes
    )
    after = merge_progress(known, progress, source=source, now=now)
    return after if _is_worth_a_write(known, after, observation, now=now) else known


def renewed_every(lag: Lag | None) -> timedelta:
    """Return how often a change of time alone is written."""
    return _RENEWED_EVERY if lag is None else max(lag.target / _RENEWALS, _MOST_OFTEN)


def _is_worth_a_write(
    known: FreshnessStatus | None, after: FreshnessStatus | None, observation: Observation, *, now: datetime
) -> bool:
    before, then = known_up_to(known, now=now), known_up_to(after, now=now)
    lag = lag_of(observation.table.spec, known, now=now)
    if before is None or then is None or then - before >= renewed_every(lag):
        return True
    return lag is not None and lag.is_missed(now)


def _believable(run: RunStatus, observation: Observation) -> TaskResult | None:
    """Return the report of an ended ingestion that succeeded by its own word and by the timeline."""
    if run.service is not Service.INGESTION or failure_kind(run) is not None:
        return None
    table = observation.table
    found = next((job for job in observation.jobs if job.name == run.job), None)
    if found is None or found.result is None:
        return None
    remembered = (job.generation for job in table.status.active_jobs if job.name == run.job)
    if not {found.generation, *remembered} <= {None, table.metadata.generation}:
        return None
    return found.result if found.result.outcome in _TRUE else None


_READ_EVERYTHING = frozenset({Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO})
_MAY_READ = frozenset({Service.INGESTION, None})
_SKEW = timedelta(minutes=10)
"""How far the clock of another operator process may be ahead."""

_TRUNCATED = timedelta(seconds=1)
"""Times in status are whole seconds."""


def look_before(table: HudiTable, look: SourceLook | None, circumstances: str | None) -> LookStatus | None:
    """Return what the Job of an ingestion remembers of the source before it."""
    digest, fingerprint = _digest_of(look), _fingerprint_of(table, circumstances)
    if digest is None or fingerprint is None:
        return None
    return LookStatus(digest=digest, fingerprint=fingerprint)


def look_after(
    known: LookStatus | None, observation: Observation, finished: Iterable[RunStatus], active: Iterable[ActiveJob]
) -> LookStatus | None:
    """Return the remembered look after these runs have ended; a run at work makes it obsolete."""
    jobs = observation.table.status.active_jobs
    if any(job.service in _MAY_READ for job in (*jobs, *active)):
        known = None
    for run in finished:
        if run.service is Service.INGESTION:
            job = next((one for one in jobs if one.name == run.job), None)
            known = None if job is None else _after(run, job, observation)
    return known


def _after(run: RunStatus, job: ActiveJob, observation: Observation) -> LookStatus | None:
    """Return the look before a run that says, and shows in the timeline, that it has read everything."""
    own, snapshot = own_job(job, observation), observation.snapshot
    result = own.result if own is not None else None
    if job.look is None or result is None or not _has_read_everything(run, result):
        return None
    if not _is_known(snapshot):
        return None
    return job.look.copy_with(instant=snapshot.newest_completed, checkpoint=_position_of(snapshot), looked_at=None)


def _has_read_everything(run: RunStatus, result: TaskResult) -> bool:
    is_done = run.outcome in _READ_EVERYTHING and result.outcome is run.outcome and result.reason is None
    return is_done and result.more_input is False and not result.backlog_bytes and not result.backlog_records


def found_nothing_new(observation: Observation, memory: ServiceStatus, circumstances: str | None) -> bool:
    """Whether the last look shows the input that the last run has read, and nobody has undone the run."""
    known, last, snapshot = memory.look, memory.last_run, observation.snapshot
    if known is None or known.digest != _digest_of(observation.look):
        return False
    if known.fingerprint != _fingerprint_of(observation.table, circumstances) or memory.more_input:
        return False
    if last is None or failure_kind(last) is not None or last.undone_by is not None:
        return False
    if open_rescan(observation.table) is not None or not _is_known(snapshot):
        return False
    return known.checkpoint == _position_of(snapshot) and _holds(snapshot, known.instant)


def with_look(
    memory: ServiceStatus, observation: Observation, circumstances: str | None, *, now: datetime
) -> ServiceStatus:
    """Return the memory of ingestion after a look that found nothing new: the table is complete up to the look.

    The time of a look moves as rarely as that of a continuous driver, because each change of the status is a write.
    """
    look, known, source = observation.look, memory.look, source_of(observation.table.spec)
    if look is None or known is None or source is None or not is_since(look, memory.last_run):
        return memory
    if not found_nothing_new(observation, memory, circumstances):
        return memory
    before, moment = believed(known.looked_at, now=now, skew=_SKEW), min(look.at, now)
    fresh, lag = memory.freshness, lag_of(observation.table.spec, memory.freshness, now=now)
    is_late = lag is not None and lag.is_missed(now)
    if before is not None and moment - before < renewed_every(lag) and not is_late:
        return memory
    if fresh is not None and known_up_to(fresh, now=now) is not None:
        said = Progress(
            complete_up_to=format_time(moment),
            backlog_records=fresh.backlog_records,
            backlog_bytes=fresh.backlog_bytes,
        )
        fresh = merge_progress(fresh, said, source=source, now=now)
    return memory.copy_with(look=known.copy_with(looked_at=format_time(moment)), freshness=fresh)


def is_since(look: SourceLook, last_run: RunStatus | None) -> bool:
    """Whether a look is not older than the last run; none is made while a run is at work."""
    started = parse_time(last_run.started_at) if last_run is not None else None
    return started is None or look.at > started + _TRUNCATED


def _digest_of(look: SourceLook | None) -> str | None:
    """Return the digest of a look that succeeded."""
    if look is None or look.problem is not None or look.digest is None or len(look.digest) > DIGEST_LIMIT:
        return None
    return look.digest


def _fingerprint_of(table: HudiTable, circumstances: str | None) -> str | None:
    """Return a fingerprint of what a run of the table reads and how, or None while the class is not known."""
    source = source_of(table.spec)
    if circumstances is None or source is None:
        return None
    parts = (table.metadata.uid, str(table.metadata.generation), source, circumstances)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _is_known(snapshot: TimelineSnapshot) -> bool:
    """Whether a run would start where the snapshot says: at its newest checkpoint, or where there is no table."""
    if snapshot.trouble is not None or snapshot.damaged:
        return False
    return snapshot.timeline is None or snapshot.checkpoint_digest is not None


def _position_of(snapshot: TimelineSnapshot) -> str | None:
    return snapshot.checkpoint_digest[:64] if snapshot.checkpoint_digest is not None else None


def _holds(snapshot: TimelineSnapshot, instant: str | None) -> bool:
    """Whether the timeline still holds the instant; after archival it does not, which costs one run."""
    if snapshot.timeline is None or instant is None:
        return snapshot.timeline is None and instant is None
    return any(one.time == instant for one in snapshot.timeline.completed)
