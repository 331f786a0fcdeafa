"""Reads what the counters need from files, once per process, and turns damage into problems."""

from collections.abc import Iterable
from datetime import UTC, datetime

from hudi_operator.storage import FileSystem, Listing, StorageError, StorageErrorKind
from hudi_operator.timeline.cache import ContentCache
from hudi_operator.timeline.collapse import InstantFiles
from hudi_operator.timeline.content import CLUSTER, Record, decode, operation_type, text_field
from hudi_operator.timeline.errors import CorruptContent, TableUnreadable, UnreadableCause
from hudi_operator.timeline.model import Action, Layout, Problem, State

# A file's own time is believed only if it is the instant's time plus a whole time zone offset, within this
# many milliseconds; copying a table gives its files new times, which say nothing about the order of events.
_CLOCK_TOLERANCE = 10_000
_QUARTER_HOUR = 15 * 60 * 1000
_WIDEST_OFFSET = 14 * 60 * 60 * 1000

_EMPTY_PLAN = "The plan is empty: it can be neither run nor resumed."
_EMPTY_PLANS = {
    Action.REPLACE_COMMIT: "The request is empty: Hudi takes it for a write, whatever it was meant to be.",
}

_CAUSES = {
    StorageErrorKind.NOT_FOUND: UnreadableCause.NOT_FOUND,
    StorageErrorKind.NO_BUCKET: UnreadableCause.NOT_FOUND,
    StorageErrorKind.ACCESS_DENIED: UnreadableCause.ACCESS_DENIED,
    StorageErrorKind.UNREACHABLE: UnreadableCause.UNREACHABLE,
    StorageErrorKind.UNSUPPORTED: UnreadableCause.UNSUPPORTED,
}


