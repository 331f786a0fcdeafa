"""Checks the runs' reports on freshness and merges them into the status."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from hudi_jobs.contract import Outcome, Service, TaskResult
from hudi_operator.api.status.freshness import MOST_BACKLOG, FreshnessStatus
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.planning.facts.runs.failures import failure_kind
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.freshness import Lag, believed, known_up_to, lag_of, source_of
from hudi_operator.planning.model.times import format_time, parse_time

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
