"""The reader: one listing per look, each completed file read at most once per process."""

from collections.abc import Iterator
from dataclasses import replace

from hudi_operator.storage import FileSystem, Listing, StorageError, StorageErrorKind
from hudi_operator.timeline.cache import ContentCache
from hudi_operator.timeline.collapse import Collapsed, InstantFiles, collapse
from hudi_operator.timeline.content import CommitMetadata, commit_metadata, decode
from hudi_operator.timeline.contents import FileContents, as_unreadable
from hudi_operator.timeline.counters import COMMITS, count
from hudi_operator.timeline.errors import (
    CorruptContent,
    InstantContentMissing,
    NotAHudiTable,
    TableUnreadable,
    UnreadableCause,
)
from hudi_operator.timeline.folder import stray_files
from hudi_operator.timeline.interpret import interpret
from hudi_operator.timeline.looks import SMALLEST_PARTIAL_LISTING, Look, rewrites_history
from hudi_operator.timeline.model import Action, Instant, Layout, Problem, State, TableProperties, Timeline
from hudi_operator.timeline.names import FAMILIES, file_name
from hudi_operator.timeline.plans import CompactionPlan, Content, ReplacePlan
from hudi_operator.timeline.properties import BACKUP_FILE, PROPERTIES_FILE, is_intact, read_table_properties

_HEARTBEATS = ".hoodie/.heartbeat"
_PLAN_BYTES = 400
"""What a file slice of a plan takes in memory, about."""

_PLANNED = frozenset({Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING, Action.REPLACE_COMMIT})


