"""What the status of a `HudiTable` remembers of quarantined rows that nobody has acknowledged."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import Model, Timestamp

MOST_BAD_ROWS = 10**15
"""The largest number that is counted."""


class BadRowsStatus(Model):
    """Quarantined rows since the last acknowledgement."""

    total: Annotated[int, Field(ge=0, le=MOST_BAD_ROWS)] = 0
    """Rows that ended runs quarantined."""

    since: Timestamp | None = None
    """When the operator saw the first of them, also of a driver that still runs."""

    run: Annotated[str, Field(max_length=63)] | None = None
    """The running continuous ingestion of which rows were acknowledged."""

    acknowledged: Annotated[int, Field(ge=0, le=MOST_BAD_ROWS)] = 0
    """How many rows of this run were acknowledged."""
