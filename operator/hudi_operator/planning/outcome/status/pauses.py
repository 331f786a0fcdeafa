"""The pause until the next look at an idle resource: the table announces every change."""

from datetime import datetime

from hudi_operator.planning.model.times import parse_time

QUIET_SECONDS = 300.0

WAITING_SECONDS = 30.0
ENDING_SECONDS = 5.0
"""The first pause of a waiting or deleted resource; later a tenth of its waiting time, so that many cost little."""


def growing_pause(since: str | None, *, now: datetime, least: float) -> float:
    """Return the seconds until the next look at a resource that has waited since then."""
    waited = now - (parse_time(since) or now)
    return min(QUIET_SECONDS, max(least, waited.total_seconds() / 10))
