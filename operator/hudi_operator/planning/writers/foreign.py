"""Other writers on a serialized table.

A Serialized table has no lock: a second writer loses updates, and a cleaning beside it deletes what it is reading. So
everything stops, ingestion too, until a person has decided who writes. Services of another tool prove one as its
commits do; savepoints, restores and rollbacks are acts of a person, which are reported and stop nothing (`acts.py`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hudi_jobs.contract import CHANGES_VERSION, ConcurrencyMode
from hudi_jobs.contract.wording import listed
from hudi_operator.api.resources import ACCEPT_FOREIGN_ANNOTATION
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.status.operation import FINISHED
from hudi_operator.api.status.table import ActiveJob, HudiTableStatus, RunStatus
from hudi_operator.planning.model import Observation, TimelineSnapshot
from hudi_operator.planning.model.times import instant_time, parse_time
from hudi_operator.planning.runs.windows import Window
from hudi_operator.planning.writers.authorship import Authorship
from hudi_operator.planning.writers.ownership import is_ours
from hudi_operator.timeline import Action, Instant, Timeline, TimelineZone
from hudi_operator.timeline.rules.counters import COMMITS

_NAMED = 3
_VALUE_SHOWN = 40
_BEFORE_ALL = "0" * 17
_INSTANT = re.compile(r"[0-9]{14}([0-9]{3})?")
_CHECKED = COMMITS | {Action.CLEAN}
_WITHOUT_MARK = frozenset({"COMPACT", "LOG_COMPACT", "CLUSTER", "DELETE_PARTITION"})
"""Operations (`WriteOperationType`) of what Hudi runs inside a writer."""


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """What a person accepted: commits that completed up to `up_to`. `ignored` says why a value counts for nothing."""

    up_to: str = ""
    ignored: str = ""


@dataclass(frozen=True, kw_only=True)
class Writers:
    """What was found out about who writes.

    `foreign` are commits of others, and `unknown` those that cannot be understood and may be anybody's, the last
    completed first; all is known to be well up to `verified_up_to`. `ignored` says why the annotation that accepts such
    commits counts for nothing.
    """

    foreign: tuple[Instant, ...] = ()
    unknown: tuple[Instant, ...] = ()
    verified_up_to: str | None = None
    ignored: str = ""


def check_writers(
    observation: Observation,
    *,
    runs: tuple[RunStatus, ...],
    windows: tuple[Window, ...],
    active: Iterable[ActiveJob] = (),
    owned_elsewhere: bool = False,
    is_watched: bool = False,
) -> Writers:
    """Look for commits and cleans that nobody but the operator may have made, and it did not.

    Only what has completed proves another writer: a write that is under way may be one of a run that died, whatever
    the clocks say. Once a reconcile has found none, only what completes later is checked: the table may be older than
    its resource, and what is known of runs does not go back for ever. In the first one, commits from before the first
    of ours are taken for old, and without any of ours those from before the creation of the resource. What the owner of
    a table that is not ours writes is its own affair, and so is what others write to one that waits for quiet. What has
    not been read yet is left to the next reconcile, which nothing starts before.
    """
    spec, timeline = observation.table.spec, observation.snapshot.timeline
    known = observation.table.status.timeline
    verified = known.verified_up_to if known else None
    if timeline is None:
        return Writers(verified_up_to=verified)
    read = observation.snapshot.read_up_to
    known_well = (one for one in _completions(timeline) if read is None or one <= read)
    newest = max(known_well, default=verified or _BEFORE_ALL)
    if _changes_version(observation.table.status):
        # When a commit has completed may be told by another file from now on. Who has written meanwhile shows in the
        # rows, which the driver compares.
        return Writers(verified_up_to=max(newest, verified or _BEFORE_ALL))
    is_serialized = spec.concurrency.mode is ConcurrencyMode.SERIALIZED
    if spec.management_policy is ManagementPolicy.OBSERVE or not is_serialized or owned_elsewhere or is_watched:
        return Writers(verified_up_to=newest)
    authorship = Authorship.of(observation, runs, tuple(active), windows)
    found = _completed(observation, timeline, verified, authorship=authorship)
    value = observation.table.metadata.annotations.get(ACCEPT_FOREIGN_ANNOTATION)
    accepted = acceptance(value, timeline)
    beyond = (one for one in found if one.completion > accepted.up_to)
    others = sorted(beyond, key=lambda one: one.completion, reverse=True)
    if not others:
        return Writers(verified_up_to=newest)
    damaged = {one.instant for one in observation.snapshot.damaged}
    return Writers(
        foreign=tuple(one for one in others if one not in damaged),
        unknown=tuple(one for one in others if one in damaged),
        verified_up_to=verified or _completed_before(others[-1].completion, timeline),
        ignored=accepted.ignored,
    )


def _completed_before(completion: str, timeline: Timeline) -> str:
    """Return up to where a first reconcile has found nothing; a run of ours that ends later moves that no further."""
    return max((one for one in _completions(timeline) if one < completion), default=_BEFORE_ALL)


def _completions(timeline: Timeline) -> Iterator[str]:
    return (one.completion for one in timeline.completed if one.action in _CHECKED)


def _changes_version(status: HudiTableStatus) -> bool:
    """Whether an operation of ours is, or may be, changing the format of the timeline."""
    at_work = any(job.operation is not None and job.operation.kind in CHANGES_VERSION for job in status.active_jobs)
    return at_work or any(
        one.begun and one.state not in FINISHED and one.kind in CHANGES_VERSION for one in status.operations
    )


def acceptance(value: str | None, timeline: Timeline) -> Acceptance:
    """Read which commits a person accepted: those that had completed when the named one did.

    A value counts only if it names a completed instant, or one from before the active timeline, which the archive may
    hold: such an annotation stays, and accepts nothing that is active. Everything else counts for nothing, because a
    text that compares as greater than every instant would switch the protection off for good.
    """
    if not value:
        return Acceptance()
    named = [one.completion for one in timeline.completed if one.time == value]
    if named:
        return Acceptance(up_to=max(named))
    if _is_archived(value, timeline):
        return Acceptance(up_to=value)
    shown = f"{value[:_VALUE_SHOWN]}..." if len(value) > _VALUE_SHOWN else value
    return Acceptance(
        ignored=f"The current value {shown!r} of the annotation names no completed instant of this table and is "
        "ignored."
    )


def _is_archived(value: str, timeline: Timeline) -> bool:
    first = next((one.time for one in timeline.instants), "")
    return bool(_INSTANT.fullmatch(value)) and instant_time(value) is not None and value < first


def foreign_message(foreign: tuple[Instant, ...], ignored: str = "") -> str:
    """Return the sentence that says who must decide what; `ignored` is what an annotation is ignored for."""
    return (
        f"Another writer made {_named(foreign)} on this Serialized table; nothing starts, because two writers without "
        "a lock lose data. Either let both write under a lock (spec.concurrency.mode: Optimistic, in all writers), or "
        f"stop the other writer and set the annotation {ACCEPT_FOREIGN_ANNOTATION}={foreign[0].time}. {ignored}"
    ).rstrip()


def unknown_message(unknown: tuple[Instant, ...], ignored: str = "") -> str:
    """Return the sentence on commits that may be anybody's, and what a person can do about them."""
    return (
        f"The writer of {_named(unknown)} is not known, because the file is damaged (see status.timeline.problems); "
        "nothing starts, because another writer on this Serialized table would lose data. Restore the file, or roll "
        "the commit back with Hudi; or when nobody else writes, set the annotation "
        f"{ACCEPT_FOREIGN_ANNOTATION}={unknown[0].time}. {ignored}"
    ).rstrip()


