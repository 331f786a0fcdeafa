"""Looks at timelines: blocking reads in threads of their own, so that a dead store stalls nothing else."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from time import perf_counter
from typing import TypeAlias, TypeVar

from hudi_jobs.contract import CHECKPOINT_KEY, INDEX_KEY, OPERATOR_KEY, RUN_KEY, TABLE_KEY
from hudi_operator.api.table_class import ObjectStore
from hudi_operator.api.table_status import PENDING_REMEMBERED
from hudi_operator.control.owner_file import read_owner
from hudi_operator.control.stores import StoreBusy, StoreThreads
from hudi_operator.jobs.sizing import PlanSize
from hudi_operator.planning.model import Mark, TimelineLook, TimelineTrouble
from hudi_operator.planning.times import instant_time
from hudi_operator.planning.unfinished import HEARTBEAT_TOLERANCE
from hudi_operator.storage import (
    CountingFileSystem,
    FileSystem,
    S3Options,
    StorageError,
    StorageErrorKind,
    open_filesystem,
)
from hudi_operator.storage.url import parse_url
from hudi_operator.telemetry.metrics import metrics
from hudi_operator.timeline import (
    CommitMetadata,
    ContentCache,
    ContentTooLarge,
    CorruptContent,
    Instant,
    InstantContentMissing,
    NotAHudiTable,
    PendingKind,
    TableUnreadable,
    Timeline,
    TimelineReader,
    TimelineZone,
    UnreadableCause,
    pending_instants,
)
from hudi_operator.timeline.files import SMALL_FILE_LIMIT, FileSummary, summarise_files
from hudi_operator.timeline.metadata_table import read_metadata_table
from hudi_operator.timeline.plans import PlanSummary

T = TypeVar("T")
Opener: TypeAlias = Callable[[str, S3Options | None], tuple[FileSystem, str]]

_COMMITS_READ = 10
"""Newest commits whose metadata is read; a serialized table's last run is always among them."""

_PENDING_DATED = 10
"""Oldest pending instants whose age is asked of the store."""

_PLANS_READ = 20
"""Oldest pending plans that are read; who made the others is not known, so they are left alone."""

_PLANNED = frozenset(
    {PendingKind.COMPACTION, PendingKind.LOG_COMPACTION, PendingKind.CLUSTERING},
)

_FILES_SUMMED = 40_000
"""Files of the newest commits that are summed up; where there are more, it is not known how large files are."""

_CHECKPOINT_SHOWN = 500
_CHECKPOINT_READ = 500_000
_INDEX_SHOWN = 64

_TROUBLES = {
    UnreadableCause.NOT_FOUND: TimelineTrouble.NOT_FOUND,
    UnreadableCause.ACCESS_DENIED: TimelineTrouble.ACCESS_DENIED,
    UnreadableCause.UNREACHABLE: TimelineTrouble.UNREACHABLE,
    UnreadableCause.CORRUPT: TimelineTrouble.CORRUPT,
    UnreadableCause.UNSUPPORTED: TimelineTrouble.UNSUPPORTED,
    UnreadableCause.TOO_LARGE: TimelineTrouble.TOO_LARGE,
}


@dataclass(frozen=True, kw_only=True)
class Questions:
    """What a table's spec asks of its files and of its timeline's length.

    `small_file_limit` is the size in bytes below which base files count as small. Where there are more than
    `commits_to_keep`, the metadata table is read too, because it decides what can be archived. `live` takes nothing
    from memory, not even that the table still exists, as before something that cannot be undone.
    """

    live: bool = False
    small_file_limit: int = SMALL_FILE_LIMIT
    commits_to_keep: int | None = None


NO_QUESTIONS = Questions()


