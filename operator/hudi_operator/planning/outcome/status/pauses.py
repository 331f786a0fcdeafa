"""When a resource is looked at again with which nothing happens: its table tells of what does."""

from datetime import datetime

from hudi_operator.planning.model.times import parse_time

QUIET_SECONDS = 300.0

WAITING_SECONDS = 30.0
ENDING_SECONDS = 5.0
"""The same while it waits, or goes, at first; then a tenth of how long it does, so that very many cost little."""


def growing_pause(since: str | None, *, now: datetime, least: float) -> float:
    """Return the seconds until the next look at a resource that has waited, or gone, since then."""
    waited = now - (parse_time(since) or now)
    return min(QUIET_SECONDS, max(least, waited.total_seconds() / 10))
