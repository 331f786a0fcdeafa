"""What a run did in the catalog of its table."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant

SYNC_MESSAGE_LIMIT = 512
"""The most characters of the message of a failed sync."""

SyncTime = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]
"""A time in UTC, to the second."""


class SyncTrouble(StrEnum):
    """Why a catalog does not show the table as it is."""

    UNAVAILABLE = "Unavailable"
    """The catalog did not answer in time."""

    TAKEN = "Taken"
    """The entry belongs to somebody else."""

    REFUSED = "Refused"
    """The catalog, or Hudi's sync, refused."""


class CatalogReport(Document):
    """What a run did in the catalog; `behind_since` is None if the entry shows the table as of `instant`."""

    entry: str = Field(max_length=256)
    instant: Instant | None = None
    behind_since: SyncTime | None = None
    trouble: SyncTrouble | None = None
    message: str = Field(default="", max_length=SYNC_MESSAGE_LIMIT)
