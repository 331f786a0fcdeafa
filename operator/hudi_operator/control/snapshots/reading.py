"""Gathers a snapshot of a table's timeline, its owner and its progress, within bounds on reads and memory."""

import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice

from hudi_jobs.contract import (
    CHECKPOINT_KEY,
    INDEX_KEY,
    OPERATOR_FILE_LIMIT,
    OPERATOR_FOLDER,
    OPERATOR_KEY,
    OWNER_FILE,
    PROGRESS_FILE,
    QUARANTINED_KEY,
    RUN_KEY,
    TABLE_KEY,
    CatalogRecord,
    Location,
    OwnerRecord,
    Progress,
    UnreadableOwner,
    checkpoint_display,
    decode_catalog,
    decode_owner,
    decode_progress,
)
from hudi_jobs.contract.catalogs.catalog import CATALOG_FILE
from hudi_jobs.contract.operator_folder import TOLD_FILE, TOLD_LIMIT, OperationTold, decode_told
from hudi_jobs.contract.run_progress import RunProgress, decode_run_progress
from hudi_jobs.contract.statistics import STATISTICS_FILE, TableStatistics, decode_statistics
from hudi_operator.api.status.runs import PENDING_REMEMBERED
from hudi_operator.jobs.sizing import PlanSize
from hudi_operator.planning.model import Damaged, Mark, TimelineSnapshot, Undoing
from hudi_operator.services.registry import PLAN_KINDS
from hudi_operator.storage import FileSystem, StorageError, StorageErrorKind
from hudi_operator.timeline import (
    Action,
    CommitMetadata,
    CorruptContent,
    Instant,
    InstantContentMissing,
    TableUnreadable,
    Timeline,
    TimelineReader,
    TimelineZone,
    pending_instants,
)
from hudi_operator.timeline.content.plans import PlanSummary
from hudi_operator.timeline.facts import read_facts, read_metadata_table
from hudi_operator.timeline.rules.changes import completed_changes
from hudi_operator.timeline.rules.file_sizes import SMALL_FILE_LIMIT, FileSummary, summarise_files
from hudi_operator.timeline.table_reader import commit_problem, completed_commits


def read_owner(filesystem: FileSystem, base: Location) -> tuple[OwnerRecord | None, str]:
    """Return the owner record in a table's folder; for an unusable record, None and the reason.

    Raises `StorageError` if the store does not answer.
    """
    place = (base / OPERATOR_FOLDER / OWNER_FILE).path
    try:
        return decode_owner(filesystem.read_file(place, limit=OPERATOR_FILE_LIMIT)), ""
    except StorageError as error:
        if error.kind is StorageErrorKind.NOT_FOUND:
            return None, ""
        if error.kind is not StorageErrorKind.TOO_LARGE:
            raise
        why = str(error).rstrip(".")
    except UnreadableOwner as error:
        why = str(error)
    return None, (
        f"The record of the table's owner cannot be used: {why}. Another operator may own the table, so nothing "
        f"starts. If no other operator does, remove the file {OPERATOR_FOLDER}/{OWNER_FILE} from the table's folder."
    )


def read_progress(filesystem: FileSystem, base: Location) -> Progress | None:
    """Return the progress document in a table's folder, or None if missing or invalid.

    Raises `StorageError` if the store does not answer.
    """
    content = _read(filesystem, (base / OPERATOR_FOLDER / PROGRESS_FILE).path, OPERATOR_FILE_LIMIT)
    return None if content is None else decode_progress(content)


def read_told(filesystem: FileSystem, base: Location) -> OperationTold | None:
    """Return the report of a table's newest operation, as `read_progress` does."""
    content = _read(filesystem, (base / OPERATOR_FOLDER / TOLD_FILE).path, TOLD_LIMIT)
    return None if content is None else decode_told(content)


def read_statistics(filesystem: FileSystem, base: Location) -> TableStatistics | None:
    """Return the statistics document in a table's folder, as `read_progress` does."""
    content = _read(filesystem, (base / OPERATOR_FOLDER / STATISTICS_FILE).path, OPERATOR_FILE_LIMIT)
    return None if content is None else decode_statistics(content)


def read_catalog(filesystem: FileSystem, base: Location) -> CatalogRecord | None:
    """Return the record of the last sync of a table's catalog, as `read_progress` does."""
    content = _read(filesystem, (base / OPERATOR_FOLDER / CATALOG_FILE).path, OPERATOR_FILE_LIMIT)
    return None if content is None else decode_catalog(content)


