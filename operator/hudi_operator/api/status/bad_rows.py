"""The memory of quarantined rows that nobody has acknowledged, in the status of a `HudiTable`."""

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
    """When the operator first saw such rows, in an ended run or a running driver."""

    run: Annotated[str, Field(max_length=63)] | None = None
    """The running continuous ingestion with acknowledged rows."""

    acknowledged: Annotated[int, Field(ge=0, le=MOST_BAD_ROWS)] = 0
    """Number of the acknowledged rows of this run."""
