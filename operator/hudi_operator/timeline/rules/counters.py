"""Counts instants by the rules of Hudi 1.2.0, and classifies the work behind each pending instant. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from hudi_operator.timeline.files.names import InstantFiles
from hudi_operator.timeline.model import (
    Action,
    Bounds,
    CleanSummary,
    Counters,
    Instant,
    State,
    TableProperties,
    Timeline,
)

COMMITS = frozenset({Action.COMMIT, Action.DELTA_COMMIT, Action.REPLACE_COMMIT, Action.CLUSTERING})
_CLUSTERING_OR_REPLACE = frozenset({Action.CLUSTERING, Action.REPLACE_COMMIT})


class Contents(Protocol):
    """Answers the counters' questions about file content. None means unknown."""

    def is_clustering(self, entry: InstantFiles) -> bool | None:
        """Tell whether a replacecommit is a clustering (`ClusteringUtils.isClusteringInstant`)."""
        ...

    def clean_summary(self, entry: InstantFiles) -> CleanSummary | None:
        """Return how far a completed clean went."""
        ...

    def completed_after(self, entry: InstantFiles, compaction: InstantFiles) -> bool | None:
        """Tell whether an instant older than a compaction completed after the compaction's request."""
        ...


@dataclass(frozen=True, slots=True)
class _ClusteringView:
    last: InstantFiles | None
    maybe_last: InstantFiles | None
    """The newest possible clustering after `last`."""
    pending: tuple[InstantFiles, ...]
    pending_certain: bool


def count(entries: Sequence[InstantFiles], properties: TableProperties, contents: Contents) -> Counters:
    """Count everything that decisions need."""
    completed = [entry for entry in entries if entry.instant.state is State.COMPLETED]
    pending = [entry for entry in entries if entry.instant.state is not State.COMPLETED]
    commits = [entry.instant for entry in completed if entry.instant.action in COMMITS]
    compaction = _last_compaction(completed)
    clustering = _clustering(entries, contents)
    clean = _last(completed, Action.CLEAN)
    summary = contents.clean_summary(clean) if clean else None
    deltas = _delta_commits_since(compaction, completed, contents)
    since_clustering = _commits_since_clustering(clustering, commits)
    since_clean = _commits_since_clean(clean, summary, commits)
    return Counters(
        delta_commits_since_compaction=_exact(deltas),
        delta_commits_since_compaction_bounds=_doubt(deltas),
        delta_commits_since_compaction_request=_delta_commits_since_request(compaction, entries, pending),
        commits_since_clustering=_exact(since_clustering),
        commits_since_clustering_bounds=_doubt(since_clustering),
        commits_since_clean=_exact(since_clean),
        commits_since_clean_bounds=_doubt(since_clean),
        completed_commits=len(commits),
        pending_compactions=_times(pending, Action.COMPACTION),
        pending_log_compactions=_times(pending, Action.LOG_COMPACTION),
        pending_clusterings=_pending_clusterings(clustering),
        inflight_writes=_inflight_writes(pending, clustering),
        savepoints=_times(completed, Action.SAVEPOINT),
        last_compaction=compaction.instant.time if compaction and properties.is_merge_on_read else None,
        last_clustering=clustering.last.instant.time if clustering.last and not clustering.maybe_last else None,
        last_clean=clean.instant.time if clean else None,
        latest_completed=completed[-1].instant if completed else None,
        earliest_pending=pending[0].instant if pending else None,
        clean=summary,
    )


def _exact(bounds: Bounds) -> int | None:
    return bounds.at_least if bounds.at_least == bounds.at_most else None


def _doubt(bounds: Bounds) -> Bounds | None:
    return None if bounds.at_least == bounds.at_most else bounds


def _last(entries: Sequence[InstantFiles], action: Action) -> InstantFiles | None:
    return next((entry for entry in reversed(entries) if entry.instant.action is action), None)


def _last_compaction(completed: Sequence[InstantFiles]) -> InstantFiles | None:
    """Return the newest completed `commit`, which Hudi treats as a merge-on-read table's compaction."""
    return _last(completed, Action.COMMIT)


def _delta_commits_since(
    compaction: InstantFiles | None, completed: Sequence[InstantFiles], contents: Contents
) -> Bounds:
    """Count delta commits after the last compaction (`CompactionUtils.getCompletedDeltaCommitsSinceLatestCompaction`).

    A delta commit requested after the compaction counts for certain; an older request with an unknown completion time
    may count.
    """
    delta_commits = [entry for entry in completed if entry.instant.action is Action.DELTA_COMMIT]
    if compaction is None:
        return Bounds(len(delta_commits), len(delta_commits))
    answers = [_completed_after(entry, compaction, contents) for entry in delta_commits]
    return Bounds(answers.count(True), len(answers) - answers.count(False))


def _completed_after(entry: InstantFiles, compaction: InstantFiles, contents: Contents) -> bool | None:
    """Follows `HoodieTimeline.findInstantsModifiedAfterByCompletionTime`."""
    start = compaction.instant.time
    if entry.instant.time == start:
        return False
    if entry.instant.completed_at is not None:
        return entry.instant.completed_at > start
    return entry.instant.time > start or contents.completed_after(entry, compaction)


