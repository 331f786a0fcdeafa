"""`timeline` of a table by its name: the instants, what is pending and the counts, from the status alone."""

from collections.abc import Iterator, Mapping
from typing import Any

from hudi_jobs.contract.wording import escaped
from hudi_operator.api.status.timeline import ActStatus, InstantStatus, PendingStatus, TimelineStatus
from hudi_operator.cli.render.explanation import Shown, count_text, head
from hudi_operator.cli.render.text import Cell, Row, Tone, age, heading, table
from hudi_operator.cli.render.view import TableView
from hudi_operator.planning.model.times import parse_time

_COUNTS = frozenset({"counted", "counted_range", "threshold", "pending"})


def timeline_text(view: TableView, timeline: TimelineStatus, shown: Shown, *, wide: bool) -> str:
    """Return the timeline of a table as its status shows it; `wide` adds who owns what is pending."""
    parts = {
        "Instants": _instants(timeline, shown),
        f"Pending ({timeline.pending_count:,})": _pending(view, timeline, shown, wide=wide),
        "Counts": _counts(view, timeline, shown),
        "Savepoints, restores and rollbacks": _acts(timeline, shown, wide=wide),
        "Problems": [escaped(one) for one in timeline.problems],
    }
    lines = [*head(view, shown)]
    for title, found in parts.items():
        if found:
            lines += ["", heading(title, colour=shown.colour), *(f"  {line}" for line in found)]
    return "\n".join(lines)


def timeline_document(view: TableView) -> dict[str, Any]:
    """Return the timeline of a table for programs, with the names of the status."""
    status = view.status.model_dump(
        mode="json",
        by_alias=True,
        exclude_none=True,
        include={"table", "timeline", "stale_since", "observed_generation"},
    )
    services = {
        name: found
        for name, one in view.status.services
        if one is not None
        and (found := one.model_dump(mode="json", by_alias=True, exclude_defaults=True, include=_COUNTS))
    }
    metadata = {"name": view.metadata.name, "namespace": view.metadata.namespace}
    return {"metadata": metadata, "basePath": view.declared("basePath"), **status, "services": services}


def _instants(timeline: TimelineStatus, shown: Shown) -> list[str]:
    rows: list[Row] = [
        [one.time, one.action, Cell(one.state, None if one.state == "COMPLETED" else Tone.WARN), one.completed_at or ""]
        for one in timeline.instants
    ]
    return _table(["TIME", "ACTION", "STATE", "COMPLETED AT"], rows, shown)


def _pending(view: TableView, timeline: TimelineStatus, shown: Shown, *, wide: bool) -> list[str]:
    known = {one.time: one for _, service in view.status.services if service is not None for one in service.pending}
    header = ["TIME", "ACTION", "STATE", "SINCE", *(["OWNER", "RUN", "LEFT ALONE UNTIL"] * wide), "BLOCKS"]
    rows = [_pending_row(one, known, shown, wide=wide) for one in timeline.pending]
    left = timeline.pending_count - len(rows)
    return _table(header, rows, shown) + ([f"and {left:,} more"] if left > 0 else [])


def _pending_row(one: InstantStatus, known: Mapping[str, PendingStatus], shown: Shown, *, wide: bool) -> Row:
    found = known.get(one.time)
    if found is None:
        return [one.time, one.action, one.state, *([""] * (5 if wide else 2))]
    owner = [found.owner.value, found.run or "", found.left_alone_until or ""] * wide
    return [one.time, one.action, one.state, age(parse_time(found.since), shown.now), *owner, found.blocks]


def _counts(view: TableView, timeline: TimelineStatus, shown: Shown) -> list[str]:
    commits = "?" if timeline.completed_commits is None else f"{timeline.completed_commits:,}"
    rows: list[Row] = [["completed commits", commits, ""]]
    rows += [
        [name, counted, one.reason]
        for name, one in view.status.services
        if one is not None and (counted := count_text(one))
    ]
    if timeline.files is not None:
        files = timeline.files
        rows.append(
            ["base files", f"{files.base_files:,}", f"{files.small_files:,} small, of {files.commits:,} commits"]
        )
    return _table(["WHAT", "COUNT", "REASON"], rows, shown)


def _acts(timeline: TimelineStatus, shown: Shown, *, wide: bool) -> list[str]:
    header = ["TIME", "ACTION", "COMPLETED AT", "OWNER", "UNDID"]
    rows: list[Row] = [
        [one.time, one.action, one.completed_at or "", one.owner.value, ", ".join(_undone(one, wide=wide))]
        for one in timeline.acts or ()
    ]
    return _table(header, rows, shown) if rows else []


def _undone(act: ActStatus, *, wide: bool) -> Iterator[str]:
    if act.undone_count and not wide:
        yield f"{act.undone_count:,}"
    elif act.undone_count:
        yield from act.undone
        if act.undone_count > len(act.undone):
            yield f"and {act.undone_count - len(act.undone):,} more"
    if act.input_lost:
        yield "input lost"


def _table(header: list[str], rows: list[Row], shown: Shown) -> list[str]:
    return table(header, rows, colour=shown.colour).splitlines() if rows else []