class TimelineLooks:
    """Reads timelines for the reconciler; one instance, and one cache, serve all tables of the process.

    `threads` is how many looks each store gets at once. A look that takes longer than the timeout is given up; its
    thread stays taken until the store's client gives up as well.
    """

    def __init__(
        self,
        *,
        threads: int = 16,
        timeout_seconds: float = 60.0,
        patience_seconds: float = 5.0,
        opener: Opener = open_filesystem,
    ) -> None:
        self._threads = threads
        self._timeout = timeout_seconds
        self._patience = patience_seconds
        self._opener = opener
        self._cache = ContentCache()
        self._filesystems: dict[tuple[str | None, ObjectStore | None], FileSystem] = {}
        self._stores: dict[str, StoreThreads] = {}

    async def look(
        self, base_path: str, store: ObjectStore | None, *, questions: Questions = NO_QUESTIONS
    ) -> TimelineLook:
        """Look at one table; every failure of the store is part of the answer, none is raised."""
        started = perf_counter()
        read = partial(self._read, questions=questions)
        found = await self._bounded(base_path, store, read)
        look = TimelineLook(trouble=TimelineTrouble.UNREACHABLE, message=found) if isinstance(found, str) else found
        result = "success" if look.trouble is None else look.trouble.value
        metrics.timeline_read(result=result, seconds=perf_counter() - started)
        return look

    async def fingerprint(self, base_path: str, store: ObjectStore | None) -> int | None:
        """Return the `fingerprint` of a timeline as it is now, or None where it cannot be read.

        Costs one listing when the timeline has not moved since this process last looked.
        """
        started = perf_counter()
        found = await self._bounded(base_path, store, self._read_fingerprint)
        number = found if isinstance(found, int) else None
        result = "success" if number is not None else "unreadable"
        metrics.timeline_read(result=result, seconds=perf_counter() - started)
        return number

    def close(self) -> None:
        """Take no further looks; those under way end with their own time limits."""
        for threads in self._stores.values():
            threads.close()

    async def _bounded(
        self, base_path: str, store: ObjectStore | None, read: Callable[[str, ObjectStore | None], T]
    ) -> T | str:
        """Run a blocking read in a thread of its store; return a sentence when the store does not answer."""
        place = _place(base_path, store)
        threads = self._stores.get(place)
        if threads is None:
            threads = StoreThreads(threads=self._threads, patience_seconds=self._patience)
            self._stores[place] = threads
        try:
            return await threads.run(lambda: read(base_path, store), timeout_seconds=self._timeout)
        except StoreBusy:
            return f"{_name(store)} has not answered earlier looks yet; it is asked again."
        except TimeoutError:
            return f"{_name(store)} did not answer for {base_path} within {self._timeout:.0f} s; it is asked again."

    def _read_fingerprint(self, base_path: str, store: ObjectStore | None) -> int | None:
        try:
            filesystem, path = self._open(base_path, store)
            with _counted(filesystem) as counting:
                return fingerprint(TimelineReader(counting, self._cache).read(path))
        except NotAHudiTable:
            return fingerprint(None)
        except (TableUnreadable, CorruptContent, StorageError):
            return None

    def _read(self, base_path: str, store: ObjectStore | None, *, questions: Questions) -> TimelineLook:
        try:
            filesystem, path = self._open(base_path, store)
            with _counted(filesystem) as counting:
                try:
                    look = _read_all(TimelineReader(counting, self._cache), path, questions)
                except NotAHudiTable:
                    look = TimelineLook()  # the record of the owner is there before the table is
                owner, problem = read_owner(counting, path)
                return replace(look, owner=owner, owner_problem=problem)
        except TableUnreadable as error:
            return TimelineLook(trouble=_TROUBLES[error.cause], message=str(error))
        except ContentTooLarge as error:
            return TimelineLook(trouble=TimelineTrouble.TOO_LARGE, message=str(error))
        except CorruptContent as error:
            return TimelineLook(trouble=TimelineTrouble.CORRUPT, message=str(error))
        except StorageError as error:
            denied = error.kind is StorageErrorKind.ACCESS_DENIED
            trouble = TimelineTrouble.ACCESS_DENIED if denied else TimelineTrouble.UNREACHABLE
            return TimelineLook(trouble=trouble, message=str(error))

    def _open(self, base_path: str, store: ObjectStore | None) -> tuple[FileSystem, str]:
        location = parse_url(base_path)
        key = (location.bucket, store)
        filesystem = self._filesystems.get(key)
        if filesystem is None:
            # One client, and so one pool of connections, for all tables of a bucket.
            filesystem = self._filesystems.setdefault(key, self._opener(base_path, _options(store))[0])
        return filesystem, location.path


def _read_all(reader: TimelineReader, path: str, questions: Questions) -> TimelineLook:
    timeline = reader.read(path, full=questions.live)
    commits = tuple(_commits(reader, path, timeline))
    extras = [(instant, metadata.extra_metadata) for instant, metadata in commits]
    checkpoint = next((extra[CHECKPOINT_KEY] for _, extra in extras if CHECKPOINT_KEY in extra), None)
    plans = _plans(reader, path, timeline)
    return TimelineLook(
        timeline=timeline,
        checkpoint=readable_checkpoint(checkpoint),
        index=next((extra[INDEX_KEY][:_INDEX_SHOWN] for _, extra in extras if INDEX_KEY in extra), None),
        runs=tuple((extra[RUN_KEY], instant.time) for instant, extra in extras if RUN_KEY in extra),
        marks=_marks(extras),
        unmarked=tuple(instant for instant, extra in extras if RUN_KEY not in extra),
        operations=tuple((instant.time, metadata.operation) for instant, metadata in commits if metadata.operation),
        files=_files(commits, questions),
        written=_written(reader, path, timeline),
        plans=tuple((instant.time, PlanSize(bytes=plan.read_bytes, groups=plan.groups)) for instant, plan in plans),
        planned=_marks((instant, plan.extra_metadata) for instant, plan in plans),
        heartbeats=tuple(_heartbeats(reader, path, timeline, now=datetime.now(UTC))),
        metadata=_metadata(reader, path, timeline) if _asks_for_metadata(questions, timeline) else None,
    )


def _commits(reader: TimelineReader, path: str, timeline: Timeline) -> Iterator[tuple[Instant, CommitMetadata]]:
    """Yield the newest commits, and of those that name very many files in all only the marks."""
    left = _FILES_SUMMED
    for instant, metadata in islice(reader.commits(path, timeline), _COMMITS_READ):
        left -= len(metadata.write_stats) + sum(map(len, metadata.replaced_file_ids.values()))
        if left >= 0:
            yield instant, metadata
        else:
            yield instant, replace(metadata, write_stats=(), replaced_file_ids={}, complete=False)


