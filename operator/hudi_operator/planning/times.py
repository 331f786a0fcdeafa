"""Points in time as Kubernetes writes them."""

from datetime import UTC, datetime


def format_time(moment: datetime) -> str:
    """Return RFC 3339 in UTC, to the second."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_time(text: str | None) -> datetime | None:
    """Read RFC 3339; return None for nothing and for what is no time, because it is only a memory."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)
