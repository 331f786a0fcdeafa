"""Other writers on a serialized table.

A Serialized table has no lock: a second writer loses updates, and a cleaning beside it deletes what it is reading. So
everything stops, ingestion too, until a person has decided who writes.
"""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from hudi_jobs.contract import ConcurrencyMode
from hudi_operator.api.resources import ACCEPT_FOREIGN_ANNOTATION
from hudi_operator.api.table_spec import ManagementPolicy
from hudi_operator.api.table_status import ActiveJob, RunStatus
from hudi_operator.planning.model import Observation
from hudi_operator.planning.ownership import is_ours
from hudi_operator.planning.times import instant_time, parse_time
from hudi_operator.planning.windows import Window
from hudi_operator.timeline import Action, Instant, Timeline, TimelineZone
from hudi_operator.timeline.counters import COMMITS

FOREIGN_WRITER = "ForeignWriter"
"""A Serialized table has commits of another writer that nobody has accepted."""
_NAMED = 3


@dataclass(frozen=True, kw_only=True)
class Writers:
    """What was found out about who writes: foreign instants, newest first, and up to where all is known to be well."""

    foreign: tuple[Instant, ...] = ()
    verified_up_to: str | None = None


def check_writers(
    observation: Observation,
    *,
    runs: tuple[RunStatus, ...],
    windows: tuple[Window, ...],
    active: Iterable[ActiveJob] = (),
    owned_elsewhere: bool = False,
) -> Writers:
    """Look for commits and inflight writes that nobody but the operator may have made, and it did not.

    Once a look has found none, only what completes later is checked: the table may be older than its resource, and
    what is known of runs does not go back for ever. In the first look, commits from before the first one of ours are
    taken for old, and without any of ours those from before the creation of the resource. What the owner of a table
    that is not ours writes is its own affair.
    """
    spec, timeline = observation.table.spec, observation.look.timeline
    known = observation.table.status.timeline
    verified = known.verified_up_to if known else None
    if timeline is None:
        return Writers(verified_up_to=verified)
    newest = max((_completion(one) for one in timeline.completed if one.action in COMMITS), default=verified)
    is_serialized = spec.concurrency.mode is ConcurrencyMode.SERIALIZED
    if spec.management_policy is ManagementPolicy.OBSERVE or not is_serialized or owned_elsewhere:
        return Writers(verified_up_to=newest)
    found = (
        *_completed(observation, timeline, verified, runs=runs, windows=windows, jobs={job.name for job in active}),
        *_inflight(observation, timeline, windows=windows),
    )
    accepted = observation.table.metadata.annotations.get(ACCEPT_FOREIGN_ANNOTATION, "")
    foreign = sorted((one for one in found if one.time > accepted), key=lambda one: one.time, reverse=True)
    return Writers(foreign=tuple(foreign), verified_up_to=verified if foreign else newest)


def _completion(instant: Instant) -> str:
    return instant.completed_at or instant.time


def foreign_message(foreign: tuple[Instant, ...]) -> str:
    """Return the sentence that says who must decide what."""
    named = ", ".join(f"{one.action} {one.time}" for one in foreign[:_NAMED])
    more = f" and {len(foreign) - _NAMED} more" if len(foreign) > _NAMED else ""
    return (
        f"Another writer made {named}{more} on this Serialized table; nothing starts, because two writers without a "
        "lock lose data. Either let both write under a lock (spec.concurrency.mode: Optimistic, in all writers), or "
        f"stop the other writer and set the annotation {ACCEPT_FOREIGN_ANNOTATION}={foreign[0].time}."
    )


def _completed(
    observation: Observation,
    timeline: Timeline,
    verified: str | None,
    *,
    runs: Collection[RunStatus],
    windows: tuple[Window, ...],
    jobs: Collection[str],
) -> Iterator[Instant]:
    known = {run.instant for run in runs if run.instant is not None}
    names = {*jobs, *(run.job for run in runs)}
    sure = verified is not None and bool(windows)
    others = [one.instant for one in observation.look.marks if not is_ours(one, observation, runs=names, sure=sure)]
    first = min((known | {time for _, time in observation.look.runs}) - {one.time for one in others}, default=None)
    for instant in (*observation.look.unmarked, *others):
        # Of a first look's old compactions and clusterings, and without any memory of runs, nothing can be said.
        unknowable = verified is None or not windows or _in_any(windows, instant)
        unmarked = instant not in others
        if unmarked and (instant.time in known or (_may_lack_mark(instant, timeline) and unknowable)):
            continue
        if verified is not None:
            is_new = _completion(instant) > verified
        elif first is not None:
            is_new = instant.time > first
        else:
            is_new = _is_after_creation(instant, observation, timeline)
        if is_new:
            yield instant


def _may_lack_mark(instant: Instant, timeline: Timeline) -> bool:
    """Whether a commit of ours may name no run: compactions and clusterings inside a writer may, its own does not."""
    is_compaction = instant.action is Action.COMMIT and timeline.properties.is_merge_on_read
    return is_compaction or instant.action is Action.REPLACE_COMMIT


def _in_any(windows: Iterable[Window], instant: Instant) -> bool:
    times = (instant.time, _completion(instant))
    return any(window.holds(time) for window in windows for time in times)


def _is_after_creation(instant: Instant, observation: Observation, timeline: Timeline) -> bool:
    if timeline.properties.timezone is not TimelineZone.UTC:
        return False
    created = parse_time(observation.table.metadata.creation_timestamp)
    moment = instant_time(_completion(instant))
    return created is not None and moment is not None and moment > created


def _inflight(observation: Observation, timeline: Timeline, *, windows: tuple[Window, ...]) -> Iterator[Instant]:
    """Yield writes that began while no run of ours was at work. Without any memory of runs nothing can be said."""
    if timeline.properties.timezone is not TimelineZone.UTC or not windows:
        return
    for instant in timeline.counters.inflight_writes or ():
        if _is_after_creation(instant, observation, timeline) and not _in_any(windows, instant):
            yield instant
