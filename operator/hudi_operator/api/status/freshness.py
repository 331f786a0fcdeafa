"""How far a table is behind its source, as ended runs have confirmed it."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import Model, Timestamp

MOST_BACKLOG = 2**53
"""The largest backlog that is kept: every reader of JSON can tell it from its neighbours."""

Backlog = Annotated[int, Field(ge=0, le=MOST_BACKLOG)]


class FreshnessStatus(Model):
    """How far the input that was there has come into the table; now minus `completeUpTo` is how far it is behind."""

    complete_up_to: Timestamp | None = None
    """Everything that was in the source up to then is in the table."""

    backlog_records: Backlog | None = None
    """Records that the last run left to read; nothing where the source does not count them."""

    backlog_bytes: Backlog | None = None
    """Bytes that the last run left to read; nothing where the source does not count them."""

    source: Annotated[str, Field(max_length=64)] | None = None
    """Fingerprint of the source that this was said of: of another one, nothing is known."""
