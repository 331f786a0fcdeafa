"""Points in time as Kubernetes writes them."""

from datetime import UTC, datetime
from functools import lru_cache

_REMEMBERED = 4096
"""Times that are kept in both spellings: each reconcile reads the same ones of the status and the timeline again."""

_LONGEST = 64
_FIRST_YEAR, _LAST_YEAR = 1900, 3000
"""Years with which can be reckoned: the longest duration, 292 years, leads from them to other times."""


@lru_cache(maxsize=_REMEMBERED)
def format_time(moment: datetime) -> str:
    """Return RFC 3339 in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str | None) -> datetime | None:
    """Read RFC 3339; return None for nothing and for what is no time, because it is only a memory.

    So it is for a time with which nothing can be reckoned, and for a text that is longer than a time.
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

    Where a table names its instants in local time, the operator's own jobs, which run in UTC, take them for that too.
    """
    try:
        return datetime.strptime(text[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    except ValueError:
        return None