def read_run_progress(filesystem: FileSystem, base: Location, leases: Iterable[str]) -> tuple[RunProgress, ...]:
    """Return what the drivers at work report in these leases; an unreadable lease reports nothing."""
    found: list[RunProgress | None] = []
    for name in leases:
        with suppress(StorageError):
            content = _read(filesystem, (base / OPERATOR_FOLDER / name).path, OPERATOR_FILE_LIMIT)
            found.append(None if content is None else decode_run_progress(content))
    return tuple(one for one in found if one is not None)


def _read(filesystem: FileSystem, place: str, limit: int) -> bytes | None:
    """Return the content from a single request: the file is rewritten often, and may become shorter."""
    try:
        return filesystem.read_file(place, limit=limit)
    except StorageError as error:
        if error.kind in {StorageErrorKind.NOT_FOUND, StorageErrorKind.TOO_LARGE}:
            return None
        raise


_COMMITS_READ = 10
"""The number of newest commits to read metadata of; they always include a serialized table's last run."""

_COMMITS_CHECKED = 100
"""The most older commits to check for other writers in a read; later reads continue after them."""

_PENDING_DATED = 10
"""The number of oldest pending instants to ask the store for their age."""

_PLANS_READ = 20
"""The most pending plans to read, oldest first; authors of the rest are unknown, so they are left alone."""

_UNDOINGS_READ = 10
"""The number of newest rollbacks and restores, and of oldest pending rollbacks, to read."""

_FILES_SUMMED = 40_000
"""The most files of the newest commits to sum up; with more, file sizes are unknown."""

_FILES_PASSED = 40_000
"""The most files in older commits that are only checked; a read ends with the commit that exceeds it."""

_INSTANT_BYTES = 300
"""About what an instant of a timeline takes in memory."""

_INDEX_SHOWN = 64
_NAME_SHOWN = 330
_ROWS_DIGITS = 15
_OPERATION_SHOWN = 64


@dataclass(frozen=True, kw_only=True)
class Questions:
    """The questions of a table's spec to its files and timeline.

    `small_file_limit` is the size in bytes below which base files count as small. `live` ignores all caches, even the
    table's existence; use it before an irreversible action.
    """

    live: bool = False
    progress: bool = False
    """Whether to read the progress report of a continuous ingestion."""
    operation: bool = False
    """Whether to read the report of an operation."""
    catalog: bool = False
    """Whether to read the record of the last sync of the catalog."""
    checked_up_to: str | None = None
    """Check every commit that completed after this instant for other writers, not only the newest."""
    small_file_limit: int = SMALL_FILE_LIMIT
    runs: tuple[str, ...] = ()
    """The last runs of the table's services: after another run, the statistics may be new."""
    leases: tuple[str, ...] = ()
    """The leases to read the progress of runs from."""
    is_running: bool = False
    """Whether a run may write statistics at any time."""


NO_QUESTIONS = Questions()


def read_snapshot(reader: TimelineReader, base: Location, questions: Questions) -> TimelineSnapshot:
    """Read a table's timeline, its newest commits and its oldest plans."""
    timeline = reader.read(base, full=questions.live)
    commits, damaged = _commits(reader, base, timeline)
    older = _older(reader, base, timeline, questions, {*(one for one, _ in commits), *(one.instant for one in damaged)})
    all_commits = (*commits, *older.commits)
    all_extras = [(instant, metadata.extra_metadata) for instant, metadata in all_commits]
    extras = [(instant, metadata.extra_metadata) for instant, metadata in commits]
    checkpoint = next((extra[CHECKPOINT_KEY] for _, extra in extras if CHECKPOINT_KEY in extra), None)
    plans = _plans(reader, base, timeline)
    return TimelineSnapshot(
        timeline=timeline,
        checkpoint=checkpoint_display(checkpoint),
        checkpoint_digest=hashlib.sha256(checkpoint.encode(errors="surrogatepass")).hexdigest() if checkpoint else None,
        index=next((extra[INDEX_KEY][:_INDEX_SHOWN] for _, extra in extras if INDEX_KEY in extra), None),
        runs=tuple((extra[RUN_KEY][:_NAME_SHOWN], instant.time) for instant, extra in all_extras if RUN_KEY in extra),
        marks=_marks(all_extras),
        unmarked=tuple(instant for instant, extra in all_extras if RUN_KEY not in extra),
        operations=tuple(
            (instant.time, metadata.operation[:_OPERATION_SHOWN])
            for instant, metadata in all_commits
            if metadata.operation
        ),
        read_up_to=older.read_up_to,
        files=None if damaged else _files(commits, questions),
        damaged=(*damaged, *older.damaged),
        facts=read_facts(reader, base, timeline, commits, changed_at=_changed_at(all_extras)),
        written=_written(reader, base, timeline),
        plans=tuple((instant.time, PlanSize(bytes=plan.read_bytes, groups=plan.groups)) for instant, plan in plans),
        planned=_marks((instant, plan.extra_metadata) for instant, plan in plans),
        heartbeats=tuple(_heartbeats(reader, base, timeline)),
        undoings=tuple(_undoings(reader, base, timeline)),
        metadata=_metadata(reader, base, timeline, questions),
        statistics=_statistics(reader, base, timeline, questions),
    )


