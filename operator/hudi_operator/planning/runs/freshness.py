"""What runs say of how far they have read the source, checked and merged into what is known of it."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract import Outcome, Service, TaskResult
from hudi_operator.api.status.freshness import MOST_BACKLOG, FreshnessStatus
from hudi_operator.api.status.table import RunStatus
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.freshness import believed, known_up_to, source_of
from hudi_operator.planning.model.times import format_time, parse_time
from hudi_operator.planning.runs.failures import failure_kind

_TRUE = frozenset({Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO})


@dataclass(frozen=True, kw_only=True)
class Progress:
    """What a run says, ended or under way; nothing of it is believed before it is merged."""

    complete_up_to: str | None = None
    backlog_records: int | None = None
    backlog_bytes: int | None = None


def merge_progress(
    known: FreshnessStatus | None, said: Progress, *, source: str, now: datetime
) -> FreshnessStatus | None:
    """Return what is known of the freshness of a table after a run has said something, or None for nothing.

    `said` is of commits that are in the timeline, of the source with the fingerprint `source`. What has once been in
    the table stays there, so the newest `complete_up_to` holds; it is never in the future. The backlog is that of the
    newest word, and not known where it says none.
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
    """Return what is known of the freshness of a table after these runs have ended.

    Of a source that is declared no longer nothing counts, and what a run of an earlier spec says may be about one.
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


def _believable(run: RunStatus, observation: Observation) -> TaskResult | None:
    """Return what the driver of an ended ingestion says that succeeded by its own word and by the timeline."""
    if run.service is not Service.INGESTION or failure_kind(run) is not None:
        return None
    table = observation.table
    found = next((job for job in observation.jobs if job.name == run.job), None)
    if found is None or found.outcome is None:
        return None
    remembered = (job.generation for job in table.status.active_jobs if job.name == run.job)
    if not {found.generation, *remembered} <= {None, table.metadata.generation}:
        return None
    result = next(iter(found.outcome.results), None)
    return result if result is not None and result.outcome in _TRUE else None
