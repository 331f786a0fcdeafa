"""Detects other writers on a Serialized table.

A Serialized table has no lock: a second writer loses updates, and a concurrent cleaning deletes files being read. So
every run stops, ingestion too, until a person has decided who writes. Services of another tool prove a writer as much
as its commits; savepoints, restores and rollbacks are a person's acts, which are reported and block nothing
(`acts.py`).
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hudi_jobs.contract import CHANGES_VERSION, ConcurrencyMode
from hudi_jobs.contract.wording import listed
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.status.operation_status import FINISHED
from hudi_operator.api.status.runs import ActiveJob, RunStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.runs.affected import Window
from hudi_operator.planning.facts.writers.ownership import Authorship, is_ours
from hudi_operator.planning.model import Observation, TimelineSnapshot
from hudi_operator.planning.model.times import instant_time, parse_time
from hudi_operator.timeline import Action, Instant, Timeline, TimelineZone
from hudi_operator.timeline.rules.counters import COMMITS

_NAMED = 3
_BEFORE_ALL = "0" * 17
_INSTANT = re.compile(r"[0-9]{14}([0-9]{3})?")
_CHECKED = COMMITS | {Action.CLEAN}
_WITHOUT_MARK = frozenset({"COMPACT", "LOG_COMPACT", "CLUSTER", "DELETE_PARTITION"})
"""Operations (`WriteOperationType`) of services that Hudi runs inside a writer."""


@dataclass(frozen=True, kw_only=True)
class Writers:
    """The result of checking writers.

    `foreign` are commits of others, and `unknown` unreadable commits of an unknown author, last completed first;
    everything is known to be fine up to `verified_up_to`.
    """

    foreign: tuple[Instant, ...] = ()
    unknown: tuple[Instant, ...] = ()
    verified_up_to: str | None = None


def check_writers(
    observation: Observation,
    *,
    runs: tuple[RunStatus, ...],
    windows: tuple[Window, ...],
    active: Iterable[ActiveJob] = (),
    owned_elsewhere: bool = False,
    is_watched: bool = False,
) -> Writers:
    """Find commits and cleans on a Serialized table that the operator did not make.

    Only completed instants prove another writer: a pending write may belong to a dead run, whatever the clocks say.
    Once a reconcile has found none, only later completions are checked: the table may be older than its resource, and
    the memory of runs is limited. In the first check, commits before our first one count as old, and without any of
    ours, those before the resource's creation. Writes by another owner of the table, or to a table waiting for quiet,
    are not checked. Unread commits are left to the next reconcile; no run starts before that.
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
        # From now on another file may record a commit's completion time. Foreign writes meanwhile show in the rows,
        # which the driver compares.
        return Writers(verified_up_to=max(newest, verified or _BEFORE_ALL))
    is_serialized = spec.concurrency.mode is ConcurrencyMode.SERIALIZED
    if spec.management_policy is ManagementPolicy.OBSERVE or not is_serialized or owned_elsewhere or is_watched:
        return Writers(verified_up_to=newest)
    authorship = Authorship.of(observation, runs, tuple(active), windows)
    found = _completed(observation, timeline, verified, authorship=authorship)
    decided = observation.table.status.decisions
    accepted = (decided.accepted_up_to if decided is not None else None) or ""
    beyond = (one for one in found if one.completion > accepted)
    others = sorted(beyond, key=lambda one: one.completion, reverse=True)
    if not others:
        return Writers(verified_up_to=newest)
    damaged = {one.instant for one in observation.snapshot.damaged}
    return Writers(
        foreign=tuple(one for one in others if one not in damaged),
        unknown=tuple(one for one in others if one in damaged),
        verified_up_to=verified or _completed_before(others[-1].completion, timeline),
    )


def _completed_before(completion: str, timeline: Timeline) -> str:
    """Return the last completion that a first check has covered; a later end of our own run does not extend it."""
    return max((one for one in _completions(timeline) if one < completion), default=_BEFORE_ALL)


def _completions(timeline: Timeline) -> Iterator[str]:
    return (one.completion for one in timeline.completed if one.action in _CHECKED)


def _changes_version(status: HudiTableStatus) -> bool:
    """Whether an operation of ours is changing, or may be changing, the timeline's format."""
    at_work = any(job.operation is not None and job.operation.kind in CHANGES_VERSION for job in status.active_jobs)
    return at_work or any(
        one.begun and one.state not in FINISHED and one.kind in CHANGES_VERSION for one in status.operations
    )


def acceptance(instant: str, timeline: Timeline) -> str | None:
    """Return up to which completion naming an instant accepts commits, or None for any other text.

    The instant must be completed, or older than the active timeline, which the archive may hold: that accepts no active
    instant. A text that compares as greater than every instant would disable the protection for good.
    """
    named = [one.completion for one in timeline.completed if one.time == instant]
    if named:
        return max(named)
    return instant if _is_archived(instant, timeline) else None


def _is_archived(value: str, timeline: Timeline) -> bool:
    first = next((one.time for one in timeline.instants), "")
    return bool(_INSTANT.fullmatch(value)) and instant_time(value) is not None and value < first


def foreign_message(foreign: tuple[Instant, ...]) -> str:
    """Return the sentence on who must decide what."""
    return (
        f"Another writer made {_named(foreign)} on this Serialized table; nothing starts, because two writers without "
        "a lock lose data. Either let both write under a lock (spec.concurrency.mode: Optimistic, in all writers), or "
        f"stop the other writer and create a HudiOperation with acceptCommits: {{upTo: {foreign[0].time!r}}}."
    )


def unknown_message(unknown: tuple[Instant, ...]) -> str:
    """Return the sentence on commits of unknown authors, and the remedy."""
    return (
        f"The writer of {_named(unknown)} is not known, because the file is damaged (see status.timeline.problems); "
        "nothing starts, because another writer on this Serialized table would lose data. Restore the file, or roll "
        "the commit back with Hudi; or when nobody else writes, create a HudiOperation with acceptCommits: "
        f"{{upTo: {unknown[0].time!r}}}."
    )


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
        # The first check cannot judge old services, nor instants that a run of ours may have made.
        unknowable = verified is None or authorship.may_have_made(instant)
        # A damaged commit's run is unknown, so it is ours only if a remembered run made it.
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
    """Whether a commit of ours may name no run: services inside a writer do not, the writer's own commit does.

    `BaseHoodieTableServiceClient.runTableServicesInline` commits compactions, log compactions, clusterings and the
    removals of the time to live with metadata of their own. Their operation identifies them; if a commit names none,
    its action does.
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
