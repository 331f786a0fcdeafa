"""`cost`: what runs used, summed over days by table, namespace, class, service or day."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date, datetime, timedelta
from typing import NamedTuple

from hudi_jobs.contract.wording import byte_size
from hudi_operator.cli.render.text import Row, table
from hudi_operator.cli.render.view import TableView
from hudi_operator.planning.facts.runs.daily_costs import DayCost, days_of, hours


class Spent(NamedTuple):
    """What a service of a table cost on a day."""

    view: TableView
    service: str
    cost: DayCost


GROUPS: Mapping[str, Callable[[Spent], str]] = {
    "table": lambda one: one.view.name,
    "namespace": lambda one: one.view.metadata.namespace,
    "class": lambda one: one.view.declared("tableClassName") or "the default class",
    "service": lambda one: one.service,
    "day": lambda one: one.cost.day.isoformat(),
}


@dataclass
class Total:
    """The sums of a group."""

    name: str
    runs: int = 0
    cpu_milliseconds: int = 0
    estimated_cpu_milliseconds: int = 0
    bytes_read: int = 0
    bytes_written: int = 0

    def add(self, cost: DayCost) -> None:
        """Add what a service cost on a day."""
        self.runs += cost.runs
        self.cpu_milliseconds += cost.cpu
        self.estimated_cpu_milliseconds += cost.estimated
        self.bytes_read += cost.bytes_read
        self.bytes_written += cost.bytes_written


def first_day(text: str, today: date) -> date:
    """Return the day of `today`, `yesterday`, `7d` (seven days with today) or `2026-03-10`; raises `ValueError`."""
    if text in {"today", "yesterday"}:
        return today - timedelta(days=text == "yesterday")
    if text.endswith("d") and text[:-1].isdecimal() and 0 < int(text[:-1]) <= 366:
        return today - timedelta(days=int(text[:-1]) - 1)
    return date.fromisoformat(text)


def spent(views: Iterable[TableView], first: date, last: date) -> Iterator[Spent]:
    """Yield what each service of tables cost on each day from `first` to `last`."""
    for view in views:
        for name, service in view.status.services:
            for cost in days_of(service) if service is not None else ():
                if first <= cost.day <= last:
                    yield Spent(view, name, cost)


def totals(found: Iterable[Spent], by: str) -> list[Total]:
    """Return the sums of each group: days in order, else the most expensive first."""
    groups: dict[str, Total] = {}
    for one in found:
        name = GROUPS[by](one)
        groups.setdefault(name, Total(name)).add(one.cost)
    return sorted(groups.values(), key=lambda one: (0 if by == "day" else -one.cpu_milliseconds, one.name))


def cost_text(found: Sequence[Spent], by: str) -> str:
    """Return the sums as a table, with all of them in the last line."""
    groups, whole = totals(found, by), Total("all")
    for one in found:
        whole.add(one.cost)
    rows = [_row(one) for one in [*groups, *([whole] if len(groups) > 1 else [])]]
    return table([by.upper(), "RUNS", "CPU HOURS", "ESTIMATED", "READ", "WRITTEN"], rows, colour=False)


def cost_document(found: Sequence[Total]) -> list[dict[str, object]]:
    """Return the sums as values for programs."""
    return [asdict(one) for one in found]


def cpu_of_days(view: TableView, now: datetime, *, days: int) -> int:
    """Return the processor milliseconds of a table's runs in the last days."""
    today = now.date()
    return sum(one.cost.cpu for one in spent([view], today - timedelta(days=days - 1), today))


def _row(one: Total) -> Row:
    estimated = hours(one.estimated_cpu_milliseconds) if one.estimated_cpu_milliseconds else ""
    figures = (f"{one.runs:,}", hours(one.cpu_milliseconds), estimated)
    return [one.name, *figures, byte_size(one.bytes_read), byte_size(one.bytes_written)]
