"""Points in time as Kubernetes writes them."""

from datetime import UTC, datetime
from functools import lru_cache

_REMEMBERED = 4096
"""The size of the caches of times: each reconcile parses the same times of the status and the timeline again."""

_LONGEST = 64
_FIRST_YEAR, _LAST_YEAR = 1900, 3000
"""The years for arithmetic: adding the longest duration, 292 years, stays within Python's range."""


@lru_cache(maxsize=_REMEMBERED)
def format_time(moment: datetime) -> str:
    """Return RFC 3339 in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str | None) -> datetime | None:
    """Read RFC 3339; return None for an empty text and for a text that is no time.

    Also return None for a time too far away for arithmetic, and for a text longer than a time.
    """
    return _parse_time(text) if text and len(text) <= _LONGEST else None


@lru_cache(maxsize=_REMEMBERED)
def _parse_time(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if not _FIRST_YEAR <= moment.year < _LAST_YEAR:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)


@lru_cache(maxsize=_REMEMBERED)
def instant_time(text: str) -> datetime | None:
    """Read a Hudi instant time, to the second, as UTC; return None for the made-up times of the metadata table.

    The operator's own jobs, which run in UTC, read the times of a table in local time as UTC too.
    """
    try:
        return datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
