"""Points in time as Kubernetes writes them."""

from datetime import UTC, datetime
from functools import lru_cache

_REMEMBERED = 4096
"""Times that are kept in both spellings: each look reads the same ones of the status and the timeline again."""


@lru_cache(maxsize=_REMEMBERED)
def format_time(moment: datetime) -> str:
    """Return RFC 3339 in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@lru_cache(maxsize=_REMEMBERED)
def parse_time(text: str | None) -> datetime | None:
    """Read RFC 3339; return None for nothing and for what is no time, because it is only a memory."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
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
