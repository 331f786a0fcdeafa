"""Reads the file content that the counters need, once per process, and turns damage into problems."""

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from hudi_jobs.contract import Location
from hudi_operator.storage import FileStamp, Listing, StorageError, StorageErrorKind
from hudi_operator.timeline.cache import Memory
from hudi_operator.timeline.content.commits import (
    CLEAN_FIELDS,
    CLUSTER,
    OPERATION_FIELDS,
    clean_summary,
    decode,
    operation_type,
)
from hudi_operator.timeline.files.names import InstantFiles
from hudi_operator.timeline.files.reading import TableFiles, as_unreadable
from hudi_operator.timeline.files.times import (
    FileTimes,
    clock_shift,
    completed_after,
    completed_before_request,
    is_metadata_compaction,
)
from hudi_operator.timeline.model import Action, CleanSummary, CorruptContent, Layout, Problem, ReadBudgetSpent, State

_HISTORY = 100
"""The number of newest requested files used to compare the writers' clocks with the store's."""

_EMPTY_PLAN = "The plan is empty: it can be neither run nor resumed."
_EMPTY_PLANS = {
    Action.REPLACE_COMMIT: "The request is empty: Hudi treats it as a write, whatever it was meant to be.",
}

_DOUBTFUL = 50
"""The most empty or damaged files to watch for a change; with more, the table is read in full each time."""

T = TypeVar("T")