_Commits = tuple[tuple[Instant, CommitMetadata], ...]


def _commits(reader: TimelineReader, base: Location, timeline: Timeline) -> tuple[_Commits, tuple[Damaged, ...]]:
    """Return the newest commits and the damaged commits; commits with very many files keep only their marks."""
    left = _FILES_SUMMED
    understood: list[tuple[Instant, CommitMetadata]] = []
    damaged: list[Damaged] = []
    for instant, found in islice(reader.newest_commits(base, timeline), _COMMITS_READ):
        if isinstance(found, CorruptContent):
            problem = commit_problem(instant, timeline.properties, found)
            damaged.append(Damaged(instant=instant, problem=problem))
            continue
        left -= _files_named(found)
        understood.append((instant, found if left >= 0 else _marks_only(found)))
    return tuple(understood), tuple(damaged)


def _files_named(commit: CommitMetadata) -> int:
    return len(commit.write_stats) + sum(map(len, commit.replaced_file_ids.values()))


def _marks_only(commit: CommitMetadata) -> CommitMetadata:
    return replace(commit, write_stats=(), replaced_file_ids={}, complete=False)


@dataclass(frozen=True, kw_only=True)
class _Older:
    """Older commits, newest first, with only their marks kept."""

    commits: _Commits = ()
    damaged: tuple[Damaged, ...] = ()
    read_up_to: str | None = None
    """The completion up to which commits were read, unless all were."""


def _older(
    reader: TimelineReader, base: Location, timeline: Timeline, questions: Questions, read: Collection[Instant]
) -> _Older:
    """Read commits not yet checked for other writers, oldest first, so that later reads continue there.

    A driver that commits every few seconds makes more than the newest commits while the operator or the store is away.
    """
    checked = questions.checked_up_to
    if checked is None:
        return _Older()
    wanted = [one for one in completed_commits(timeline) if one.completion > checked and one not in read]
    understood: list[tuple[Instant, CommitMetadata]] = []
    damaged: list[Damaged] = []
    following, left = 0, _FILES_PASSED
    for instant, found in reader.read_commits(base, timeline.properties, wanted[:_COMMITS_CHECKED]):
        following = wanted.index(instant, following) + 1
        if isinstance(found, CorruptContent):
            damaged.append(Damaged(instant=instant, problem=commit_problem(instant, timeline.properties, found)))
            continue
        understood.append((instant, _marks_only(found)))
        left -= _files_named(found)
        if left < 0:
            break
    unread = wanted[following:]
    before = (one.completion for one in wanted[:following] if unread and one.completion < unread[0].completion)
    return _Older(
        commits=tuple(reversed(understood)),
        damaged=tuple(reversed(damaged)),
        read_up_to=max(before, default=checked) if unread else None,
    )


def _files(commits: Sequence[tuple[Instant, CommitMetadata]], questions: Questions) -> FileSummary | None:
    """Sum up the files of the newest commits, or return None if any commit is incomplete."""
    if not all(metadata.complete for _, metadata in commits):
        return None
    return summarise_files(commits, small_file_limit=questions.small_file_limit)


