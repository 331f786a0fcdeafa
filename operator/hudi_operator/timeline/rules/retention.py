"""Predicts the finds of cleaning and archival by the rules of Hudi 1.2.0. Pure functions of a timeline."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hudi_operator.timeline.model import Action, Instant, Layout, Timeline
from hudi_operator.timeline.rules.counters import COMMITS

# `HoodieTimeline.getWriteTimeline` and `getCommitsAndCompactionTimeline`.
_WRITES = COMMITS | {Action.COMPACTION, Action.LOG_COMPACTION}
_COMMITS_AND_COMPACTIONS = COMMITS | {Action.COMPACTION}
_REPLACES = frozenset({Action.REPLACE_COMMIT, Action.CLUSTERING})
_ARCHIVED_ALONG = (Action.CLEAN, Action.ROLLBACK)


class ArchivalHold(StrEnum):
    """Why commits beyond the number to keep stay in the active timeline."""

    PENDING_INSTANT = "PendingInstant"
    COMPACTION = "Compaction"
    """Compaction counts delta commits in the active timeline."""
    REPLACED_FILES = "ReplacedFiles"
    """Replaced files of a clustering or overwrite have not been cleaned yet, or the replace is pending."""
    METADATA_TABLE = "MetadataTable"
    """The metadata table was not compacted after these commits."""
    SAVEPOINT = "Savepoint"


@dataclass(frozen=True, slots=True, kw_only=True)
class Archivable:
    """The instants that an archival would move out of the active timeline now.

    `commits` are completed commits, delta commits and replace commits; `others` completed cleans and rollbacks. `held`
    is the reason why commits beyond the number to keep stay, and `held_from` the first instant time that stays (empty:
    all stay).
    """

    commits: int
    others: int
    held: ArchivalHold | None = None
    held_from: str | None = None


def earliest_to_retain(timeline: Timeline, *, retain_commits: int) -> str | None:
    """Return the oldest commit with files that a KeepLatestCommits clean keeps, or None if it keeps all.

    Follows `CleanerUtils.getEarliestCommitToRetain`, as `CleanPlanner` calls it: never after the earliest pending
    commit, compaction or clustering.
    """
    return _earliest_to_retain(timeline, retain_commits, _COMMITS_AND_COMPACTIONS)


def clean_would_find(timeline: Timeline, *, retain_commits: int) -> bool | None:
    """Tell whether a KeepLatestCommits clean has commits to examine since the last clean.

    Follows `CleanPlanner.getPartitionPathsForCleanByCommits`. False is certain: the clean would find no file. True
    means that it examines commits; it may still find no file, for instance after commits that only added files. None:
    the last clean's metadata is unreadable. Failed writes, which a clean rolls back first, are not considered.
    """
    earliest = earliest_to_retain(timeline, retain_commits=retain_commits)
    if earliest is None:
        return False
    counters = timeline.counters
    if counters.last_clean is None:
        return True
    clean = counters.clean
    if clean is None:
        return None
    commits = [instant for instant in timeline.instants if instant.action in COMMITS]
    looks_at_all = (
        not clean.earliest_retained
        or clean.earliest_retained < commits[0].time
        or not set(clean.savepoints) <= set(counters.savepoints)
    )
    return looks_at_all or any(one.is_completed and clean.earliest_retained <= one.time < earliest for one in commits)


def archivable(
    timeline: Timeline,
    *,
    min_commits: int,
    max_commits: int,
    retain_commits: int | None = None,
    compaction_delta_commits: int | None = None,
    metadata: Timeline | None = None,
) -> Archivable | None:
    """Return the instants that an archival would take, or None if unknown.

    Follows `TimelineArchiverV1`/`V2.getInstantsToArchive` with `ArchivalUtils.getMinAndMaxInstantsToKeep`: more than
    `max_commits` completed commits start it, `min_commits` stay. `retain_commits` is the cleaner's under
    KeepLatestCommits, None under another policy; `compaction_delta_commits` is the threshold if their number triggers
    compaction (NumCommits, NumAndTime), else None. `metadata` is the timeline of the metadata table. Without it (if the
    table has one and the writer uses it) the answer is an upper bound, because commits after the metadata table's last
    compaction are not archived. Not for the metadata table itself.
    """
    low, high = _limits(timeline, min_commits=min_commits, max_commits=max_commits, retain_commits=retain_commits)
    commits = [instant for instant in timeline.completed if instant.action in COMMITS]
    beyond = len(commits) - low if len(commits) > high else 0
    if beyond and not _is_certain(timeline):
        return None
    bounds = list(_bounds(timeline, commits, compaction_delta_commits, metadata)) if beyond else []
    held_from, held = min(bounds, default=(None, None))
    free = sum(1 for instant in commits if held_from is None or instant.time < held_from)
    taken = commits[: min(beyond, free)]
    others = _archived_along(timeline, taken, low=low, high=high, metadata=metadata)
    if free >= beyond:
        return Archivable(commits=len(taken), others=others)
    return Archivable(commits=len(taken), others=others, held=held, held_from=held_from)


def _limits(timeline: Timeline, *, min_commits: int, max_commits: int, retain_commits: int | None) -> tuple[int, int]:
    """Raise the limits to the needs of cleaning (`ArchivalUtils.getMinAndMaxInstantsToKeep`)."""
    earliest = None if retain_commits is None else _earliest_to_retain(timeline, retain_commits, COMMITS)
    if earliest is None:
        return min_commits, max_commits
    needed = 2 + sum(1 for one in timeline.completed if one.action in COMMITS and one.time > earliest)
    return (needed, needed + max_commits - min_commits) if min_commits < needed else (min_commits, max_commits)


def _earliest_to_retain(timeline: Timeline, retain_commits: int, actions: frozenset[Action]) -> str | None:
    instants = [instant for instant in timeline.instants if instant.action in actions]
    completed = [instant.time for instant in instants if instant.is_completed]
    if retain_commits < 1 or len(completed) <= retain_commits:
        return None
    wanted = completed[-retain_commits]
    pending = next((instant.time for instant in instants if not instant.is_completed), None)
    if pending is None or wanted <= pending:
        return wanted
    return max((time for time in completed if time < pending), default=None)


def _is_certain(timeline: Timeline) -> bool:
    counters = timeline.counters
    has_replaces = any(instant.action in _REPLACES for instant in timeline.instants)
    return not has_replaces or counters.last_clean is None or counters.clean is not None


def _bounds(
    timeline: Timeline, commits: Sequence[Instant], compaction_delta_commits: int | None, metadata: Timeline | None
) -> Iterator[tuple[str, ArchivalHold]]:
    """Yield the first instant time to keep for each reason."""
    pending = next((one.time for one in timeline.pending if one.action in _WRITES), None)
    if pending is not None:
        yield max((one.time for one in commits if one.time < pending), default=pending), ArchivalHold.PENDING_INSTANT
    if compaction_delta_commits is not None and timeline.properties.is_merge_on_read:
        needed = _needed_for_compaction(timeline, compaction_delta_commits)
        if needed is not None:
            yield needed, ArchivalHold.COMPACTION
    replaced = _first_uncleaned_replace(timeline)
    if replaced is not None:
        yield replaced, ArchivalHold.REPLACED_FILES
    if metadata is not None:
        merged = _not_in_metadata(commits, metadata)
        if merged is not None:
            yield merged, ArchivalHold.METADATA_TABLE
    if timeline.counters.savepoints:
        yield timeline.counters.savepoints[0], ArchivalHold.SAVEPOINT


def _needed_for_compaction(timeline: Timeline, threshold: int) -> str | None:
    """Return the first instant that compaction needs (`CompactionUtils.getEarliestInstantToRetainForCompaction`).

    Without completion times, requested times decide. If the counted delta commits are unknown, all are taken: Hudi
    keeps no more than that.
    """
    deltas = [instant for instant in timeline.instants if instant.action is Action.DELTA_COMMIT]
    compaction = next((one for one in reversed(timeline.completed) if one.action is Action.COMMIT), None)
    if compaction is not None and timeline.counters.delta_commits_since_compaction is not None:
        start = compaction.time
        deltas = [one for one in deltas if one.time != start and one.completion > start]
    if len(deltas) >= threshold > 0:
        return deltas[-threshold].time
    first = compaction or (deltas[0] if deltas else None)
    return first.time if first else None


def _first_uncleaned_replace(timeline: Timeline) -> str | None:
    """Follows `ClusteringUtils.getEarliestInstantToRetainForClustering`."""
    replaces = [instant for instant in timeline.instants if instant.action in _REPLACES]
    clean, cleaned_at = timeline.counters.clean, timeline.counters.last_clean
    start = ""
    if clean is not None and cleaned_at is not None:
        start = clean.earliest_retained or cleaned_at
        saved = min(clean.savepoints, default=None)
        # A savepoint removed since then may have spared replaced files, which the next clean takes.
        if saved is not None and saved < clean.earliest_retained:
            spared = [one for one in replaces if one.is_completed and saved <= one.time <= clean.earliest_retained]
            start = saved if spared else start
    return next((one.time for one in replaces if one.time >= start), None)


def _not_in_metadata(commits: Sequence[Instant], metadata: Timeline) -> str | None:
    """Return the first commit after the metadata table's last compaction; empty (all) without a compaction."""
    compaction = _metadata_compaction(metadata)
    if compaction is None:
        return ""
    if metadata.properties.layout is Layout.ONE:
        return compaction
    before = [one for one in commits if one.time <= compaction]
    if before and before[-1].completed_at is None:
        # An upgrade left this file under its old name. A commit compacts the metadata table before it completes.
        return before[-1].time
    return next((one.time for one in commits if one.completion > compaction), None)


def _metadata_compaction(metadata: Timeline) -> str | None:
    """Follows `HoodieBackedTableMetadata.getLatestCompactionTime`."""
    kinds = {Action.COMMIT, Action.REPLACE_COMMIT}
    return next((one.time for one in reversed(metadata.completed) if one.action in kinds), None)


def _archived_along(
    timeline: Timeline, taken: Sequence[Instant], *, low: int, high: int, metadata: Timeline | None
) -> int:
    """Count the archived cleans and rollbacks: before the last commit in layout 2, by their own number in layout 1."""
    found = {action: [one for one in timeline.completed if one.action is action] for action in _ARCHIVED_ALONG}
    if timeline.properties.layout is Layout.TWO:
        return sum(1 for ones in found.values() for one in ones if taken and one.time < taken[-1].time)
    going = [one for ones in found.values() if len(ones) > high for one in ones[: len(ones) - low]]
    if metadata is None:
        return len(going)
    compaction = _metadata_compaction(metadata) or ""
    return sum(1 for one in going if one.time < compaction)
