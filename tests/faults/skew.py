"""How far the clocks of the operator, of the drivers and of the store are from the API server's."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from itertools import cycle, islice, product

_STEP = timedelta(minutes=10)


@dataclass(frozen=True, kw_only=True)
class Skew:
    """How far each clock is ahead of the API server's; behind it where the time is negative."""

    operator: timedelta = timedelta()
    drivers: timedelta = timedelta()
    store: timedelta = timedelta()

    def __str__(self) -> str:
        clocks = {"operator": self.operator, "drivers": self.drivers, "store": self.store}
        apart = [f"{name} {ahead / timedelta(minutes=1):+.0f} min" for name, ahead in clocks.items() if ahead]
        return ", ".join(apart) or "one time"


NO_SKEW = Skew()

ALL = tuple(
    Skew(operator=operator, drivers=drivers, store=store)
    for operator, drivers, store in product((-_STEP, timedelta(), _STEP), repeat=3)
    if operator or drivers or store
)

COVERING = tuple(
    skew
    for skew in ALL
    if skew.operator and skew.drivers and skew.store and (skew.operator == skew.drivers) == (skew.store == _STEP)
)
"""Four of them, in which any two of the three clocks are apart in each way that they can be."""


def skews(*, full: bool, start: int = 0) -> Iterator[Skew]:
    """Yield one after the other again and again, beginning anywhere."""
    chosen = ALL if full else COVERING
    return islice(cycle(chosen), start % len(chosen), None)