def _files(commits: Sequence[tuple[Instant, CommitMetadata]], questions: Questions) -> FileSummary | None:
    """Sum up the files of the newest commits, or of none where that would leave some out."""
    if not all(metadata.complete for _, metadata in commits):
        return None
    return summarise_files(commits, small_file_limit=questions.small_file_limit)


def _asks_for_metadata(questions: Questions, timeline: Timeline) -> bool:
    most = questions.commits_to_keep
    return most is not None and timeline.counters.completed_commits > most


def _metadata(reader: TimelineReader, path: str, timeline: Timeline) -> Timeline | None:
    """Read the metadata table's timeline; without it more seems to be free to archive than Hudi will take."""
    try:
        found = read_metadata_table(reader, path, timeline)
    except (TableUnreadable, CorruptContent):
        return None
    return found.timeline if found else None


def _marks(extras: Iterable[tuple[Instant, Mapping[str, str]]]) -> tuple[Mark, ...]:
    """Return whose run each of these commits or plans names; those that name none are left out."""
    return tuple(
        Mark(instant=instant, run=extra[RUN_KEY], table_uid=extra.get(TABLE_KEY), operator=extra.get(OPERATOR_KEY))
        for instant, extra in extras
        if RUN_KEY in extra
    )


_Plans = tuple[tuple[Instant, PlanSummary], ...]


def _plans(reader: TimelineReader, path: str, timeline: Timeline) -> _Plans:
    """Read the oldest pending plans; of one that cannot be read, nothing is known."""
    found: list[tuple[Instant, PlanSummary]] = []
    planned = [one.instant for one in pending_instants(timeline) if one.kind in _PLANNED]
    for instant in planned[:_PLANS_READ]:
        with suppress(InstantContentMissing, CorruptContent):
            found.append((instant, reader.read_plan(path, timeline.properties, instant)))
    return tuple(found)


def _heartbeats(reader: TimelineReader, path: str, timeline: Timeline, *, now: datetime) -> Iterator[tuple[str, int]]:
    """Yield the heartbeats of pending instants that are not from just now, and so may be somebody's who has died."""
    youngest = now - HEARTBEAT_TOLERANCE
    old = (one for one in timeline.pending if (moment := instant_time(one.time)) is None or moment < youngest)
    for instant in islice(old, PENDING_REMEMBERED):
        beat = reader.heartbeat(path, instant)
        if beat is not None:
            yield instant.time, beat


def _written(reader: TimelineReader, path: str, timeline: Timeline) -> tuple[tuple[str, int], ...]:
    """Ask when pending instants were written where their own times are in a zone that is not known."""
    if timeline.properties.timezone is TimelineZone.UTC:
        return ()
    times = ((one.time, reader.written_at(path, timeline.properties, one)) for one in timeline.pending[:_PENDING_DATED])
    return tuple((time, written) for time, written in times if written is not None)


def fingerprint(timeline: Timeline | None) -> int:
    """Return a number that changes when anything in a timeline does; it is good in this process only."""
    return hash(timeline and (timeline.properties, timeline.instants, timeline.problems))


@contextmanager
def _counted(filesystem: FileSystem) -> Iterator[CountingFileSystem]:
    """Add the requests made meanwhile to the metrics."""
    counting = CountingFileSystem(filesystem)
    try:
        yield counting
    finally:
        metrics.store_requests(lists=counting.lists, reads=counting.reads, stats=counting.stats)


def _place(base_path: str, store: ObjectStore | None) -> str:
    """Return what can hang as one: an endpoint, or all paths of a scheme where none is named."""
    scheme = base_path.partition("://")[0]
    return f"{scheme}|{store.endpoint or ''}" if store is not None else scheme


def _name(store: ObjectStore | None) -> str:
    """Return what a person calls the store at the beginning of a sentence."""
    return f"The store {store.endpoint}" if store is not None and store.endpoint else "The store"


def _options(store: ObjectStore | None) -> S3Options | None:
    if store is None:
        return None
    return S3Options(endpoint=store.endpoint, region=store.region, virtual_hosted=not store.path_style_access)


def readable_checkpoint(text: str | None) -> str | None:
    """Return how far a commit's checkpoint says that the source has been read, for people.

    A checkpoint says it as `display`, whatever else is in it; that of release 0.1 names a file and its time.
    """
    if text is None or len(text) > _CHECKPOINT_READ:
        return text and text[:_CHECKPOINT_SHOWN]
    try:
        document = json.loads(text)
        if "display" in document:
            return document["display"] and str(document["display"])[:_CHECKPOINT_SHOWN]
        watermark = document["watermark"]
        moment = datetime.fromtimestamp(watermark["time"] / 1000, UTC).isoformat(timespec="milliseconds")
        return f"{moment.replace('+00:00', 'Z')} {watermark['path']}"[:_CHECKPOINT_SHOWN]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return text[:_CHECKPOINT_SHOWN]
