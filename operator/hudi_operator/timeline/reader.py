"""Reads timelines with a listing per read; each completed file is read at most once per process."""

from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from hudi_jobs.contract import Location
from hudi_operator.storage import FileSystem, Listing, StorageError, StorageErrorKind
from hudi_operator.timeline.cache import ContentCache, Memory, memory_of
from hudi_operator.timeline.content.commits import CommitMetadata, decode, read_commit
from hudi_operator.timeline.content.for_counters import FileContents, stamp_in
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
    Collapsed,
    InstantFiles,
    collapse,
    file_name,
    has_overlong_time,
    name_of,
    stray_files,
)
from hudi_operator.timeline.files.properties import (
    BACKUP_FILE,
    PROPERTIES_FILE,
    PROPERTIES_LIMIT,
    read_table_properties,
)
from hudi_operator.timeline.files.reading import ReadBudget, TableFiles, as_unreadable
from hudi_operator.timeline.files.times import is_metadata_compaction, newest_dated
from hudi_operator.timeline.last_read import SMALLEST_PARTIAL_LISTING, LastRead, rewrites_history
from hudi_operator.timeline.model import (
    Action,
    ContentTooLarge,
    CorruptContent,
    Counters,
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
    TimelineZone,
    UnreadableCause,
)
from hudi_operator.timeline.rules.counters import COMMITS, count

_HEARTBEATS = ".hoodie/.heartbeat"
_PROBLEMS = 200
"""The most problems of a timeline to report singly."""

_REASON_SHOWN = 150

_TARGETS = 1_000
"""The most instants to return for a rollback or restore."""

_READS_WITHOUT_LISTING = 10
"""After a listing of too many files, skip this many reads before listing again."""

# Other files of layout 1's folder sort before and after its instants, which begin with a digit. The instants of layout
# 2 have their own folder.
_BEFORE_INSTANTS = ".zzzz"
_BEHIND_INSTANTS = ":"

T = TypeVar("T")

_PLANNED = frozenset({Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING, Action.REPLACE_COMMIT})


