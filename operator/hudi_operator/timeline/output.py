"""Renders a timeline: as text for people, and as a JSON document whose field names are a contract."""

from collections.abc import Iterator, Sequence
from typing import Any

from hudi_jobs.contract.wording import escaped
from hudi_operator.timeline.archive import ArchivedTimeline
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


_HEADER = ("TIME", "ACTION", "STATE", "COMPLETED AT")


def timeline_table(path: str, timeline: Timeline, archive: ArchivedTimeline | None = None) -> str:
    """Return the text for a table: its properties, instants, counters and problems."""
    return "\n".join(map(escaped, _lines(path, timeline, archive)))


def _lines(path: str, timeline: Timeline, archive: ArchivedTimeline | None) -> Iterator[str]:
    properties = timeline.properties
    yield (
        f"{properties.name} ({path}): {properties.table_type.declared}, table version {properties.version}, "
        f"timeline layout {int(properties.layout)}, instants in {properties.timezone} time"
    )
    if archive is not None:
        yield ""
        yield f"Archived ({len(archive.instants)})"
        yield from _columns([_HEADER, *map(_row, archive.instants)])
        yield ""
        yield f"Active ({len(timeline.instants)})"
    else:
        yield ""
    yield from _columns([_HEADER, *map(_row, timeline.instants)])
    yield ""
    yield from _columns(list(_counts(timeline.counters)))
    problems = (*timeline.problems, *(archive.problems if archive else ()))
    if problems:
        yield ""
        yield "Problems"
        yield from (f"  {problem.file}: {problem.reason}" for problem in problems)


def _row(instant: Instant) -> tuple[str, ...]:
    return (instant.time, instant.action, instant.state, instant.completed_at or "")


def _counts(counters: Counters) -> Iterator[tuple[str, ...]]:
    yield "Completed commits", str(counters.completed_commits)
    yield (
        "Delta commits since compaction",
        _number(counters.delta_commits_since_compaction, counters.delta_commits_since_compaction_bounds),
    )
    yield "Delta commits since compaction request", _number(counters.delta_commits_since_compaction_request)
    yield (
        "Commits since clustering",
        _number(counters.commits_since_clustering, counters.commits_since_clustering_bounds),
    )
    yield "Commits since clean", _number(counters.commits_since_clean, counters.commits_since_clean_bounds)
    yield "Pending compactions", _times(counters.pending_compactions)
    yield "Pending log compactions", _times(counters.pending_log_compactions)
    yield "Pending clusterings", _times(counters.pending_clusterings)
    yield "Writes in progress", _instants(counters.inflight_writes)
    yield "Savepoints", _times(counters.savepoints)
    yield "Last compaction", counters.last_compaction or "none"
    yield (
        "Last clustering",
        counters.last_clustering or ("none" if counters.commits_since_clustering is not None else "?"),
    )
    yield "Last clean", counters.last_clean or "none"
    yield "Earliest pending", _instants((counters.earliest_pending,) if counters.earliest_pending else ())


def _number(count: int | None, bounds: Bounds | None = None) -> str:
    if count is not None:
        return str(count)
    return f"? ({f'between {bounds[0]} and {bounds[1]}, ' if bounds else ''}see the problems)"


def _times(times: Sequence[str] | None) -> str:
    if times is None:
        return "? (see the problems)"
    return ", ".join(times) or "none"


def _instants(instants: Sequence[Instant] | None) -> str:
    if instants is None:
        return "? (see the problems)"
    return ", ".join(f"{one.time} {one.action} {one.state}" for one in instants) or "none"


def _columns(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
