"""The delay of a table behind its source, as ended runs have confirmed it."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import Model, Timestamp

MOST_BACKLOG = 2**53
"""The largest backlog that is kept: every reader of JSON can tell it from its neighbours."""

Backlog = Annotated[int, Field(ge=0, le=MOST_BACKLOG)]


class FreshnessStatus(Model):
    """Progress of input into the table; the lag is now minus `completeUpTo`."""

    complete_up_to: Timestamp | None = None
    """The table holds all input that the source had by this time."""

    backlog_records: Backlog | None = None
    """Records that the last run left to read; absent if the source does not count them."""

    backlog_bytes: Backlog | None = None
    """Bytes that the last run left to read; absent if the source does not count them."""

    source: Annotated[str, Field(max_length=64)] | None = None
    """Fingerprint of the measured source; says nothing about a different source."""
