"""Defines a check of a table, the facts that it looks at, and the evidence that it returns. Pure values."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from typing import Self

from hudi_jobs.contract import Service
from hudi_jobs.contract.instants import wall_time
from hudi_jobs.contract.table.facts import NO_FACTS, TableFacts
from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.timeline import Action, CommitMetadata, Instant, PendingInstant, Timeline, TimelineZone
from hudi_operator.timeline.content.plans import CleanResult, InstantReference
from hudi_operator.timeline.model import Problem
from hudi_operator.timeline.rules.counters import COMMITS, pending_instants

NO_SERVICE: frozenset[Service] = frozenset()
"""The services that a finding blocks if it keeps nothing from starting."""

HISTORY = frozenset({Service.CLEANING, Service.ARCHIVAL})
"""The services that stop at the oldest instant that is still needed."""

# A table in local time whose files do not show its zone: its clock is at most this far behind or ahead of UTC.
_FARTHEST_BEHIND = timedelta(hours=12)
_FARTHEST_AHEAD = timedelta(hours=14)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """The limits beyond which a check speaks; the defaults suit a table of any tool, whose settings are unknown.

    The numbers of commits are many times Hudi's defaults.
    """

    pending: timedelta = timedelta(hours=1)
    """How long an instant may be pending."""
    abandoned: timedelta = timedelta(days=1)
    """How long a plan may wait while commits complete."""
    old: timedelta = timedelta(days=7)
    """How old a savepoint, or a history that no service shortens, may be."""
    silence: timedelta = timedelta(minutes=10)
    """How old the heartbeat of a living writer may be; Hudi beats every minute and allows two to ten misses."""
    compaction_commits: int | None = 50
    """Delta commits since the last compaction, None for no limit; Hudi's default trigger is 5."""
    compaction_age: timedelta = timedelta(days=1)
    """How long these delta commits may wait."""
    cleaning_commits: int = 100
    """Commits since the last clean; Hudi cleans after each commit."""
    active_commits: int = 300
    """Completed commits in the active timeline; Hudi's default archives beyond 30."""
    pinned_commits: int = 30
    """Completed commits behind an instant that archival cannot pass."""
    files: int = 1_000
    """Files of the active timeline."""
    metadata_commits: int = 100
    """Delta commits of the metadata table since its last compaction; Hudi's default trigger is 10."""


@dataclass(frozen=True, kw_only=True)
class Undoing:
    """A rollback or restore, with the times of the instants that it undid or will undo, and their actions if known."""

    instant: Instant
    targets: tuple[str, ...]
    actions: tuple[str | None, ...] = ()

    @classmethod
    def of(cls, instant: Instant, targets: Sequence[InstantReference]) -> Self:
        """Return a rollback or restore with its targets."""
        return cls(
            instant=instant,
            targets=tuple(one.time for one in targets),
            actions=tuple(one.action for one in targets),
        )


@dataclass(frozen=True, kw_only=True)
class Examined:
    """The facts of a table that checks look at; what was not read is empty, and proves nothing.

    `written` and `heartbeats` are times of pending instants' files in milliseconds since 1970, by the store; the reader
    has asked for a heartbeat that is None, and none exists. `dated` are times in names of newest files, with the times
    at which the store wrote them. `commits` are the newest readable commits, newest first, and `cleans` the results of
    the newest cleans. `ours` are savepoints that somebody declared on purpose.
    """

    timeline: Timeline
    now: datetime
    limits: Limits = field(default_factory=Limits)
    facts: TableFacts = NO_FACTS
    written: Mapping[str, int] = field(default_factory=dict)
    heartbeats: Mapping[str, int | None] = field(default_factory=dict)
    undoings: tuple[Undoing, ...] = ()
    damaged: tuple[Problem, ...] = ()
    commits: tuple[tuple[Instant, CommitMetadata], ...] = ()
    cleans: tuple[CleanResult, ...] = ()
    metadata: Timeline | None = None
    dated: tuple[tuple[str, int], ...] = ()
    ours: frozenset[str] = frozenset()

    @cached_property
    def offset(self) -> timedelta | None:
        """Offset of the instants from UTC, None if the files do not show it."""
        if self.timeline.properties.timezone is TimelineZone.UTC:
            return timedelta(0)
        return self.facts.zone.offset if self.facts.zone is not None else None

    @cached_property
    def completed_commits(self) -> tuple[Instant, ...]:
        """The completed commits, delta commits and replace commits of the active timeline, oldest first."""
        return tuple(one for one in self.timeline.completed if one.action in COMMITS)

    @cached_property
    def pending(self) -> tuple[PendingInstant, ...]:
        """The pending instants with their kinds, oldest first."""
        return pending_instants(self.timeline)

    def commits_after(self, time: str) -> int:
        """Return the number of completed commits that were requested after an instant."""
        return sum(1 for one in self.completed_commits if one.time > time)

    def latest_moment(self, time: str) -> datetime | None:
        """Return the latest moment that an instant time can mean, None for a made-up time."""
        wall = wall_time(time)
        return None if wall is None else wall + (_FARTHEST_BEHIND if self.offset is None else -self.offset)

    def earliest_moment(self, time: str) -> datetime | None:
        """Return the earliest moment that an instant time can mean, None for a made-up time."""
        wall = wall_time(time)
        return None if wall is None else wall - (_FARTHEST_AHEAD if self.offset is None else self.offset)

    def begun(self, instant: Instant) -> datetime | None:
        """Return when a pending instant reached its state by the store, or else the latest moment of its time."""
        written = self.written.get(instant.time)
        if written is None or self.timeline.properties.timezone is TimelineZone.UTC:
            return self.latest_moment(instant.time)
        return moment_of(written, self.now)

    def is_older(self, time: str, age: timedelta) -> bool:
        """Tell whether an instant is certainly older than an age."""
        moment = self.latest_moment(time)
        return moment is not None and self.now - moment > age


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """The sentence of a finding, without ages, and the services that it blocks.

    `instant` is the instant that the sentence is about, `count` how many things it counts, and `since` when the cause
    began, each if there is one. Only `hudi-operator doctor` shows these three.
    """

    message: str
    blocks: frozenset[Service] = NO_SERVICE
    instant: str | None = None
    count: int | None = None
    since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Check:
    """A code with its severity, its effect in words, its remedy, and the function that finds it."""

    code: FindingCode
    severity: Severity
    blocks: str
    remedy: str
    find: Callable[[Examined], Evidence | None]


def moment_of(milliseconds: int, now: datetime) -> datetime | None:
    """Return a moment of the store's clock, None if it is none."""
    try:
        return datetime.fromtimestamp(milliseconds / 1000, now.tzinfo)
    except (OverflowError, ValueError, OSError):
        return None


def shown_moment(moment: datetime | None) -> str:
    """Return a moment for a sentence."""
    return "an unknown time" if moment is None else moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def named(instant: Instant) -> str:
    """Return the name of an instant for a sentence."""
    return f"{instant.action} {instant.time}"


def is_undone(one: Undoing, actions: Iterable[Action]) -> bool:
    """Tell whether a completed rollback undid an instant of one of these actions."""
    return one.instant.action is Action.ROLLBACK and one.instant.is_completed and bool({*actions} & {*one.actions})
