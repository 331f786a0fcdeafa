"""The whole that the checker explores: a table, the clusters whose operators manage it, drivers, tools and time."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from tests.model.lake import Lake
from tests.model.rules import MENDED, Rules
from tests.planning.world import NOW

from hudi_jobs.contract import JobOutcome
from hudi_operator.api.status.runs import ActiveJob

if TYPE_CHECKING:
    from tests.model.cluster import Cluster


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """Where a history begins and what may happen in it; times are seconds from its beginning."""

    name: str
    spec: dict[str, Any]
    updates: bool = True
    """Whether ingestion upserts, all files the same row among others, or inserts."""
    arrivals: tuple[int, ...] = (0, 300, 600)
    happenings: frozenset[str] = frozenset()
    """The deviations that are tried."""
    rules: Rules = MENDED
    existing_ahead: int | None = None
    """A commit of an earlier writer exists, so many seconds ahead of UTC; the table's zone is local then."""
    optimistic: bool = False
    writes_of_others: tuple[int, ...] = ()
    """When another tool begins a write, as a cron job does."""
    quiet: int = 0
    """For how long the class has nothing move before a table of others is taken over."""
    inline_log_compaction: bool = False
    renews_request: bool = False
    """Whether automation asks for a run with every file."""
    unreadable: tuple[tuple[int, int], ...] = ()
    """When the source cannot be read, from and until."""
    lag: int | None = None
    """By how much the source is ahead of the table after every run, where drivers report that."""
    annotations: tuple[tuple[str, str], ...] = ()
    decided: tuple[tuple[str, str, str], ...] = ()
    wrong_class: int | None = None
    """The version of the class with which every run is refused by its driver."""
    recycle: int = 4 * 3600
    """After how many seconds a continuous driver begins anew."""
    takes: bool = False
    """Whether its image knows how to do services beside its batches."""
    operations: tuple[tuple[int, str], ...] = ()
    """The HudiOperations that are created in every history, each with its time: restore, rollback or dry run.

    `approval` approves the oldest that is not."""
    approval: str = "Automatic"
    prefix: tuple[tuple[int, tuple[str, int]], ...] = ()
    """Deviations that every history begins with, each with its step."""


@dataclass
class Run:
    """One driver and its Job: what it really does, whatever is known of it."""

    decided: ActiveJob
    cluster: int
    uid: str
    created: int
    skew: int = 0
    step: str = "starting"
    waits_until: int = 0
    is_alive: bool = True
    is_frozen: bool = False
    thaws: int = 0
    has_lease: bool = False
    took_over: bool = False
    instant: str | None = None
    sources: tuple[int, ...] = ()
    seen: int = 0
    """The number of the checkpoint that it has read."""
    result: JobOutcome | None = None
    exit_code: int | None = None
    pod: str = "none"
    """What the API server holds of the driver's pod: none, pending, stuck, running, ended or gone."""
    savepoint_seen: bool = False
    """Whether it has looked for the savepoint of the takeover."""
    sidecar: bool = False
    queued_until: int = 0
    batches: int = 0
    polls: int = 0
    committed: str = ""
    """The newest commit of a continuous run."""
    hangs: bool = False
    """Whether it does nothing any more and lives on."""
    killed_at: int = 0
    """When a pod that was asked to end is killed; 0 where nobody has asked."""
    serves: Run | None = None
    """The service that a continuous driver does beside its batches: no process of its own."""
    answer: tuple[str, JobOutcome] | None = None
    """The last run for which it has done one, and what became of it."""

    @property
    def continues(self) -> bool:
        """Whether it goes on batch after batch."""
        return self.decided.live is not None

    @property
    def moves(self) -> bool:
        """Whether the process gets on by itself."""
        return self.is_alive and not self.is_frozen and self.pod != "stuck" and not self.hangs

    @property
    def key(self) -> tuple[object, ...]:
        return (
            self.decided.name, self.uid, self.skew, self.step, self.waits_until, self.is_alive, self.is_frozen,
            self.thaws, self.has_lease, self.took_over, self.instant, self.sources, self.seen, self.exit_code, self.pod,
            self.batches, self.polls, self.committed, self.hangs, self.killed_at,
            self.serves and self.serves.key, self.answer and (self.answer[0], self.answer[1].results[0].outcome),
            self.sidecar, self.savepoint_seen, self.queued_until, self.result and self.result.results[0].outcome,
        )  # fmt: skip


