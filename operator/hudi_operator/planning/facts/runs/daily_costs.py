"""Sums what the runs of each service cost on each day (UTC), for as many days as a table remembers.

A run counts once, when it ends. A run that lasted over midnight gives each day its part, by time.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Self

from hudi_operator.api.status.cost import DAYS_REMEMBERED, MOST, RunCost
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.service_status import ServicesStatus, ServiceStatus
from hudi_operator.planning.model.times import parse_time
from hudi_operator.services.registry import SERVICES, TABLE_SERVICES

_DAY = timedelta(days=1)
_WEEK = 7
_NEWEST = 3
"""Today, and the days on both sides of it by another clock."""
_HOUR = 3_600_000  # milliseconds


@dataclass(frozen=True, kw_only=True)
class DayCost:
    """What runs cost on a day."""

    day: date
    runs: int = 0
    measured: int = 0
    """Processor milliseconds that containers counted."""

    estimated: int = 0
    """Processor milliseconds estimated for drivers and executors that reported nothing."""

    bytes_read: int = 0
    bytes_written: int = 0

    @classmethod
    def parse(cls, line: str) -> Self | None:
        """Read a line of the memory, or return None for a day that does not exist."""
        day, *figures = line.split(" ")
        try:
            runs, measured, estimated, read, written = (min(int(one), MOST) for one in figures)
            return cls(
                day=date.fromisoformat(day),
                runs=runs,
                measured=measured,
                estimated=estimated,
                bytes_read=read,
                bytes_written=written,
            )
        except ValueError:
            return None

    @property
    def line(self) -> str:
        """The sums as a line of the memory."""
        figures = (self.runs, self.measured, self.estimated, self.bytes_read, self.bytes_written)
        return " ".join((self.day.isoformat(), *map(str, figures)))

    @property
    def cpu(self) -> int:
        """All processor milliseconds."""
        return self.measured + self.estimated

    def plus(self, other: Self) -> Self:
        """Return the sum of two costs, for the day of this one."""
        return type(self)(
            day=self.day,
            runs=min(self.runs + other.runs, MOST),
            measured=min(self.measured + other.measured, MOST),
            estimated=min(self.estimated + other.estimated, MOST),
            bytes_read=min(self.bytes_read + other.bytes_read, MOST),
            bytes_written=min(self.bytes_written + other.bytes_written, MOST),
        )


def parts_of(cost: RunCost) -> Iterator[DayCost]:
    """Yield a run's cost by day: the parts add up to the whole, and the run itself counts on its last day."""
    since = parse_time(cost.since)
    if since is None:
        return
    since = since.astimezone(UTC)
    end, begin, before = since + timedelta(seconds=cost.seconds), since, 0.0
    while True:
        midnight = datetime.combine(begin.date() + _DAY, time(), tzinfo=UTC)
        is_last = end <= midnight
        share = 1.0 if is_last else (midnight - since) / (end - since)
        yield DayCost(
            day=begin.date(),
            runs=int(is_last),
            measured=_part(cost.cpu_milliseconds, before, share),
            estimated=_part(cost.estimated_cpu_milliseconds, before, share),
            bytes_read=_part(cost.bytes_read, before, share),
            bytes_written=_part(cost.bytes_written, before, share),
        )
        if is_last:
            return
        begin, before = midnight, share


def _part(figure: int, before: float, share: float) -> int:
    return round(figure * share) - round(figure * before)


def with_costs(memory: ServiceStatus, run: RunStatus) -> ServiceStatus:
    """Return the memory of a service with the cost of a run that has just ended."""
    ended = parse_time(run.finished_at)
    if run.cost is None or ended is None:
        return memory
    days = {one.day: one for one in days_of(memory)}
    for part in parts_of(run.cost):
        days[part.day] = days[part.day].plus(part) if part.day in days else part
    newest = ended.astimezone(UTC).date()
    kept = sorted(day for day in days if timedelta() <= newest - day < DAYS_REMEMBERED * _DAY)
    return memory.copy_with(costs=tuple(days[day].line for day in kept))


def days_of(memory: ServiceStatus) -> tuple[DayCost, ...]:
    """Return the sums of a service, each day once."""
    return _days(memory.costs)


def _days(lines: Iterable[str]) -> tuple[DayCost, ...]:
    days: dict[date, DayCost] = {}
    for one in filter(None, map(DayCost.parse, lines)):
        days[one.day] = days[one.day].plus(one) if one.day in days else one
    return tuple(days[day] for day in sorted(days))


def spent_by_day(services: ServicesStatus) -> dict[date, int]:
    """Return the processor milliseconds that table services used on the newest days, enough to ask for today."""
    lines = (line for each in TABLE_SERVICES for line in services.of(each.service).costs[-_NEWEST:])
    return {one.day: one.cpu for one in _days(lines)}


def spent_on(day: date, services: ServicesStatus) -> int:
    """Return the processor milliseconds that runs of table services used on a day."""
    begins = f"{day.isoformat()} "
    lines = (line for each in TABLE_SERVICES for line in services.of(each.service).costs if line.startswith(begins))
    return sum(one.cpu for one in map(DayCost.parse, lines) if one is not None)


def cost_text(services: ServicesStatus) -> str | None:
    """Return what a table cost on its newest day with a run, and on the seven days up to then; None without any."""
    days = _days(line for service in SERVICES for line in services.of(service).costs[-_WEEK:])
    if not days:
        return None
    newest = days[-1]
    first = newest.day - (_WEEK - 1) * _DAY
    week = [one for one in days if one.day >= first]
    estimated = sum(one.estimated for one in week)
    remark = f" ({hours(estimated)} estimated)" if estimated else ""
    return f"{hours(newest.cpu)} CPU hours on {newest.day}, {hours(sum(one.cpu for one in week))} since {first}{remark}"


def hours(milliseconds: int) -> str:
    """Return processor time in hours, for people."""
    return f"{milliseconds / _HOUR:,.2f}"