def _delta_commits_since_request(
    compaction: InstantFiles | None, entries: Sequence[InstantFiles], pending: Sequence[InstantFiles]
) -> int:
    """Follows `CompactionUtils.getDeltaCommitsSinceLatestCompactionRequest`: any state, by requested time."""
    base = _last(pending, Action.COMPACTION) or compaction
    start = base.instant.time if base else ""
    return sum(1 for entry in entries if entry.instant.action is Action.DELTA_COMMIT and entry.instant.time > start)


def _clustering(entries: Sequence[InstantFiles], contents: Contents) -> _ClusteringView:
    last: InstantFiles | None = None
    maybe_last: InstantFiles | None = None
    pending_certain = True
    pending: list[InstantFiles] = []
    for entry in reversed(entries):
        if entry.instant.action not in _CLUSTERING_OR_REPLACE:
            continue
        is_pending = entry.instant.state is not State.COMPLETED
        # Below the newest clustering, only pending instants matter: do not read files that no counter needs.
        if last is not None and not is_pending:
            continue
        clustering = contents.is_clustering(entry)
        if clustering is None:
            maybe_last = maybe_last or (entry if last is None else None)
            pending_certain = pending_certain and not is_pending
        elif clustering:
            last = last or entry
            if is_pending:
                pending.append(entry)
    return _ClusteringView(last, maybe_last, tuple(reversed(pending)), pending_certain)


def _commits_since_clustering(clustering: _ClusteringView, commits: Sequence[Instant]) -> Bounds:
    """Follows `ClusteringPlanActionExecutor.createClusteringPlan`."""
    start = clustering.last.instant.time if clustering.last else "0"
    latest = clustering.maybe_last.instant.time if clustering.maybe_last else start
    return _commits_after(latest, start, commits)


def _commits_since_clean(
    clean: InstantFiles | None, summary: CleanSummary | None, commits: Sequence[Instant]
) -> Bounds:
    """Follows `CleanPlanActionExecutor.getCommitsSinceLastCleaning`. A clean knows no commit younger than itself."""
    if clean is None:
        return _commits_after("", "", commits)
    if summary is None:
        return _commits_after(clean.instant.time, "", commits)
    return _commits_after(summary.last_completed_commit, summary.last_completed_commit, commits)


def _commits_after(latest: str, earliest: str, commits: Sequence[Instant]) -> Bounds:
    """Count the commits after an instant known to lie between `earliest` and `latest`."""
    return Bounds(sum(one.time > latest for one in commits), sum(one.time > earliest for one in commits))


def _times(entries: Sequence[InstantFiles], action: Action) -> tuple[str, ...]:
    return tuple(entry.instant.time for entry in entries if entry.instant.action is action)


def _pending_clusterings(clustering: _ClusteringView) -> tuple[str, ...] | None:
    if not clustering.pending_certain:
        return None
    return tuple(entry.instant.time for entry in clustering.pending)


def _inflight_writes(pending: Sequence[InstantFiles], clustering: _ClusteringView) -> tuple[Instant, ...] | None:
    """Return pending commits that are not clusterings, or None if unknown."""
    if not clustering.pending_certain:
        return None
    clusterings = {entry.instant for entry in clustering.pending}
    return tuple(
        entry.instant for entry in pending if entry.instant.action in COMMITS and entry.instant not in clusterings
    )


class PendingKind(StrEnum):
    """The work that a pending instant will do on completion."""

    WRITE = "Write"
    COMPACTION = "Compaction"
    LOG_COMPACTION = "LogCompaction"
    CLUSTERING = "Clustering"
    OTHER = "Other"
    """A clean, rollback, restore, savepoint, index or schema change; see the instant's action."""
    UNKNOWN = "Unknown"
    """A replacecommit with an unreadable request: a clustering or a write. A problem of the timeline says why."""


@dataclass(frozen=True, slots=True)
class PendingInstant:
    """A pending instant with its kind; `instant.state` tells requested from inflight."""

    instant: Instant
    kind: PendingKind


_KINDS = {
    Action.COMPACTION: PendingKind.COMPACTION,
    Action.LOG_COMPACTION: PendingKind.LOG_COMPACTION,
    Action.CLUSTERING: PendingKind.CLUSTERING,
}


def pending_instants(timeline: Timeline) -> tuple[PendingInstant, ...]:
    """Return every pending instant with its kind, oldest first.

    In layout 1, and for requests that an upgrade renamed, a pending clustering has the action replacecommit, like an
    overwrite; the request's content tells them apart (`ClusteringUtils.isClusteringInstant`).
    """
    return tuple(PendingInstant(instant, _kind(instant, timeline)) for instant in timeline.pending)


def _kind(instant: Instant, timeline: Timeline) -> PendingKind:
    if instant.action is Action.REPLACE_COMMIT:
        clusterings = timeline.counters.pending_clusterings
        if clusterings is None:
            return PendingKind.UNKNOWN
        return PendingKind.CLUSTERING if instant.time in clusterings else PendingKind.WRITE
    if instant.action in _KINDS:
        return _KINDS[instant.action]
    return PendingKind.WRITE if instant.action in COMMITS else PendingKind.OTHER