class FileContents:
    """Answers the counters' questions about one table from its files (`counters.Contents`)."""

    def __init__(
        self,
        *,
        filesystem: FileSystem,
        cache: ContentCache,
        folder: str,
        prefix: str,
        layout: Layout,
        listing: Listing,
    ) -> None:
        """`folder` is the timeline folder in the store, `prefix` the same relative to the base path."""
        self._filesystem = filesystem
        self._cache = cache
        self._folder = folder
        self._prefix = prefix
        self._layout = layout
        self._listing = listing
        self._problems: dict[str, Problem] = {}
        self._settled = True

    @property
    def settled(self) -> bool:
        """Whether everything that was asked for was read: an empty or damaged file may still be being written."""
        return self._settled

    @property
    def problems(self) -> Iterable[Problem]:
        """What could not be read so far."""
        return self._problems.values()

    def is_clustering(self, entry: InstantFiles) -> bool | None:
        """Follow `ClusteringUtils.isClusteringInstant`; where Hudi would throw, ask the completed file."""
        if entry.instant.action is Action.CLUSTERING or entry.file_in(State.REQUESTED, self._layout, Action.CLUSTERING):
            return True
        verdict: bool | None = None
        for state in (State.REQUESTED, State.COMPLETED):
            name = entry.file_in(state, self._layout)
            if name is not None and verdict is None:
                verdict = self._names_clustering(name)
        if verdict is None and not self._has_problem(entry):
            self._report(entry.files[0], "It cannot be told whether this is a clustering: the requested file is gone.")
        return verdict

    def commit_before_clean(self, entry: InstantFiles) -> str | None:
        """Return `lastCompletedCommitTimestamp` of a completed clean, or None if the file is damaged."""
        name = entry.file_in(State.COMPLETED, self._layout)
        if name is None:
            return None
        key = self._key("clean", name)
        known = self._cache.get(key)
        if isinstance(known, str):
            return known
        try:
            record, size = self._read(name)
            value = text_field(record, "lastCompletedCommitTimestamp") or ""
        except CorruptContent as error:
            self._report(name, f"The clean metadata cannot be read: {error}.")
            return None
        if size:
            self._cache.put(key, value, size=len(value))
        return value

    def completed_after(self, entry: InstantFiles, compaction: InstantFiles) -> bool:
        """Follow `findInstantsModifiedAfterByCompletionTime` where the name records no completion time.

        Hudi then formats the file's modification time in the zone of the JVM that counts. Here the zone is the one
        that the compaction's own file shows; if it shows none, because the table was copied, the instant counts as
        completed before the compaction, which is the rule of the releases that wrote such tables.
        """
        # The metadata table calls a compaction after the delta commit before it, with digits appended.
        if compaction.instant.time.startswith(entry.instant.time):
            return True
        completed = entry.file_in(State.COMPLETED, self._layout)
        requested = compaction.file_in(State.REQUESTED, self._layout)
        started = _epoch_milliseconds(compaction.instant.time)
        if completed is None or requested is None or started is None:
            return False
        offset = _zone_offset(self._modified(requested) - started)
        return offset is not None and self._modified(completed) - offset > started

    def check_plan(self, entry: InstantFiles) -> None:
        """Read the plan of a pending table service and report it if it is empty or damaged."""
        name = entry.file_in(State.REQUESTED, self._layout)
        if name is None or self._cache.get(self._key("plan", name)) is not None:
            return
        try:
            record, size = self._read(name)
        except CorruptContent as error:
            self._report(name, f"The plan of this {entry.instant.action} cannot be read: {error}.")
            return
        if record is None:
            self._report(name, _EMPTY_PLANS.get(entry.instant.action, _EMPTY_PLAN))
            return
        self._cache.put(self._key("plan", name), "read", size=min(size, 64))

    def _names_clustering(self, name: str) -> bool | None:
        key = self._key("clustering", name)
        known = self._cache.get(key)
        if isinstance(known, bool):
            return known
        try:
            record, size = self._read(name)
            verdict = operation_type(record) == CLUSTER
        except CorruptContent as error:
            self._report(name, f"It cannot be told whether this is a clustering: {error}.")
            return None
        if size:
            self._cache.put(key, verdict, size=1)
        return verdict

    def _read(self, name: str) -> tuple[Record | None, int]:
        settled, self._settled = self._settled, False
        try:
            data = self._filesystem.read_file(f"{self._folder}/{name}")
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                raise CorruptContent("the file has gone since the folder was listed") from error
            raise as_unreadable(error) from error
        record = decode(data)
        self._settled = settled and bool(data)
        return record, len(data)

    def _modified(self, name: str) -> int:
        if self._listing.modified is not None and name in self._listing.modified:
            return self._listing.modified[name]
        try:
            return self._filesystem.modified(f"{self._folder}/{name}")
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                return 0
            raise as_unreadable(error) from error

    def _key(self, question: str, name: str) -> tuple[str, ...]:
        return (question, self._filesystem.identity, self._folder, name)

    def _report(self, name: str, reason: str) -> None:
        self._problems.setdefault(name, Problem(f"{self._prefix}{name}", reason))

    def _has_problem(self, entry: InstantFiles) -> bool:
        return any(name in self._problems for name in entry.files)


def as_unreadable(error: StorageError) -> TableUnreadable:
    """Turn a store's error into the table's error."""
    return TableUnreadable(_CAUSES[error.kind], str(error))


def _zone_offset(difference: int) -> int | None:
    """Return the zone offset nearest to the difference between a file's time and its instant's, if it is one."""
    offset = (difference + _QUARTER_HOUR // 2) // _QUARTER_HOUR * _QUARTER_HOUR
    plausible = abs(offset) <= _WIDEST_OFFSET and abs(difference - offset) <= _CLOCK_TOLERANCE
    return offset if plausible else None


def _epoch_milliseconds(time: str) -> int | None:
    """Read an instant time as if it were UTC."""
    try:
        parsed = datetime.strptime(time[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(parsed.timestamp()) * 1000 + int(time[14:17].ljust(3, "0"))
