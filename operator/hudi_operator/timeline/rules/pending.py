"""Classifies the work behind each pending instant."""

from dataclasses import dataclass
from enum import StrEnum

from hudi_operator.timeline.model import Action, Instant, Timeline
from hudi_operator.timeline.rules.counters import COMMITS


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