class TimelineReader:
    """Reads timelines from a file system. Blocking; safe to use from several threads.

    A single reader (or at least a single `ContentCache`) should serve all tables of a process.
    """

    def __init__(
        self, filesystem: FileSystem, cache: Memory | None = None, *, budget: ReadBudget | None = None
    ) -> None:
        """Without a budget, a read may take any number of files; each file stays bounded."""
        self._filesystem = filesystem
        self._cache = ContentCache() if cache is None else cache
        self._files = TableFiles(filesystem, self._cache, budget)

    def read(self, base: Location, *, full: bool = False) -> Timeline:
        """Read a table's timeline.

        Raises `NotAHudiTable` if the store answers that no table exists, and `TableUnreadable` for every other failure
        of the whole table.
        Damage to single files is in `Timeline.problems`.

        For a long timeline on S3, most reads list only the end: archival and savepoints of old instants may show up to
        ten reads late. `full` lists everything; use it before an irreversible action.
        """
        known = None if full else self._cache.get(self._last_read_key(base))
        if isinstance(known, LastRead) and known.is_reusable:
            try:
                return self._read_again(base, known)
            except TableUnreadable as error:
                # The folder is gone: the properties tell whether the table exists.
                if error.cause is not UnreadableCause.NOT_FOUND:
                    raise
        return self._read_whole(base)

    def _read_again(self, base: Location, known: LastRead) -> Timeline:
        """List a known table as far as needed; interpret it again only if it has changed."""
        properties = known.timeline.properties
        partial = self._filesystem.lists_from_offset and len(known.names) >= SMALLEST_PARTIAL_LISTING
        listing = self._list(base, properties, start_after=known.tail_start if partial else None)
        changed = self._changed(base / properties.timeline_folder, known, listing)
        if changed:
            return self._read_whole(base, None if partial else (properties, listing))
        # Equal names in equal order need no sets, which take as long as a fifth of the listing.
        unmoved = not partial and tuple(listing.names) == known.names
        before = frozenset() if unmoved else known.tail if partial else frozenset(known.names)
        now = before if unmoved else frozenset(listing.names)
        if now == before:
            self._remember(base, replace(known, age=known.age + 1))
            return known.timeline
        if before <= now and not rewrites_history(now - before, properties.layout):
            whole = replace(listing, names=[*known.names, *(now - before)]) if partial else listing
            return self._interpret(base, properties, whole, problems=(), age=known.age + 1)
        return self._read_whole(base, None if partial else (properties, listing))

    def _read_whole(self, base: Location, listed: tuple[TableProperties, Listing] | None = None) -> Timeline:
        """Read the properties and list the folder, unless `listed` already covers the folder they name."""
        properties, problems = self.read_properties(base)
        if listed is not None and listed[0].timeline_folder == properties.timeline_folder:
            listing = listed[1]
        else:
            listing = self._list(base, properties)
        return self._interpret(base, properties, listing, problems=problems, age=0)

    def _interpret(
        self, base: Location, properties: TableProperties, listing: Listing, *, problems: tuple[Problem, ...], age: int
    ) -> Timeline:
        prefix = f"{properties.timeline_folder}/"
        collapsed = collapse(listing.names, properties.layout, folder=prefix)
        overlong = next((name for name in collapsed.ignored if has_overlong_time(name)), None)
        if overlong is not None:
            message = f"{prefix}{overlong[:80]} is named by more digits than an instant has: remove it."
            raise TableUnreadable(UnreadableCause.CORRUPT, message)
        contents = FileContents(
            files=self._files,
            cache=self._cache,
            folder=base / properties.timeline_folder,
            prefix=prefix,
            layout=properties.layout,
            listing=listing,
        )
        counters = count(collapsed.entries, properties, contents)
        for entry in _pending_plans(collapsed):
            contents.check_plan(entry)
        early = _completed_early(properties, collapsed, counters, contents)
        found = (*problems, *collapsed.problems, *stray_files(collapsed.ignored, properties), *contents.problems)
        is_local = properties.timezone is TimelineZone.LOCAL
        timeline = Timeline(
            properties=properties,
            instants=collapsed.instants,
            counters=counters,
            problems=_shortened(sorted(set(found)), prefix),
            completed_early=early,
            files=len(listing.names),
            newest_files=newest_dated(self._filesystem, base / properties.timeline_folder, listing) if is_local else (),
        )
        settled = contents.settled and not problems
        names = tuple(listing.names)
        self._remember(base, LastRead(names, timeline, settled, age, dict(contents.doubtful)))
        return timeline

    def _remember(self, base: Location, last: LastRead) -> None:
        properties = memory_of(dict(last.timeline.properties.raw))
        # A name, its set entry and its share of an instant take about 400 bytes.
        self._cache.put(self._last_read_key(base), last, size=400 * len(last.names) + properties)

    def _changed(self, folder: Location, known: LastRead, listing: Listing) -> bool:
        """Tell whether an empty or damaged file has changed since it was read."""
        return any(
            stamp != (stamp_in(listing, name) or self._files.stamp(folder.path_of(name)))
            for name, stamp in known.doubtful.items()
        )

    def _last_read_key(self, base: Location) -> tuple[str, ...]:
        return ("last read", self._filesystem.identity, base.path)

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

    def _list(self, base: Location, properties: TableProperties, *, start_after: str | None = None) -> Listing:
        folder = (base / properties.timeline_folder).path
        key = ("crowded", self._filesystem.identity, folder)
        crowded = self._cache.get(key)
        if isinstance(crowded, tuple) and crowded[0] > 0:
            self._cache.put(key, (crowded[0] - 1, crowded[1]), size=512)
            raise TableUnreadable(UnreadableCause.TOO_LARGE, crowded[1])
        beside = properties.layout is Layout.ONE
        try:
            return self._filesystem.list_directory(
                folder,
                start_after=start_after or (_BEFORE_INSTANTS if beside else None),
                before=_BEHIND_INSTANTS if beside else None,
            )
        except StorageError as error:
            if error.kind is StorageErrorKind.TOO_LARGE:
                self._cache.put(key, (_READS_WITHOUT_LISTING, str(error)), size=512)
            if error.kind is StorageErrorKind.NOT_FOUND:
                name = properties.timeline_folder
                message = f"The table at {base.path} has no timeline folder {name}: it is incomplete."
                raise TableUnreadable(UnreadableCause.NOT_FOUND, message) from error
            raise as_unreadable(error) from error

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


def _shortened(problems: list[Problem], prefix: str) -> tuple[Problem, ...]:
    """Return the first problems and a count of the rest."""
    if len(problems) <= _PROBLEMS:
        return tuple(problems)
    rest = Problem(prefix, f"{len(problems) - _PROBLEMS} more problems are not shown.")
    return (*problems[:_PROBLEMS], rest)


def _candidate_names(instant: Instant, state: State, layout: Layout) -> Iterator[str]:
    """Yield the possible names of an instant's file: a completed action may have been planned under another name."""
    actions = [instant.action]
    if state is not State.COMPLETED:
        actions += [action for action, family in FAMILIES.items() if family is instant.action]
    for action in actions:
        yield file_name(time=instant.time, completed_at=instant.completed_at, action=action, state=state, layout=layout)


def _completed_early(
    properties: TableProperties, collapsed: Collapsed, counters: Counters, contents: FileContents
) -> str | None:
    """Return the newest compaction if Hudi 1.2.0 believes it completed before its request."""
    newest = counters.last_compaction
    if properties.layout is not Layout.ONE or newest is None or is_metadata_compaction(newest):
        return None
    entries = (one for one in collapsed.entries if one.instant.time == newest and one.instant.action is Action.COMMIT)
    in_utc = properties.timezone is TimelineZone.UTC
    early = any(contents.completed_before_request(one, in_utc=in_utc) for one in entries)
    return newest if early else None


def _pending_plans(collapsed: Collapsed) -> Iterator[InstantFiles]:
    for entry in collapsed.entries:
        if entry.instant.state is not State.COMPLETED and entry.instant.action in _PLANNED:
            yield entry
