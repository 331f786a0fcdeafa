"""Status of the takeover of a table from its earlier writers."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import InstantTime, Model, Timestamp

WRITERS_NAMED = 6


class TakeoverPhase(StrEnum):
    """Progress of the takeover of a table from its earlier writers."""

    WATCHING = "Watching"
    """Something has changed lately, or the table has not been watched for long enough."""

    QUIET = "Quiet"
    """The table is only observed, and nothing has changed for as long as its class requires."""

    DONE = "Done"
    """The operator manages the table."""


class Protection(StrEnum):
    """State of the savepoint that protects a table in its first cycle of table services."""

    WANTED = "Wanted"
    """The first table service makes the savepoint before its own work."""

    KEPT = "Kept"
    """The savepoint is there."""

    OVER = "Over"
    """The savepoint was removed after the first successful cycle, or was not needed."""


class TakeoverStatus(Model):
    """State of a takeover; without it, watching starts again."""

    phase: TakeoverPhase = TakeoverPhase.WATCHING
    """Progress of the takeover."""

    since: Timestamp | None = None
    """Since when nothing has changed, by the operator's own clock; when it is Done, when the table was taken over."""

    seen: Annotated[str, Field(max_length=64)] | None = None
    """Fingerprint of the instants and heartbeats that were seen last."""

    writers: Annotated[tuple[Annotated[str, Field(max_length=256)], ...], Field(max_length=WRITERS_NAMED)] = ()
    """Signs of writers that may still write; at most 6."""

    protection: Protection | None = None
    """Savepoint for the first cycle; absent if the class asks for no savepoint."""

    savepoint: InstantTime | None = None
    """The commit that the operator's savepoint keeps."""
