"""Reads what a table's folder holds: properties, contents of instants and heartbeats, each completed file once."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from typing import TypeVar

from hudi_jobs.contract import Location
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline.cache import ContentCache, Memory, memory_of
from hudi_operator.timeline.content.commits import CommitMetadata, decode, read_commit
from hudi_operator.timeline.content.interpret import (
    FIELDS,
    SUMMARY_FIELDS,
    TARGET_FIELDS,
    interpret,
    plan_summary,
    undone_by,
)
from hudi_operator.timeline.content.plans import Content, InstantReference, PlanSummary
from hudi_operator.timeline.files.names import (
    FAMILIES,
    file_name,
    name_of,
)
from hudi_operator.timeline.files.properties import (
    BACKUP_FILE,
    PROPERTIES_FILE,
    PROPERTIES_LIMIT,
    read_table_properties,
)
from hudi_operator.timeline.files.reading import ReadBudget, TableFiles, as_unreadable
from hudi_operator.timeline.model import (
    ContentTooLarge,
    CorruptContent,
    Instant,
    InstantContentMissing,
    Layout,
    NotAHudiTable,
    Problem,
    ReadBudgetSpent,
    State,
    TableProperties,
    TableUnreadable,
    Timeline,
    UnreadableCause,
)
from hudi_operator.timeline.rules.counters import COMMITS

_HEARTBEATS = ".hoodie/.heartbeat"

_REASON_SHOWN = 150

_TARGETS = 1_000
"""The most instants to return for a rollback or restore."""

T = TypeVar("T")


class TableReader:
    """Reads the files of tables from a file system. Blocking; safe to use from several threads."""

    def __init__(
        self, filesystem: FileSystem, cache: Memory | None = None, *, budget: ReadBudget | None = None
    ) -> None:
        """Without a budget, a read may take any number of files; each file stays bounded."""
        self._filesystem = filesystem
        self._cache = ContentCache() if cache is None else cache
        self._files = TableFiles(filesystem, self._cache, budget)

    def read_properties(self, base: Location) -> tuple[TableProperties, tuple[Problem, ...]]:
        """Read `hoodie.properties`, or its backup if the file is missing, empty or damaged."""
        failure: TableUnreadable | None = None
        state = "missing"
        try:
            found = self._properties((base / PROPERTIES_FILE).path)
            if found is not None:
                return found, ()
        except ReadBudgetSpent:
            raise
        except CorruptContent as error:
            state = str(error)
        except TableUnreadable as error:
            if error.cause is not UnreadableCause.CORRUPT:
                raise
            state, failure = "damaged", error
        try:
            backup = self._properties((base / BACKUP_FILE).path)
        except CorruptContent:
            backup = None
        if backup is not None:
            return backup, (Problem(PROPERTIES_FILE, f"The file is {state}; its backup was read instead."),)
        if state == "missing":
            raise NotAHudiTable(f"There is no Hudi table at {base.path}: {PROPERTIES_FILE} does not exist.")
        raise failure or TableUnreadable(
            UnreadableCause.CORRUPT,
            f"{PROPERTIES_FILE} of {base.path} is empty or damaged and there is no usable backup: restore it.",
        )

    def _properties(self, path: str) -> TableProperties | None:
        try:
            return self._value(path, read_table_properties, limit=PROPERTIES_LIMIT)
        except ReadBudgetSpent:
            raise
        except ContentTooLarge as error:
            # Hudi would read it, and the backup may differ.
            raise TableUnreadable(UnreadableCause.TOO_LARGE, f"{error}: restore what Hudi wrote.") from error

    def read_commit_metadata(self, base: Location, properties: TableProperties, instant: Instant) -> CommitMetadata:
        """Read the metadata of a completed commit, deltacommit or replacecommit.

        Raises `InstantContentMissing` if the file does not exist (any more), `CorruptContent` if it is damaged.
        """
        name = name_of(instant, properties.layout)
        path = (base / properties.timeline_folder).path_of(name)
        key = ("commit", self._filesystem.identity, path)
        known = self._cache.get(key)
        if isinstance(known, CommitMetadata):
            return known
        found = self._value(path, lambda data: (read_commit(data), len(data)))
        if found is None:
            raise InstantContentMissing(f"{properties.timeline_folder}/{name} does not exist (any more).")
        metadata, size = found
        if size and instant.is_completed:
            self._cache.put(key, metadata, size=metadata.memory)
        return metadata

    def read_content(
        self, base: Location, properties: TableProperties, instant: Instant, state: State | None = None
    ) -> Content:
        """Read the content of an instant's file: plan (`State.REQUESTED`), result, or the inflight state.

        Without a state, the file of the instant's own state is read. An empty file gives a value of defaults. Raises
        `InstantContentMissing` if the file does not exist (any more), `CorruptContent` if it is damaged.
        """
        wanted = state or instant.state
        return self._content(
            base, properties, instant, wanted, lambda data: interpret(decode(data, FIELDS), instant.action, wanted)
        )

    def read_plan(self, base: Location, properties: TableProperties, instant: Instant) -> PlanSummary:
        """Read the size and author of a pending instant's plan.

        Read once per process: Hudi writes a plan once and never changes it. Raises the errors of `read_content`.
        """
        key = ("plan", self._filesystem.identity, base.path, instant.time, instant.action)
        known = self._cache.get(key)
        if isinstance(known, PlanSummary):
            return known
        plan, size = self._content(
            base,
            properties,
            instant,
            State.REQUESTED,
            lambda data: (plan_summary(decode(data, SUMMARY_FIELDS)), len(data)),
        )
        if size:
            self._cache.put(key, plan, size=500 + memory_of(plan.extra_metadata))
        return plan

    def read_targets(
        self, base: Location, properties: TableProperties, instant: Instant
    ) -> tuple[InstantReference, ...]:
        """Read the instants that a rollback or restore undoes, at most 1,000; from its plan while it is pending.

        Read once per process and state, as Hudi never changes them. Raises the errors of `read_content`.
        """
        key = ("targets", self._filesystem.identity, base.path, instant)
        known = self._cache.get(key)
        if isinstance(known, tuple):
            return known
        state = State.COMPLETED if instant.is_completed else State.REQUESTED

        def read(data: bytes) -> tuple[tuple[InstantReference, ...], int]:
            content = interpret(decode(data, TARGET_FIELDS), instant.action, state)
            return undone_by(content)[:_TARGETS], len(data)

        found, size = self._content(base, properties, instant, state, read)
        if size:
            self._cache.put(key, found, size=200 + 200 * len(found))
        return found

    def _content(
        self, base: Location, properties: TableProperties, instant: Instant, state: State, make: Callable[[bytes], T]
    ) -> T:
        for name in _candidate_names(instant, state, properties.layout):
            found = self._value((base / properties.timeline_folder).path_of(name), make)
            if found is not None:
                return found
        raise InstantContentMissing(f"{instant.action} {instant.time} has no {state} file (any more).")

    def once(
        self,
        base: Location,
        what: str,
        since: Hashable,
        make: Callable[[TableFiles, Location], T],
        *,
        lasts: Callable[[T], bool] = lambda _: True,
        size: Callable[[T], int] = lambda found: len(found) if isinstance(found, str) else 0,
    ) -> T:
        """Return what `make` reads of a table's other files, once per process and `since`, which marks a change.

        An answer that does not last is read each time. `size` is what an answer takes in memory.
        """
        key = (what, self._filesystem.identity, base.path, since)
        known = self._cache.get(key)
        if isinstance(known, tuple):
            remembered: T = known[0]
            return remembered
        found = make(self._files, base)
        if lasts(found):
            self._cache.put(key, (found,), size=size(found))
        return found

    def heartbeat(self, base: Location, instant: Instant) -> int | None:
        """Return the last heartbeat of an instant's writer, in epoch milliseconds by the store's clock.

        Costs a request. None if no heartbeat exists: the writer has ended, or keeps none (`HoodieHeartbeatClient`).
        """
        try:
            return self._filesystem.modified((base / _HEARTBEATS).path_of(instant.time))
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                return None
            raise as_unreadable(error) from error

    def written_at(self, base: Location, properties: TableProperties, instant: Instant) -> int | None:
        """Return the write time of a pending instant's current file, in epoch milliseconds by the store's clock.

        The instant's own time is in an unknown writer's zone, and does not tell when the instant became inflight. Costs
        a request per instant, state and process. None if the file is gone.
        """
        for name in _candidate_names(instant, instant.state, properties.layout):
            path = (base / properties.timeline_folder).path_of(name)
            key = ("written", self._filesystem.identity, path)
            known = self._cache.get(key)
            if isinstance(known, int):
                return known
            try:
                written = self._filesystem.modified(path)
            except StorageError as error:
                if error.kind is StorageErrorKind.NOT_FOUND:
                    continue
                raise as_unreadable(error) from error
            self._cache.put(key, written, size=0)
            return written
        return None

    def newest_commits(
        self, base: Location, timeline: Timeline
    ) -> Iterator[tuple[Instant, CommitMetadata | CorruptContent]]:
        """Yield completed commits lazily, newest completion first, each with its metadata or its damage.

        Instants that vanish meanwhile (archival) are skipped.
        """
        return self.read_commits(base, timeline.properties, reversed(completed_commits(timeline)))

    def read_commits(
        self, base: Location, properties: TableProperties, commits: Iterable[Instant]
    ) -> Iterator[tuple[Instant, CommitMetadata | CorruptContent]]:
        """Yield the given commits in their own order, as `newest_commits` does."""
        for instant in commits:
            try:
                yield instant, self.read_commit_metadata(base, properties, instant)
            except InstantContentMissing:
                continue
            except ReadBudgetSpent:
                raise
            except CorruptContent as error:
                yield instant, error

    def commits(self, base: Location, timeline: Timeline) -> Iterator[tuple[Instant, CommitMetadata]]:
        """Yield completed commits, newest first; raise `CorruptContent` for a damaged commit: its metadata may matter.

        Use it to find the newest commit with a given key of extra metadata.
        """
        for instant, found in self.newest_commits(base, timeline):
            if isinstance(found, CorruptContent):
                raise type(found)(f"{instant.action} {instant.time} of {base.path}: {found}.") from found
            yield instant, found

    def _value(self, path: str, make: Callable[[bytes], T], *, limit: int | None = None) -> T | None:
        """Return the value that `make` builds from a file, or None if the file does not exist."""
        try:
            return self._files.value(path, make) if limit is None else self._files.value(path, make, limit=limit)
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                return None
            raise as_unreadable(error) from error


def completed_commits(timeline: Timeline) -> list[Instant]:
    """Return the completed commits in order of completion."""
    completed = (instant for instant in timeline.completed if instant.action in COMMITS)
    return sorted(completed, key=lambda one: (one.completion, one.time))


def commit_problem(instant: Instant, properties: TableProperties, why: CorruptContent) -> Problem:
    """Return the problem to report for an unreadable completed commit."""
    name = name_of(instant, properties.layout)
    reason = f"What this {instant.action} did and who made it is not known: {str(why)[:_REASON_SHOWN].rstrip('.')}."
    return Problem(f"{properties.timeline_folder}/{name}", reason)


def _candidate_names(instant: Instant, state: State, layout: Layout) -> Iterator[str]:
    """Yield the possible names of an instant's file: a completed action may have been planned under another name."""
    actions = [instant.action]
    if state is not State.COMPLETED:
        actions += [action for action, family in FAMILIES.items() if family is instant.action]
    for action in actions:
        yield file_name(time=instant.time, completed_at=instant.completed_at, action=action, state=state, layout=layout)