def _statistics(
    reader: TimelineReader, base: Location, timeline: Timeline, questions: Questions
) -> TableStatistics | None:
    """Return the statistics of this table and version; the document is read once after each change and run."""
    newest = max(completed_changes(timeline), default="")

    def lasts(found: TableStatistics | None) -> bool:
        return not questions.is_running or (found is not None and found.as_of == newest)

    found = reader.once(
        base,
        "statistics",
        (newest, questions.runs),
        lambda files, place: read_statistics(files.filesystem, place),
        lasts=lasts,
    )
    # A newer document is about another table that was at this place, and an upgrade moves completions.
    is_of_this = found is not None and found.table_version == timeline.properties.version and found.as_of <= newest
    return found if is_of_this else None


def _metadata(reader: TimelineReader, base: Location, timeline: Timeline, questions: Questions) -> Timeline | None:
    """Return the metadata table's timeline, read once after each change; without it, more commits seem archivable."""
    if questions.live:
        return _readable_metadata(reader, base, timeline)
    change = (max((one.completion for one in timeline.completed), default=""), len(timeline.completed))
    return reader.once(
        base,
        "metadata",
        change,
        lambda _, place: _readable_metadata(reader, place, timeline),
        lasts=lambda found: found is not None,
        size=lambda found: 0 if found is None else _INSTANT_BYTES * len(found.instants),
    )


def _readable_metadata(reader: TimelineReader, base: Location, timeline: Timeline) -> Timeline | None:
    try:
        return read_metadata_table(reader, base, timeline)
    except (TableUnreadable, CorruptContent):
        return None


def _changed_at(extras: Iterable[tuple[Instant, Mapping[str, str]]]) -> str | None:
    """Return the newest recent commit of another tool, which may have changed the schema history."""
    return next((instant.time for instant, extra in extras if RUN_KEY not in extra), None)


def _marks(extras: Iterable[tuple[Instant, Mapping[str, str]]]) -> tuple[Mark, ...]:
    """Return the run named in each commit or plan; those without a run are left out."""
    return tuple(
        Mark(
            instant=instant,
            run=extra[RUN_KEY][:_NAME_SHOWN],
            table_uid=_shown(extra.get(TABLE_KEY)),
            operator=_shown(extra.get(OPERATOR_KEY)),
            rows_quarantined=_rows(extra.get(QUARANTINED_KEY)),
        )
        for instant, extra in extras
        if RUN_KEY in extra
    )


def _rows(text: str | None) -> int | None:
    return int(text) if text and len(text) <= _ROWS_DIGITS and text.isascii() and text.isdecimal() else None


def _shown(name: str | None) -> str | None:
    return name and name[:_NAME_SHOWN]


_Plans = tuple[tuple[Instant, PlanSummary], ...]


def _plans(reader: TimelineReader, base: Location, timeline: Timeline) -> _Plans:
    """Read the oldest pending plans; an unreadable plan is left out."""
    found: list[tuple[Instant, PlanSummary]] = []
    planned = [one.instant for one in pending_instants(timeline) if one.kind in PLAN_KINDS]
    for instant in planned[:_PLANS_READ]:
        with suppress(InstantContentMissing, CorruptContent):
            found.append((instant, reader.read_plan(base, timeline.properties, instant)))
    return tuple(found)


def _undoings(reader: TimelineReader, base: Location, timeline: Timeline) -> Iterator[Undoing]:
    """Yield the rollbacks and restores with their targets; unreadable instants are left out."""
    done = [one for one in timeline.completed if one.action in {Action.ROLLBACK, Action.RESTORE}]
    begun = [one for one in timeline.pending if one.action is Action.ROLLBACK]
    for instant in (*done[-_UNDOINGS_READ:], *begun[:_UNDOINGS_READ]):
        with suppress(InstantContentMissing, CorruptContent):
            yield Undoing.of(instant, reader.read_targets(base, timeline.properties, instant))


def _heartbeats(reader: TimelineReader, base: Location, timeline: Timeline) -> Iterator[tuple[str, int]]:
    """Yield the heartbeats of the oldest pending instants, of dead and living writers alike."""
    for instant in islice(timeline.pending, PENDING_REMEMBERED):
        beat = reader.heartbeat(base, instant)
        if beat is not None:
            yield instant.time, beat


def _written(reader: TimelineReader, base: Location, timeline: Timeline) -> tuple[tuple[str, int], ...]:
    """Return the write times of pending instants if their own times are in an unknown zone."""
    if timeline.properties.timezone is TimelineZone.UTC:
        return ()
    times = ((one.time, reader.written_at(base, timeline.properties, one)) for one in timeline.pending[:_PENDING_DATED])
    return tuple((time, written) for time, written in times if written is not None)
