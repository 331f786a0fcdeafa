"""A Hudi table as the model sees it: its timeline, the lease beside it, and what a reader of it gets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

COMPLETED_AS = {"compaction": "commit", "clustering": "replacecommit", "logcompaction": "deltacommit"}
WRITES = frozenset({"deltacommit"})
COMMITS = frozenset({*WRITES, *COMPLETED_AS})
TOOL_ROWS = 100
"""Rows of other writers have numbers from here on."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Which source files have been read; `number` counts the commits that carried one."""

    number: int = 0
    read: frozenset[int] = frozenset()
    floor: int = -(10**9)


@dataclass(frozen=True, slots=True)
class Entry:
    """One instant: its state, who works on it, and what its commit says."""

    time: str
    action: str
    state: str = "requested"
    completed: str = ""
    writer: str = ""
    """The uid of the run, or the name of the tool, that works on it."""
    planner: str = ""
    """Who made the plan; for a write the same as the writer."""
    run: str | None = None
    """The run that the commit, or the plan, names."""
    operator: tuple[str, str] | None = None
    """The operator and the uid of the resource that the commit names."""
    sources: tuple[int, ...] = ()
    inputs: frozenset[str] = frozenset()
    """The commits whose rows a clustering rewrites."""
    generation: int = 0
    """How many clusterings had completed when it began: into whose file groups it writes."""
    checkpoint: Checkpoint | None = None

    @property
    def files(self) -> Iterator[str]:
        """The names of its files in the timeline's folder."""
        yield f"{self.time}.{self.action}.requested"
        if self.state != "requested":
            yield f"{self.time}.{self.action}.inflight"
        if self.state == "completed":
            yield f"{self.time}_{self.completed}.{COMPLETED_AS.get(self.action, self.action)}"


@dataclass(frozen=True, slots=True)
class Record:
    """What an operation has written down before it changes anything, and how far it came."""

    phase: str
    """running, verifying or done"""
    target: str
    removed: tuple[str, ...]
    expected: tuple[int, ...]
    """The rows at its target."""
    restore: str = ""
    """The instant of the restore, or of what another kind does, once it has begun."""
    may_be_left: bool = False
    """Whether the table is whole also while this is not finished."""
    needs_resource: bool = False
    """Whether no run goes on without the resource."""


@dataclass
class Lake:
    """One table. Entries are values, so that a copy is shallow."""

    entries: dict[str, Entry] = field(default_factory=dict)
    archived: tuple[Entry, ...] = ()
    lease: tuple[str, bool] | None = None
    """Whose the lease is, and whether it is held; None before anybody had it."""
    owner: tuple[str, str] | None = None
    """The operator that the store names as the owner, and the run that did so last."""
    progress: tuple[str, int, int, str, str] | None = None
    """What a continuous driver has said last: its run, how often it has looked, its commits, the newest, its state."""
    made: str = ""
    """The instant that it has named of the batch that it was at then."""
    savepoint: str = ""
    """The commit that the operator's savepoint keeps; what it blocks is not modelled."""
    journal: dict[str, Record] = field(default_factory=dict)
    """The operations that have begun, by the uids of their resources."""
    cleaned: tuple[str, str] | None = None
    """The last completed commit and the earliest retained one that the last clean named."""

    def copy(self) -> Lake:
        return replace(self, entries=dict(self.entries), journal=dict(self.journal))

    @property
    def key(self) -> object:
        return (
            tuple(sorted(self.entries.items())),
            self.archived,
            self.lease,
            self.owner,
            self.cleaned,
            self.savepoint,
            self.progress,
            self.made,
            tuple(sorted(self.journal.items(), key=lambda one: one[0])),
        )

    @property
    def pending(self) -> list[Entry]:
        """What has not completed, oldest first."""
        return sorted((one for one in self.entries.values() if one.state != "completed"), key=lambda one: one.time)

    def plans(self, action: str) -> list[Entry]:
        return [one for one in self.pending if one.action == action]

    @property
    def commits(self) -> list[Entry]:
        """Completed commits of the active timeline, newest completion first."""
        done = (one for one in self.entries.values() if one.state == "completed" and one.action in COMMITS)
        return sorted(done, key=lambda one: (one.completed, one.time), reverse=True)

    @property
    def newest(self) -> str:
        """The greatest time that the timeline names."""
        return max((max(one.time, one.completed) for one in self.entries.values()), default="")

    @property
    def clusterings(self) -> int:
        """How many clusterings have completed."""
        everything = (*self.archived, *self.entries.values())
        return sum(one.action == "clustering" and one.state == "completed" for one in everything)

    def put(self, entry: Entry) -> Entry:
        self.entries[entry.time] = entry
        return entry

    def change(self, time: str, **changes: Any) -> Entry:
        return self.put(replace(self.entries[time], **changes))

    def checkpoint(self, *, by_number: bool) -> Checkpoint:
        """Return the newest checkpoint: by its number, or as commits complete by their writers' clocks."""
        found = [one.checkpoint for one in (*self.commits, *reversed(self.archived)) if one.checkpoint is not None]
        if not found:
            return Checkpoint()
        return max(found, key=lambda one: one.number) if by_number else found[0]

    def rows(self, *, updates: bool) -> list[int]:
        """What a reader gets: the sources whose rows are there, in the order in which one overwrites another.

        Hudi takes the slice of the greater requested time for the newer one. A completed clustering hides the file
        groups that it replaced, and with them the updates that were written into those since it was planned.
        """
        done = [one for one in (*self.archived, *self.entries.values()) if one.state == "completed"]
        clusterings = [one for one in done if one.action == "clustering"]
        return [
            source
            for one in sorted(done, key=lambda one: one.time)
            if one.action in WRITES and not (updates and any(_hides(other, one) for other in clusterings))
            for source in one.sources
        ]


def _hides(clustering: Entry, write: Entry) -> bool:
    return write.generation <= clustering.generation and write.time not in clustering.inputs
