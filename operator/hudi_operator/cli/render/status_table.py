"""`status`: one line for each table, in the columns of `kubectl get ht`."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from hudi_jobs.contract.wording import counted, shortened
from hudi_operator.api.status.conditions import ConditionStatus, ConditionType
from hudi_operator.cli.render.cost_sums import cpu_of_days
from hudi_operator.cli.render.size_table import size_of
from hudi_operator.cli.render.text import SEVERITY_TONES, Cell, Tone, age, table
from hudi_operator.cli.render.view import TableView

_MESSAGE, _WIDE_MESSAGE = 160, 1000

_LATEST = datetime.max.replace(tzinfo=UTC)

ORDERS: dict[str, Callable[[TableView], Any]] = {
    "name": lambda one: one.name,
    "behind": lambda one: one.complete_up_to or _LATEST,
    "cost": lambda one: -cpu_of_days(one, datetime.now(UTC), days=7),
    "size": lambda one: -(size_of(one) or -1),
    "age": lambda one: one.created_at or _LATEST,
}
"""How tables are sorted: the furthest behind its source, the dearest of seven days, the largest, or the oldest resource
comes first; unknown comes last.
"""


def in_order(tables: Iterable[TableView], order: str) -> list[TableView]:
    """Return tables in one of the `ORDERS`, and equal ones by name."""
    return sorted(tables, key=lambda one: (ORDERS[order](one), one.name))


def status_text(
    tables: Sequence[TableView], *, now: datetime, namespaces: bool, wide: bool, messages: bool, colour: bool
) -> str:
    """Return the table of tables, with columns for namespaces, messages or everything."""
    header = ["NAME", "TYPE", "READY", "REASON", "LAST COMMIT", "BEHIND", "FINDINGS", "AGE"]
    header = ["NAMESPACE"] * namespaces + header
    header += ["VERSION", "COMMITS", "PENDING", "CLASS", "BASE PATH"] * wide + ["MESSAGE"] * (wide or messages)
    rows = [
        [one.metadata.namespace] * namespaces
        + _row(one, now)
        + _wide(one) * wide
        + [shortened(one.why, _WIDE_MESSAGE if wide else _MESSAGE)] * (wide or messages)
        for one in tables
    ]
    return table(header, rows, colour=colour)


def _row(one: TableView, now: datetime) -> list[Cell | str]:
    status, ready = one.status, one.condition(ConditionType.READY)
    tones = {ConditionStatus.TRUE: Tone.GOOD, ConditionStatus.FALSE: Tone.BAD}
    late = one.is_condition(ConditionType.FRESH, ConditionStatus.FALSE)
    return [
        one.metadata.name,
        status.table.type if status.table is not None else "",
        Cell(ready.status, tones.get(ready.status, Tone.WARN)) if ready is not None else Cell("Unknown", Tone.WARN),
        ready.reason if ready is not None else "NotObserved",
        age(one.newest_commit, now),
        Cell(age(one.complete_up_to, now), Tone.BAD if late else None),
        _findings(one),
        age(one.created_at, now),
    ]


def _findings(one: TableView) -> Cell:
    shown = (one.status.summary.findings if one.status.summary is not None else None) or ""
    worst = next((finding.severity for finding in one.status.findings), None)
    return Cell(shown, SEVERITY_TONES.get(worst) if worst else None)


def _wide(one: TableView) -> list[Cell | str]:
    found, timeline = one.status.table, one.status.timeline
    commits = timeline.completed_commits if timeline is not None else None
    return [
        str(found.version) if found is not None else "",
        str(commits) if commits is not None else "",
        str(timeline.pending_count) if timeline is not None else "",
        one.declared("tableClassName"),
        one.declared("basePath"),
    ]


def summary_line(tables: Sequence[TableView], *, shown: int) -> str:
    """Return how many tables there are, and how many are ready, unhealthy and suspended."""
    ready = sum(one.is_condition(ConditionType.READY, ConditionStatus.TRUE) for one in tables)
    unhealthy = sum(one.is_unhealthy for one in tables)
    suspended = sum(one.is_condition(ConditionType.SUSPENDED, ConditionStatus.TRUE) for one in tables)
    parts = [f"{ready:,} ready", f"{unhealthy:,} unhealthy", *([f"{suspended:,} suspended"] if suspended else [])]
    left = f"; {shown:,} shown" if shown != len(tables) else ""
    return f"{counted(len(tables), 'table')}: {', '.join(parts)}{left}."