class TimelineReader:
    """Reads timelines from one file system. Blocking; safe to use from several threads.

    One reader (or at least one `ContentCache`) should serve all tables of a process.
    """

    def __init__(self, filesystem: FileSystem, cache: ContentCache | None = None) -> None:
        self._filesystem = filesystem
        self._cache = ContentCache() if cache is None else cache

    def read(self, base_path: str, *, full: bool = False) -> Timeline:
        """Look at a table once.

        `base_path` is the path inside the file system, as `storage.open_filesystem` returns it. Raises
        `NotAHudiTable` if the store answers that there is none, and `TableUnreadable` for everything else
        that leaves nothing certain. Damage to single files is in `Timeline.problems`.

        Of a long timeline on S3, most looks list only the end: archival and savepoints of old instants may
        show up to ten looks late. `full` lists everything, as before an action that cannot be undone.
        """
        base = base_path.rstrip("/")
        known = None if full else self._cache.get(self._look_key(base))
        if isinstance(known, Look) and known.is_reusable:
            try:
                return self._look_again(base, known)
            except TableUnreadable as error:
                # The folder is gone: the properties tell whether the table is.
                if error.cause is not UnreadableCause.NOT_FOUND:
                    raise
        return self._look_afresh(base)

    def _look_again(self, base: str, known: Look) -> Timeline:
        """List a known table, as far as needed, and interpret it again only if it has moved."""
        properties = known.timeline.properties
        partial = self._filesystem.lists_from_offset and len(known.names) >= SMALLEST_PARTIAL_LISTING
        listing = self._list(base, properties, start_after=known.tail_start if partial else None)
        before, now = known.tail if partial else known.names, frozenset(listing.names)
        if now == before:
            self._remember(base, replace(known, age=known.age + 1))
            return known.timeline
        if before <= now and not rewrites_history(now - before, properties.layout):
            whole = replace(listing, names=[*known.names, *(now - before)]) if partial else listing
            return self._interpret(base, properties, whole, problems=(), age=known.age + 1)
        return self._look_afresh(base, None if partial else (properties, listing))

    def _look_afresh(self, base: str, listed: tuple[TableProperties, Listing] | None = None) -> Timeline:
        """Read the properties and list the folder, unless it was just `listed` where they say that it is."""
        properties, problems = self.read_properties(base)
        if listed is not None and listed[0].timeline_folder == properties.timeline_folder:
            listing = listed[1]
        else:
            listing = self._list(base, properties)
        return self._interpret(base, properties, listing, problems=problems, age=0)

    def _interpret(
        self, base: str, properties: TableProperties, listing: Listing, *, problems: tuple[Problem, ...], age: int
    ) -> Timeline:
        prefix = f"{properties.timeline_folder}/"
        collapsed = collapse(listing.names, properties.layout, folder=prefix)
        contents = FileContents(
            filesystem=self._filesystem,
            cache=self._cache,
            folder=f"{base}/{properties.timeline_folder}",
            prefix=prefix,
            layout=properties.layout,
            listing=listing,
        )
        counters = count(collapsed.entries, properties, contents)
        for entry in _pending_plans(collapsed):
            contents.check_plan(entry)
        found = (*problems, *collapsed.problems, *stray_files(collapsed.ignored, properties), *contents.problems)
        timeline = Timeline(
            properties=properties,
            instants=collapsed.instants,
            counters=counters,
            problems=tuple(sorted(set(found))),
        )
        settled = contents.settled and not problems
        self._remember(base, Look(frozenset(listing.names), timeline, settled, age))
        return timeline

    def _remember(self, base: str, look: Look) -> None:
        # A name, its place in the set and its share of an instant take some 200 bytes.
        self._cache.put(self._look_key(base), look, size=200 * len(look.names))

    def _look_key(self, base: str) -> tuple[str, ...]:
        return ("look", self._filesystem.identity, base)

    def read_properties(self, base_path: str) -> tuple[TableProperties, tuple[Problem, ...]]:
        """Read `hoodie.properties`, or its backup where the file itself is missing, empty or damaged."""
        base = base_path.rstrip("/")
        content = self._read_if_present(f"{base}/{PROPERTIES_FILE}")
        failure: TableUnreadable | None = None
        if content is not None and is_intact(content):
            try:
                return read_table_properties(content), ()
            except TableUnreadable as error:
                if error.cause is not UnreadableCause.CORRUPT:
                    raise
                failure = error
        backup = self._read_if_present(f"{base}/{BACKUP_FILE}")
        if backup and is_intact(backup):
            state = "missing" if content is None else "empty" if not content else "damaged"
            problem = Problem(PROPERTIES_FILE, f"The file is {state}; its backup was read instead.")
            return read_table_properties(backup), (problem,)
        if content is None:
            raise NotAHudiTable(f"There is no Hudi table at {base or '/'}: {PROPERTIES_FILE} does not exist.")
        raise failure or TableUnreadable(
            UnreadableCause.CORRUPT,
            f"{PROPERTIES_FILE} of {base} is empty or damaged and there is no usable backup: restore it.",
        )

    def read_commit_metadata(self, base_path: str, properties: TableProperties, instant: Instant) -> CommitMetadata:
        """Read what a completed commit, deltacommit or replacecommit says.

        Raises `InstantContentMissing` if the file is not there (any more), `CorruptContent` if it is damaged.
        """
        name = file_name(
            time=instant.time,
            completed_at=instant.completed_at,
            action=instant.action,
            state=instant.state,
            layout=properties.layout,
        )
        path = f"{base_path.rstrip('/')}/{properties.timeline_folder}/{name}"
        key = ("commit", self._filesystem.identity, path)
        known = self._cache.get(key)
        if isinstance(known, CommitMetadata):
            return known
        data = self._read_if_present(path)
        if data is None:
            raise InstantContentMissing(f"{properties.timeline_folder}/{name} does not exist (any more).")
        metadata = commit_metadata(decode(data))
        if data and instant.is_completed:
            self._cache.put(key, metadata, size=len(data))
        return metadata

    def read_content(
        self, base_path: str, properties: TableProperties, instant: Instant, state: State | None = None
    ) -> Content:
        """Read what an instant's file says: its plan (`State.REQUESTED`), its result, or what is in between.

        Without a state, the file of the instant's own state is read. An empty file gives a value of defaults. Raises
        `InstantContentMissing` if there is no such file (any more), `CorruptContent` if it is damaged.
        """
        wanted = state or instant.state
        data = None
        for name in _candidate_names(instant, wanted, properties.layout):
            data = self._read_if_present(f"{base_path.rstrip('/')}/{properties.timeline_folder}/{name}")
            if data is not None:
                return interpret(decode(data), instant.action, wanted)
        raise InstantContentMissing(f"{instant.action} {instant.time} has no {wanted} file (any more).")

    def read_plan(self, base_path: str, properties: TableProperties, instant: Instant) -> Content:
        """Read the plan of a pending instant, once per process: Hudi writes a plan once and never changes it."""
        key = ("plan", self._filesystem.identity, base_path, instant.time, instant.action)
        known = self._cache.get(key)
        if isinstance(known, CompactionPlan | ReplacePlan):
            return known
        plan = self.read_content(base_path, properties, instant, State.REQUESTED)
        if isinstance(plan, CompactionPlan):
            self._cache.put(key, plan, size=_PLAN_BYTES * (1 + len(plan.operations)))
        elif isinstance(plan, ReplacePlan) and plan.operation is not None:
            self._cache.put(key, plan, size=_PLAN_BYTES * (1 + sum(len(group) for group in plan.groups)))
        return plan

    def heartbeat(self, base_path: str, instant: Instant) -> int | None:
        """Return when a writer of an instant last said that it lives, in epoch milliseconds by the store's clock.

        One request. None where there is no heartbeat: it has ended, or its writer keeps none (`HoodieHeartbeatClient`).
        """
        try:
            return self._filesystem.modified(f"{base_path.rstrip('/')}/{_HEARTBEATS}/{instant.time}")
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                return None
            raise as_unreadable(error) from error

    def written_at(self, base_path: str, properties: TableProperties, instant: Instant) -> int | None:
        """Return when the file of a pending instant's state was written, in epoch milliseconds by the store's clock.

        The instant's own time is in the zone of a writer that is not known, and says nothing about when the instant
        became inflight. One request for each state of an instant and process. None if the file is gone.
        """
        for name in _candidate_names(instant, instant.state, properties.layout):
            path = f"{base_path.rstrip('/')}/{properties.timeline_folder}/{name}"
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

    def commits(self, base_path: str, timeline: Timeline) -> Iterator[tuple[Instant, CommitMetadata]]:
        """Yield completed commits with their metadata, newest completion first, reading as it goes.

        Walk it to find the newest commit that carries some extra metadata. Instants that vanish meanwhile
        (archival) are skipped; damaged ones raise `CorruptContent`, because what they said may matter.
        """
        completed = [instant for instant in timeline.completed if instant.action in COMMITS]
        for instant in sorted(completed, key=lambda one: (one.completed_at or one.time, one.time), reverse=True):
            try:
                yield instant, self.read_commit_metadata(base_path, timeline.properties, instant)
            except InstantContentMissing:
                continue
            except CorruptContent as error:
                raise CorruptContent(f"{instant.action} {instant.time} of {base_path}: {error}") from error

    def find_extra_metadata(self, base_path: str, timeline: Timeline, key: str) -> tuple[Instant, str] | None:
        """Return the newest completed commit whose extra metadata holds a key, with the key's value."""
        for instant, metadata in self.commits(base_path, timeline):
            if key in metadata.extra_metadata:
                return instant, metadata.extra_metadata[key]
        return None

    def _list(self, base: str, properties: TableProperties, *, start_after: str | None = None) -> Listing:
        try:
            return self._filesystem.list_directory(f"{base}/{properties.timeline_folder}", start_after=start_after)
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                folder = properties.timeline_folder
                message = f"The table at {base} has no timeline folder {folder}: it is incomplete."
                raise TableUnreadable(UnreadableCause.NOT_FOUND, message) from error
            raise as_unreadable(error) from error

    def _read_if_present(self, path: str) -> bytes | None:
        try:
            return self._filesystem.read_file(path)
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                return None
            raise as_unreadable(error) from error


def _candidate_names(instant: Instant, state: State, layout: Layout) -> Iterator[str]:
    """Yield the possible names of an instant's file: a completed action may have been planned as another one."""
    actions = [instant.action]
    if state is not State.COMPLETED:
        actions += [action for action, family in FAMILIES.items() if family is instant.action]
    for action in actions:
        yield file_name(time=instant.time, completed_at=instant.completed_at, action=action, state=state, layout=layout)


def _pending_plans(collapsed: Collapsed) -> Iterator[InstantFiles]:
    for entry in collapsed.entries:
        if entry.instant.state is not State.COMPLETED and entry.instant.action in _PLANNED:
            yield entry
