"""Reads the facts of a table for its checks, with a bounded number of requests to the store."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice

from hudi_jobs.contract import Location
from hudi_jobs.contract.table.facts import TableFacts
from hudi_operator.diagnosis.check import Examined, Undoing
from hudi_operator.diagnosis.checks.services import CLEANS_ASKED, stands_still
from hudi_operator.storage import CountingFileSystem, FileSystem, StorageError
from hudi_operator.storage.local import LOCAL
from hudi_operator.timeline import (
    Action,
    CommitMetadata,
    CorruptContent,
    Instant,
    InstantContentMissing,
    Layout,
    PendingKind,
    State,
    Timeline,
    TimelineError,
    TimelineReader,
    TimelineZone,
    pending_instants,
)
from hudi_operator.timeline.content.plans import CleanResult
from hudi_operator.timeline.facts import early_compaction, moved_instant_of, read_metadata_table, shown_zone_of
from hudi_operator.timeline.files.reading import ReadBudget
from hudi_operator.timeline.files.times import dated_names
from hudi_operator.timeline.model import Problem
from hudi_operator.timeline.table_reader import commit_problem

REQUESTS = 20
"""The most requests for a table whose timeline took no more than half of them."""

_COMMITS_READ = 4
_PENDING_ASKED = 2
_UNDOINGS_READ = 5
_DATED = 3
_METADATA_REQUESTS = 4


@dataclass
class _Requests:
    """Makes optional requests while the table has some left, and notes what was left out."""

    counting: CountingFileSystem
    most: int
    left_out: list[str] = field(default_factory=list)

    def allow(self, number: int, what: str) -> bool:
        """Tell whether so many requests may follow."""
        if _taken(self.counting) + number <= self.most:
            return True
        if what not in self.left_out:
            self.left_out.append(what)
        return False


def _taken(counting: CountingFileSystem) -> int:
    """Return the number of requests; the time of a local file, which no local listing shows, costs nothing."""
    return counting.lists + counting.reads + (0 if counting.identity == LOCAL else counting.stats)


@dataclass(frozen=True, kw_only=True)
class Examination:
    """The facts of a table, the requests that they took, and what was not read."""

    examined: Examined
    requests: int
    left_out: tuple[str, ...] = ()


def examine(filesystem: FileSystem, base: Location, *, now: datetime, most: int = REQUESTS) -> Examination:
    """Read a table; raises `TimelineError` or `StorageError` if its timeline cannot be read.

    Reads the timeline as a whole, then the facts that further checks need while fewer than `most` requests were made.
    """
    counting = CountingFileSystem(filesystem)
    reader = TimelineReader(counting, budget=ReadBudget())
    timeline = reader.read(base)
    requests = _Requests(counting, most)
    reading = _Reading(reader, base, timeline, requests)
    commits, damaged = reading.commits()
    found = Examined(
        timeline=timeline,
        now=now,
        facts=reading.facts(commits),
        written=reading.written(),
        heartbeats=reading.heartbeats(),
        undoings=tuple(reading.undoings()),
        damaged=damaged,
        commits=commits,
    )
    found = replace(
        found,
        cleans=tuple(reading.cleans()) if stands_still(found) else (),
        metadata=reading.metadata(),
        dated=reading.dated(),
    )
    return Examination(examined=found, requests=_taken(counting), left_out=tuple(requests.left_out))


@dataclass(frozen=True)
class _Reading:
    reader: TimelineReader
    base: Location
    timeline: Timeline
    requests: _Requests

    def commits(self) -> tuple[tuple[tuple[Instant, CommitMetadata], ...], tuple[Problem, ...]]:
        """Return the newest commits with their metadata, and the problems of those that are damaged."""
        found, damaged = list[tuple[Instant, CommitMetadata]](), list[Problem]()
        commits = self.reader.newest_commits(self.base, self.timeline)
        for _ in range(_COMMITS_READ):
            if not self.requests.allow(1, "newest commits"):
                break
            instant, content = next(commits, (None, None))
            if instant is None:
                break
            if isinstance(content, CorruptContent):
                damaged.append(commit_problem(instant, self.timeline.properties, content))
            elif content is not None:
                found.append((instant, content))
        return tuple(found), tuple(damaged)

    def facts(self, commits: tuple[tuple[Instant, CommitMetadata], ...]) -> TableFacts:
        """Return the facts that cost at most one request; columns are not looked at."""
        moved = None
        if self.requests.allow(1, "timeline folder of the other layout"):
            moved = moved_instant_of(self.reader, self.base, self.timeline)
        return TableFacts(
            zone=shown_zone_of(self.timeline), early_compaction=early_compaction(self.timeline, commits), moved=moved
        )

    def written(self) -> dict[str, int]:
        """Return when the oldest pending instants of a table in local time were written."""
        if self.timeline.properties.timezone is TimelineZone.UTC:
            return {}
        found = {}
        for instant in self.timeline.pending[:_PENDING_ASKED]:
            if self.requests.allow(1, "times of pending instants"):
                written = self.reader.written_at(self.base, self.timeline.properties, instant)
                found.update({instant.time: written} if written is not None else {})
        return found

    def heartbeats(self) -> dict[str, int | None]:
        """Return the heartbeats of the oldest inflight writes, None where there is none."""
        writes = (
            one.instant
            for one in pending_instants(self.timeline)
            if one.kind is PendingKind.WRITE and one.instant.state is State.INFLIGHT
        )
        asked = [one for one in islice(writes, _PENDING_ASKED) if self.requests.allow(1, "heartbeats")]
        return {one.time: self.reader.heartbeat(self.base, one) for one in asked}

    def undoings(self) -> Iterator[Undoing]:
        """Yield the oldest pending rollback and the newest completed ones with what they undo."""
        begun = [one for one in self.timeline.pending if one.action is Action.ROLLBACK]
        done = [one for one in self.timeline.completed if one.action is Action.ROLLBACK]
        for instant in (*begun[:1], *reversed(done[-_UNDOINGS_READ:])):
            if not self.requests.allow(1, "rollbacks"):
                return
            with suppress(InstantContentMissing, CorruptContent):
                yield Undoing.of(instant, self.reader.read_targets(self.base, self.timeline.properties, instant))

    def cleans(self) -> Iterator[CleanResult]:
        """Yield the results of the newest cleans, newest first."""
        done = [one for one in self.timeline.completed if one.action is Action.CLEAN]
        for instant in reversed(done[-CLEANS_ASKED:]):
            if not self.requests.allow(1, "cleans"):
                return
            with suppress(InstantContentMissing, CorruptContent):
                content = self.reader.read_content(self.base, self.timeline.properties, instant)
                if isinstance(content, CleanResult):
                    yield content

    def metadata(self) -> Timeline | None:
        """Return the timeline of the metadata table; an unreadable one proves nothing."""
        if not self.requests.allow(_METADATA_REQUESTS, "metadata table"):
            return None
        try:
            return read_metadata_table(self.reader, self.base, self.timeline)
        except (TimelineError, StorageError):
            return None

    def dated(self) -> tuple[tuple[str, int], ...]:
        """Return times in names with the store's times: known for local time, asked of a few files for UTC."""
        if self.timeline.newest_files:
            return dated_names(self.timeline.newest_files)
        if self.timeline.properties.layout is Layout.ONE:
            return ()
        found = []
        for instant in self.timeline.completed[-_DATED:]:
            if instant.completed_at is not None and self.requests.allow(1, "times of files"):
                written = self.reader.written_at(self.base, self.timeline.properties, instant)
                found += [(instant.completed_at, written)] if written is not None else []
        return tuple(found)