def _named(instants: tuple[Instant, ...]) -> str:
    return listed([f"{one.action} {one.time}" for one in instants], _NAMED)


def _completed(
    observation: Observation, timeline: Timeline, verified: str | None, *, authorship: Authorship
) -> Iterator[Instant]:
    snapshot = observation.snapshot
    known = authorship.instants
    others = [one.instant for one in snapshot.marks if not is_ours(one, observation)]
    first = min((known | {time for _, time in snapshot.runs}) - {one.time for one in others}, default=None)
    cleans = (one for one in timeline.completed if one.action is Action.CLEAN)
    damaged = [one.instant for one in snapshot.damaged]
    for instant in (*snapshot.unmarked, *others, *cleans, *damaged):
        # Of a first reconcile's old services nothing can be said, nor of those that a run of ours may have made.
        unknowable = verified is None or authorship.may_have_made(instant)
        # Whether a damaged commit names a run is not known, so it is ours only where a run is remembered for it.
        unmarked = instant not in others
        lacks = instant not in damaged and may_lack_mark(instant, snapshot, timeline)
        if unmarked and (instant.time in known or (lacks and unknowable)):
            continue
        if verified is not None:
            is_new = instant.completion > verified
        elif first is not None:
            is_new = instant.time > first
        else:
            is_new = _is_after_creation(instant, observation, timeline)
        if is_new:
            yield instant


def may_lack_mark(instant: Instant, snapshot: TimelineSnapshot, timeline: Timeline) -> bool:
    """Whether a commit of ours may name no run: those that Hudi makes inside a writer may, the writer's own does not.

    `BaseHoodieTableServiceClient.runTableServicesInline` commits compactions, log compactions, clusterings and what the
    time to live removes with metadata of their own. Their operation tells them apart; where a commit names none, its
    action does.
    """
    if instant.action is Action.CLEAN:
        return True
    operation = dict(snapshot.operations).get(instant.time)
    if operation is not None:
        return operation in _WITHOUT_MARK
    is_compaction = instant.action is Action.COMMIT and timeline.properties.is_merge_on_read
    return is_compaction or instant.action is Action.REPLACE_COMMIT


def _is_after_creation(instant: Instant, observation: Observation, timeline: Timeline) -> bool:
    if timeline.properties.timezone is not TimelineZone.UTC:
        return False
    created = parse_time(observation.table.metadata.creation_timestamp)
    moment = instant_time(instant.completion)
    return created is not None and moment is not None and moment > created
