"""Renders a timeline as text for people."""

from collections.abc import Iterator, Sequence

from hudi_jobs.contract.wording import escaped
from hudi_operator.timeline.archive import ArchivedTimeline
from hudi_operator.timeline.model import Bounds, Counters, Instant, Timeline

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
