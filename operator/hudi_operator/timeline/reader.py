"""Reads timelines with a listing per read; each completed file is read at most once per process."""

from collections.abc import Iterator
from dataclasses import replace

from hudi_jobs.contract import Location
from hudi_operator.storage import Listing, StorageError, StorageErrorKind
from hudi_operator.timeline.cache import memory_of
from hudi_operator.timeline.content.for_counters import FileContents, stamp_in
from hudi_operator.timeline.files.names import (
    Collapsed,
    InstantFiles,
    collapse,
    has_overlong_time,
    stray_files,
)
from hudi_operator.timeline.files.reading import as_unreadable
from hudi_operator.timeline.files.times import is_metadata_compaction, newest_dated
from hudi_operator.timeline.last_read import SMALLEST_PARTIAL_LISTING, LastRead, rewrites_history
from hudi_operator.timeline.model import (
    Action,
    Counters,
    Layout,
    Problem,
    State,
    TableProperties,
    TableUnreadable,
    Timeline,
    TimelineZone,
    UnreadableCause,
)
from hudi_operator.timeline.rules.counters import count
from hudi_operator.timeline.table_reader import TableReader

_PROBLEMS = 200
"""The most problems of a timeline to report singly."""

_READS_WITHOUT_LISTING = 10
"""After a listing of too many files, skip this many reads before listing again."""

# Other files of layout 1's folder sort before and after its instants, which begin with a digit. The instants of layout
# 2 have their own folder.
_BEFORE_INSTANTS = ".zzzz"
_BEHIND_INSTANTS = ":"

_PLANNED = frozenset({Action.COMPACTION, Action.LOG_COMPACTION, Action.CLUSTERING, Action.REPLACE_COMMIT})


class TimelineReader(TableReader):
    """Reads timelines from a file system. Blocking; safe to use from several threads.

    A single reader (or at least a single `ContentCache`) should serve all tables of a process.
    """

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


def _shortened(problems: list[Problem], prefix: str) -> tuple[Problem, ...]:
    """Return the first problems and a count of the rest."""
    if len(problems) <= _PROBLEMS:
        return tuple(problems)
    rest = Problem(prefix, f"{len(problems) - _PROBLEMS} more problems are not shown.")
    return (*problems[:_PROBLEMS], rest)


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
