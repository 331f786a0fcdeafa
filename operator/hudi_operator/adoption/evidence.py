"""Reads a table's evidence once: facts about itself, and its writers by the metadata of its newest commits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from statistics import median_low

from hudi_jobs.contract import Location
from hudi_jobs.contract.instants import wall_time
from hudi_jobs.contract.table.facts import NO_FACTS, TableFacts
from hudi_jobs.contract.table.properties import printable
from hudi_operator.diagnosis.checks.writers import is_service
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline import (
    Action,
    CommitMetadata,
    Instant,
    State,
    TableProperties,
    Timeline,
    TimelineError,
    TimelineReader,
)
from hudi_operator.timeline.content.plans import CleanPlan
from hudi_operator.timeline.facts import read_facts
from hudi_operator.timeline.files.reading import ReadBudget
from hudi_operator.timeline.rules.counters import COMMITS

COMMITS_READ = 30
"""The number of newest commits to read metadata of."""

_ARCHIVE_LIMIT = 100


@dataclass(frozen=True, kw_only=True)
class Evidence:
    """Evidence about a table: `commits` are the newest readable completed commits, newest first.

    `clean` is the plan of the newest clean, `facts` the facts outside the table's properties. `unread` holds sentences
    about unreadable parts.
    """

    base_path: str
    timeline: Timeline
    commits: tuple[tuple[Instant, CommitMetadata], ...] = ()
    clean: CleanPlan | None = None
    facts: TableFacts = NO_FACTS
    has_archive: bool = False
    unread: tuple[str, ...] = ()

    @property
    def offset(self) -> timedelta | None:
        """Offset from UTC of a table in local time, if its files show it."""
        return self.facts.zone.offset if self.facts.zone else None


@dataclass(frozen=True, kw_only=True)
class Unreadable:
    """A table that cannot be read, with the reason."""

    base_path: str
    reason: str


def read_evidence(filesystem: FileSystem, base: Location, *, base_path: str) -> Evidence | Unreadable:
    """Read a table at a path of the file system; `base_path` is its name in the resource."""
    reader = TimelineReader(filesystem, budget=ReadBudget())
    try:
        timeline = reader.read(base)
        commits, unread = _commits(reader, base, timeline)
        return Evidence(
            base_path=base_path,
            timeline=timeline,
            commits=commits,
            clean=_clean_plan(reader, base, timeline),
            facts=read_facts(reader, base, timeline, commits),
            has_archive=_has_archive(filesystem, base, timeline),
            unread=unread,
        )
    except (TimelineError, StorageError) as error:
        return Unreadable(base_path=base_path, reason=str(error))


def _commits(
    reader: TimelineReader, base: Location, timeline: Timeline
) -> tuple[tuple[tuple[Instant, CommitMetadata], ...], tuple[str, ...]]:
    newest = [one for one in reversed(timeline.completed) if one.action in COMMITS][:COMMITS_READ]
    read, unread = [], []
    for instant in newest:
        try:
            read.append((instant, reader.read_commit_metadata(base, timeline.properties, instant)))
        except TimelineError as error:
            unread.append(f"{instant.action} {instant.time} cannot be read: {error}")
    return tuple(read), tuple(unread)


def _clean_plan(reader: TimelineReader, base: Location, timeline: Timeline) -> CleanPlan | None:
    newest = next((one for one in reversed(timeline.completed) if one.action is Action.CLEAN), None)
    if newest is None:
        return None
    try:
        plan = reader.read_content(base, timeline.properties, newest, State.REQUESTED)
    except TimelineError:
        return None
    return plan if isinstance(plan, CleanPlan) else None


def _has_archive(filesystem: FileSystem, base: Location, timeline: Timeline) -> bool:
    try:
        listing = filesystem.list_directory((base / timeline.properties.archive_path).path, limit=_ARCHIVE_LIMIT)
    except StorageError as error:
        if error.kind is StorageErrorKind.TOO_LARGE:
            return True
        if error.kind is StorageErrorKind.NOT_FOUND:
            return False
        raise
    return any(not name.endswith((".crc", "_$folder$")) for name in listing.names if name)


_THIS_OPERATOR = "this operator"
# Prefixes of the keys under which each kind of program stores its progress in Hudi's commits.
_KINDS = (
    ("hudi-operator.", _THIS_OPERATOR),
    ("deltastreamer.checkpoint.", "Hudi Streamer"),
    ("streamer.checkpoint.", "Hudi Streamer"),
    ("_hudi_streaming_sink_checkpoint", "Spark Structured Streaming"),
    ("flink", "Flink"),
    ("kafka.", "Kafka Connect"),
)
_UNNAMED = "a program without a checkpoint in its commits, such as a DataFrame or Spark SQL job"
_SHOWN = 8
_KEYS_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Writer:
    """Commits of a kind of program and operation; `every` is the usual time between two commits.

    `checkpoint` is the progress in the newest of them.
    """

    program: str
    operation: str
    commits: int
    last: str
    every: timedelta | None
    keys: tuple[str, ...]
    checkpoint: str | None

    @property
    def sentence(self) -> str:
        """A sentence describing this writer for a person."""
        often = f", a commit every {_rough(self.every)}" if self.every else ""
        keys = f"; keys in its commits: {', '.join(map(printable, self.keys[:_KEYS_SHOWN]))}" if self.keys else ""
        progress = f"; its newest checkpoint: {printable(self.checkpoint)}" if self.checkpoint else ""
        last = f", the last at {self.last}"
        return f"{self.commits} x {printable(self.operation)} by {self.program}{often}{last}{keys}{progress}"


def writers_of(commits: Iterable[tuple[Instant, CommitMetadata]], properties: TableProperties) -> tuple[Writer, ...]:
    """Return the writers that brought rows into a table, most commits first."""
    groups: dict[tuple[str, str], list[tuple[Instant, CommitMetadata]]] = {}
    for instant, metadata in commits:
        if not is_service(instant, metadata, properties):
            key = _program(metadata), metadata.operation or "UNKNOWN"
            groups.setdefault(key, []).append((instant, metadata))
    found = [_writer(program, operation, ones) for (program, operation), ones in groups.items()]
    return tuple(sorted(found, key=lambda one: (-one.commits, one.program, one.operation))[:_SHOWN])


def several(writers: Iterable[Writer]) -> bool:
    """Tell whether these are certainly different programs."""
    return len({one.program for one in writers}) > 1


def _program(metadata: CommitMetadata) -> str:
    keys = sorted(metadata.extra_metadata)
    return next((name for prefix, name in _KINDS for key in keys if key.startswith(prefix)), _UNNAMED)


def _writer(program: str, operation: str, commits: Sequence[tuple[Instant, CommitMetadata]]) -> Writer:
    newest, metadata = max(commits, key=lambda one: one[0].time)
    times = sorted(time for instant, _ in commits if (time := wall_time(instant.time)) is not None)
    between = [after - before for before, after in pairwise(times)]
    extra = metadata.extra_metadata
    progress = sorted(key for key in extra for prefix, name in _KINDS if key.startswith(prefix) and name == program)
    own = program == _THIS_OPERATOR
    return Writer(
        program=program,
        operation=operation,
        commits=len(commits),
        last=newest.time,
        every=median_low(between) if between else None,
        keys=tuple(sorted(key for key in extra if key != "schema")),
        checkpoint=extra[progress[0]] if progress and not own else None,
    )


def _rough(span: timedelta) -> str:
    seconds = max(round(span.total_seconds()), 0)
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "m")):
        if seconds >= 2 * size:
            return f"{round(seconds / size)}{unit}"
    return f"{seconds}s"