@dataclass
class Tool:
    """Another program that writes the table or runs services on it."""

    name: str
    kind: str
    """write, compaction or clustering"""
    step: str = "planned"
    instant: str | None = None
    is_alive: bool = True
    waits_until: int = 0

    @property
    def key(self) -> tuple[object, ...]:
        return (self.name, self.kind, self.step, self.instant, self.is_alive, self.waits_until)


@dataclass
class World:
    """One state. `clone` before anything is changed that another history needs."""

    scenario: Scenario
    now: int = 0
    lake: Lake = field(default_factory=Lake)
    clusters: list[Cluster] = field(default_factory=list)
    runs: list[Run] = field(default_factory=list)
    tools: list[Tool] = field(default_factory=list)
    arrived: int = 0
    modified: tuple[int, ...] = ()
    """The modification times of the source files that are there; a file's number is its place, from 1."""
    acknowledged: frozenset[int] = frozenset()
    next_skew: int = 0
    next_trouble: str = ""
    """What befalls the next pod: stuck, sidecar, queued or invalid."""
    serial: int = 0
    intruded: bool = False
    """Whether anybody but the operator under test has written, or has taken commits away."""
    broken: tuple[str, ...] = ()
    """What was found to be wrong."""
    foreign_writes: int = 0
    """How many writes of others have begun by their schedule."""
    ordered: int = 0
    """How many HudiOperations of the scenario were created."""
    foreign_moved: int = -(10**9)
    """When another tool last put anything into the timeline."""
    ticks: int = 0
    calm_since: int = 0
    """When something last befell it."""

    def clone(self) -> World:
        return replace(
            self,
            lake=self.lake.copy(),
            clusters=[one.copy() for one in self.clusters],
            runs=[replace(one, serves=one.serves and replace(one.serves)) for one in self.runs],
            tools=[replace(one) for one in self.tools],
        )

    @property
    def key(self) -> int:
        """A number that two states share only if the same can follow."""
        return hash(
            (
                self.now, self.lake.key, tuple(one.key for one in self.clusters), tuple(one.key for one in self.runs),
                tuple(one.key for one in self.tools), self.arrived, self.modified, self.acknowledged, self.next_skew,
                self.next_trouble, self.intruded, self.calm_since, self.foreign_writes, self.foreign_moved,
                self.ordered,
            )
        )  # fmt: skip

    @property
    def rules(self) -> Rules:
        return self.scenario.rules

    @property
    def is_serialized(self) -> bool:
        return not self.scenario.optimistic

    def wrong(self, what: str) -> None:
        """Note that something must not have happened."""
        self.broken += (what,)

    def stamp(self, skew: int = 0) -> str:
        """A new instant time by a clock that is so much ahead; no two are the same."""
        self.serial += 1
        return f"{instant_text(self.now + skew)}{self.serial % 1000:03d}"

    def run_of(self, uid: str) -> Run | None:
        return next((one for one in self.runs if one.uid == uid), None)

    def lives(self, writer: str) -> bool:
        """Whether a run or tool will, or may, still continue with its work."""
        run = self.run_of(writer)
        if run is not None:
            return run.is_alive
        return any(one.name == writer and one.is_alive for one in self.tools)

    def beats(self, writer: str) -> bool:
        """Whether Hudi finds a fresh heartbeat: a frozen process sends none."""
        run = self.run_of(writer)
        return run.moves if run is not None else self.lives(writer)


@lru_cache(maxsize=8192)
def moment(seconds: int) -> datetime:
    return NOW + timedelta(seconds=seconds)


@lru_cache(maxsize=8192)
def instant_text(seconds: int) -> str:
    return moment(seconds).strftime("%Y%m%d%H%M%S")