class FileContents:
    """Answers the counters' questions about a table from its files (`counters.Contents`)."""

    def __init__(
        self,
        *,
        files: TableFiles,
        cache: Memory,
        folder: Location,
        prefix: str,
        layout: Layout,
        listing: Listing,
    ) -> None:
        """`folder` is the timeline folder in the store, `prefix` the same relative to the base path."""
        self._files = files
        self._filesystem = files.filesystem
        self._cache = cache
        self._folder = folder
        self._prefix = prefix
        self._layout = layout
        self._listing = listing
        self._problems: dict[str, Problem] = {}
        self._times: dict[str, FileTimes] = {}
        self._shift: int | None = None
        self._order_known = True
        self._doubtful: dict[str, FileStamp | None] = {}
        self._settled = True

    @property
    def settled(self) -> bool:
        """Whether an unchanged listing can reuse this result, as long as the `doubtful` files have not changed."""
        return self._settled and len(self._doubtful) <= _DOUBTFUL

    @property
    def doubtful(self) -> Mapping[str, FileStamp | None]:
        """Empty or damaged files, possibly still being written, with their stamps."""
        return self._doubtful

    @property
    def problems(self) -> Iterable[Problem]:
        """The problems found so far."""
        return self._problems.values()

    def is_clustering(self, entry: InstantFiles) -> bool | None:
        """Tell whether the instant is a clustering, or None if unknown.

        Follows `ClusteringUtils.isClusteringInstant`; where Hudi would throw, the completed file decides.
        """
        if entry.instant.action is Action.CLUSTERING or entry.file_in(State.REQUESTED, self._layout, Action.CLUSTERING):
            return True
        clustering: bool | None = None
        for state in (State.REQUESTED, State.COMPLETED):
            name = entry.file_in(state, self._layout)
            if name is not None and clustering is None:
                clustering = self._names_clustering(name)
        if clustering is None and not self._has_problem(entry):
            self._report(entry.files[0], "It is unknown whether this is a clustering: the requested file is gone.")
        return clustering

    def clean_summary(self, entry: InstantFiles) -> CleanSummary | None:
        """Return how far a completed clean went, or None if its file is damaged."""
        name = entry.file_in(State.COMPLETED, self._layout)
        if name is None:
            return None
        key = self._key("clean", name)
        known = self._cache.get(key)
        if isinstance(known, CleanSummary):
            return known
        try:
            value, size = self._read(name, lambda data: clean_summary(decode(data, CLEAN_FIELDS)))
        except CorruptContent as error:
            self._report(name, f"The clean metadata cannot be read: {error}.")
            return None
        if size:
            self._cache.put(key, value, size=256)
        return value

    def completed_after(self, entry: InstantFiles, compaction: InstantFiles) -> bool | None:
        """Follows `findInstantsModifiedAfterByCompletionTime` where file names record no completion time."""
        start = compaction.instant.time
        if is_metadata_compaction(start):
            # A metadata compaction is requested by the delta commit it is named after, and not while an older one is
            # pending.
            return start.startswith(entry.instant.time)
        times = self._file_times(entry), self._file_times(compaction)
        answer = completed_after(*times)
        if answer is None and self._clock_shift():
            answer = completed_after(*times, shift=self._clock_shift())
        if answer is None and self._order_known:
            # After a copy, the order of every older delta commit is unknown as well: report it once.
            self._order_known = False
            reason = (
                f"Whether {entry.instant.action} {entry.instant.time} completed before or after compaction {start} was "
                "requested is unknown: the times of its files do not fit its instant time, as after a copy. Runs "
                "compare the file slices with the names of log files before they change anything."
            )
            self._report(entry.files[0], reason)
        return answer

    def completed_before_request(self, entry: InstantFiles, *, in_utc: bool) -> bool:
        """Tell whether an instant of layout 1 completed before its request, judged by the times of its files."""
        early = completed_before_request(self._file_times(entry), in_utc=in_utc)
        if early:
            reason = (
                f"By the time of this file, {entry.instant.action} {entry.instant.time} completed before it was "
                "requested, so Hudi 1.2.0 counts log files of its file slices to older ones."
            )
            self._report(entry.file_in(State.COMPLETED, self._layout) or entry.files[0], reason)
        return early

    def check_plan(self, entry: InstantFiles) -> None:
        """Read the plan of a pending table service and report it if it is empty or damaged."""
        name = entry.file_in(State.REQUESTED, self._layout)
        if name is None or self._cache.get(self._key("plan", name)) is not None:
            return
        try:
            whole, size = self._read(name, lambda data: decode(data, OPERATION_FIELDS) is not None)
        except CorruptContent as error:
            self._report(name, f"The plan of this {entry.instant.action} cannot be read: {error}.")
            return
        if not whole:
            self._report(name, _EMPTY_PLANS.get(entry.instant.action, _EMPTY_PLAN))
            return
        self._cache.put(self._key("plan", name), "read", size=min(size, 64))

    def _names_clustering(self, name: str) -> bool | None:
        key = self._key("clustering", name)
        known = self._cache.get(key)
        if isinstance(known, bool):
            return known
        try:
            clustering, size = self._read(name, lambda data: operation_type(decode(data, OPERATION_FIELDS)) == CLUSTER)
        except CorruptContent as error:
            self._report(name, f"It is unknown whether this is a clustering: {error}.")
            return None
        if size:
            self._cache.put(key, clustering, size=1)
        return clustering

    def _read(self, name: str, make: Callable[[bytes], T]) -> tuple[T, int]:
        """Return the value that `make` builds from a file, and the file's size."""
        try:
            value, size = self._files.value(self._folder.path_of(name), lambda data: (make(data), len(data)))
        except StorageError as error:
            self._settled = False
            if error.kind is StorageErrorKind.NOT_FOUND:
                raise CorruptContent("the file has gone since the folder was listed") from error
            raise as_unreadable(error) from error
        except ReadBudgetSpent:
            self._settled = False
            raise
        except CorruptContent:
            self._doubt(name)
            raise
        if not size:
            self._doubt(name)
        return value, size

    def _doubt(self, name: str) -> None:
        if len(self._doubtful) <= _DOUBTFUL:
            self._doubtful[name] = stamp_in(self._listing, name) or self._files.stamp(self._folder.path_of(name))

    def _file_times(self, entry: InstantFiles) -> FileTimes:
        known = self._times.get(entry.instant.time)
        if known is None:
            known = FileTimes(
                time=entry.instant.time,
                requested=self._modified(entry.file_in(State.REQUESTED, self._layout)),
                completed=self._modified(entry.file_in(State.COMPLETED, self._layout)),
            )
            self._times[entry.instant.time] = known
        return known

    def _clock_shift(self) -> int:
        if self._shift is None:
            requested = sorted(name for name in self._listing.names if name.endswith(".requested"))[-_HISTORY:]
            self._shift = clock_shift(
                FileTimes(time=name.partition(".")[0], requested=self._modified(name), completed=None)
                for name in requested
            )
        return self._shift

    def _modified(self, name: str | None) -> int | None:
        if name is None:
            return None
        if self._listing.modified is not None and name in self._listing.modified:
            return self._listing.modified[name]
        try:
            return self._filesystem.modified(self._folder.path_of(name))
        except StorageError as error:
            if error.kind is StorageErrorKind.NOT_FOUND:
                return None
            raise as_unreadable(error) from error

    def _key(self, question: str, name: str) -> tuple[str, ...]:
        return (question, self._filesystem.identity, self._folder.path, name)

    def _report(self, name: str, reason: str) -> None:
        self._problems.setdefault(name, Problem(f"{self._prefix}{name}", reason))

    def _has_problem(self, entry: InstantFiles) -> bool:
        return any(name in self._problems for name in entry.files)


def stamp_in(listing: Listing, name: str) -> FileStamp | None:
    """Return the file's size and time from a listing, or None if the listing lacks them."""
    if listing.sizes is None or listing.modified is None or name not in listing.sizes:
        return None
    return FileStamp(listing.sizes[name], listing.modified.get(name, 0))
