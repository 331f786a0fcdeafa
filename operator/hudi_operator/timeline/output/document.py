"""Renders a timeline as a JSON document for programs. Its field names are a contract."""

from collections.abc import Sequence
from typing import Any

from hudi_operator.timeline.model import Bounds, Counters, Instant, Problem, TableProperties, Timeline

Document = dict[str, Any]


def timeline_document(
    path: str,
    timeline: Timeline,
    *,
    archived: Sequence[Instant] | None = None,
    archive_problems: Sequence[Problem] = (),
) -> Document:
    """Return the document of a table. `archived` is omitted if None."""
    document: Document = {
        "path": path,
        "table": _table(timeline.properties),
        "instants": [_instant(instant) for instant in timeline.instants],
        "counters": _counters(timeline.counters),
        "problems": [
            {"file": problem.file, "reason": problem.reason} for problem in (*timeline.problems, *archive_problems)
        ],
    }
    if archived is not None:
        document["archived"] = [_instant(instant) for instant in archived]
    return document


def _table(properties: TableProperties) -> Document:
    return {
        "name": properties.name,
        "type": properties.table_type.value,
        "version": properties.version,
        "layoutVersion": int(properties.layout),
        "timezone": properties.timezone.value,
    }


def _instant(instant: Instant) -> Document:
    return {
        "time": instant.time,
        "action": instant.action.value,
        "state": instant.state.value,
        "completedAt": instant.completed_at,
    }


def _counters(counters: Counters) -> Document:
    return {
        "deltaCommitsSinceCompaction": counters.delta_commits_since_compaction,
        "deltaCommitsSinceCompactionRequest": counters.delta_commits_since_compaction_request,
        "commitsSinceClustering": counters.commits_since_clustering,
        "commitsSinceClean": counters.commits_since_clean,
        "pendingCompactions": list(counters.pending_compactions),
        "pendingLogCompactions": list(counters.pending_log_compactions),
        "pendingClusterings": _list(counters.pending_clusterings),
        "inflightWrites": (
            None if counters.inflight_writes is None else [_reference(one) for one in counters.inflight_writes]
        ),
        "lastCompaction": counters.last_compaction,
        "lastClustering": counters.last_clustering,
        "lastClean": counters.last_clean,
        "latestCompleted": _reference(counters.latest_completed),
        "savepoints": list(counters.savepoints),
        "earliestPending": _reference(counters.earliest_pending),
        "completedCommits": counters.completed_commits,
        **_bounds(counters),
    }


def _bounds(counters: Counters) -> Document:
    """Return the bounds of unknown counters, or an empty document."""
    found: dict[str, Bounds | None] = {
        "deltaCommitsSinceCompaction": counters.delta_commits_since_compaction_bounds,
        "commitsSinceClustering": counters.commits_since_clustering_bounds,
        "commitsSinceClean": counters.commits_since_clean_bounds,
    }
    bounds = {name: {"atLeast": one.at_least, "atMost": one.at_most} for name, one in found.items() if one}
    return {"bounds": bounds} if bounds else {}


def _list(times: Sequence[str] | None) -> list[str] | None:
    return None if times is None else list(times)


def _reference(instant: Instant | None) -> Document | None:
    if instant is None:
        return None
    return {"time": instant.time, "action": instant.action.value, "state": instant.state.value}
