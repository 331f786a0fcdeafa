"""`explain`: everything that the status says of one table, with the reason for each decision."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from hudi_jobs.contract.wording import escaped
from hudi_operator.api.status.conditions import Condition, ConditionStatus, ConditionType
from hudi_operator.api.status.findings import Finding
from hudi_operator.api.status.service_status import ServiceStatus
from hudi_operator.cli.render.text import SEVERITY_TONES, Cell, Row, Tone, age, heading, table, toned, until
from hudi_operator.cli.render.view import TableView
from hudi_operator.planning.model.times import parse_time

_BAD_IF_TRUE = {ConditionType.STALLED}
_PLAIN = {ConditionType.RECONCILING, ConditionType.SUSPENDED}


@dataclass(frozen=True, kw_only=True)
class Shown:
    """How to show a table: the time, and whether the terminal has colours."""

    now: datetime
    colour: bool = False


def explain_text(view: TableView, shown: Shown) -> str:
    """Return the page about a table."""
    parts = (
        _Part("Conditions", _conditions(view, shown)),
        _Part("Findings", [line for one in view.status.findings for line in _finding(one, shown)]),
        _Part("Services", _services(view, shown)),
        _Part("Jobs", _jobs(view, shown)),
        _Part("Pending instants", _pending(view)),
    )
    told = [*head(view, shown)]
    for part in parts:
        if part.lines:
            told += ["", heading(part.title, colour=shown.colour), *(f"  {line}" for line in part.lines)]
    return "\n".join(told)


@dataclass(frozen=True)
class _Part:
    title: str
    lines: Sequence[str]


def head(view: TableView, shown: Shown) -> Iterator[str]:
    """Yield what a table is, and how current its status is."""
    found = view.status.table
    kind = f"{found.type}, version {found.version}, instants in {found.zone}" if found else "no table yet"
    yield heading(escaped(f"HudiTable {view.name}"), colour=shown.colour) + f" ({escaped(kind)})"
    yield escaped(view.declared("basePath"))
    if view.status.message:
        yield escaped(view.status.message)
    if view.status.summary is not None and view.status.summary.class_rules:
        yield f"Class: {escaped(view.status.summary.class_rules)}"
    if view.status.cost:
        yield f"Cost: {escaped(view.status.cost)}"
    if view.status.observed_generation != view.metadata.generation:
        yield "The operator has not seen the newest spec yet: what follows is about an earlier one."
    if view.status.stale_since:
        yield f"The timeline is not read since {view.status.stale_since}: the figures are those of the last reading."


def _conditions(view: TableView, shown: Shown) -> list[str]:
    rows: list[Row] = [
        [
            one.type,
            Cell(one.status, _tone(one)),
            one.reason,
            age(parse_time(one.last_transition_time), shown.now),
            one.message,
        ]
        for one in view.status.conditions
    ]
    return (
        table(["TYPE", "STATUS", "REASON", "SINCE", "MESSAGE"], rows, colour=shown.colour).splitlines() if rows else []
    )


def _tone(one: Condition) -> Tone | None:
    if one.type in _PLAIN:
        return Tone.WARN
    if one.status is ConditionStatus.UNKNOWN:
        return Tone.WARN
    good = (one.status is ConditionStatus.TRUE) is not (one.type in _BAD_IF_TRUE)
    return Tone.GOOD if good else Tone.BAD


def _finding(one: Finding, shown: Shown) -> Iterator[str]:
    severity = toned(one.severity, SEVERITY_TONES.get(one.severity), colour=shown.colour)
    blocks = f", blocks {', '.join(one.blocks)}" if one.blocks else ""
    yield f"{severity} {one.code}, for {age(parse_time(one.since), shown.now)}{escaped(blocks)}"
    yield f"  {escaped(one.message)}"
    yield f"  To do: {escaped(one.remedy)}"


def _services(view: TableView, shown: Shown) -> list[str]:
    named = [(name, one) for name, one in view.status.services if one is not None]
    rows: list[Row] = [
        [name, count_text(one), Cell("yes", Tone.WARN) if one.due else "no", one.reason, _next(one, shown.now)]
        for name, one in named
    ]
    lines = table(["SERVICE", "COUNT", "DUE", "REASON", "NEXT"], rows, colour=shown.colour).splitlines()
    return _with_details(lines, (_details(one) for _, one in named))


def _with_details(lines: Sequence[str], details: Iterable[Iterable[str]]) -> list[str]:
    """Return a table with more lines below each of its rows."""
    return [lines[0], *(line for at, more in zip(lines[1:], details, strict=True) for line in (at, *more))]


def count_text(one: ServiceStatus) -> str:
    """Return the count of a service with its threshold, `?` for an unknown count; empty for a service without both."""
    counted = str(one.counted) if one.counted is not None else ""
    if one.counted_range is not None:
        counted = f"{one.counted_range.at_least}-{one.counted_range.at_most}"
    return f"{counted or '?'} of {one.threshold}" if one.threshold is not None else counted


def _next(one: ServiceStatus, now: datetime) -> str:
    retry, planned = parse_time(one.next_attempt_at), parse_time(one.next_run_at)
    return f"retry {until(retry, now)}" if retry is not None else until(planned, now)


def _details(one: ServiceStatus) -> Iterator[str]:
    """Yield the sentences below the line of a service."""
    if one.message:
        yield f"    {escaped(one.message)}"
    if one.blocked_by:
        yield f"    Blocked: {escaped(one.blocked_by)}"
    for pending in one.pending:
        yield f"    First: {escaped(f'{pending.time} {pending.action} {pending.state}')}"
    failed = (
        ("failed", one.failures),
        ("failed from outside", one.infrastructure_failures),
        ("gave way", one.conflicts),
    )
    in_a_row = ", ".join(f"{number:,} {what}" for what, number in failed if number)
    if in_a_row:
        yield f"    Runs in a row: {in_a_row}."
    if one.last_run is not None:
        yield f"    Last run: {escaped(one.last_run.line)}"


def _jobs(view: TableView, shown: Shown) -> list[str]:
    rows: list[Row] = [
        [one.name, str(one.attempt), one.state, age(parse_time(one.started_at), shown.now), one.message]
        for one in view.status.jobs
    ]
    if not rows:
        return []
    lines = table(["JOB", "ATTEMPT", "STATE", "AGE", "MESSAGE"], rows, colour=shown.colour).splitlines()
    return _with_details(lines, ([f"    {escaped(one.progress)}"] if one.progress else [] for one in view.status.jobs))


def _pending(view: TableView) -> list[str]:
    timeline = view.status.timeline
    if timeline is None:
        return []
    listed = [escaped(f"{one.time} {one.action} {one.state}") for one in timeline.pending]
    left = timeline.pending_count - len(listed)
    return listed + ([f"and {left:,} more"] if left > 0 else [])
