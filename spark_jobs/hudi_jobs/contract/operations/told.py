"""What the driver of an operation tells while it works: a small document in the operator's folder of the table.

The rows of each partition are too many for an outcome, and an outcome comes at the end. The document is a hint, like
that of a continuous ingestion: what became of the operation, the outcome and the timeline say. Whoever may write to the
table's folder may write anything into it.
"""

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.operations.operation import OperationPhase
from hudi_jobs.contract.table.ownership import OwnerName

TOLD_FILE = "operation.json"
"""How far the newest operation of a table has come."""

TOLD_LIMIT = 65_536
"""Bytes; a file that is larger was not written by a driver and is not read."""

MOST_COMPARED = 100
"""Partitions that are named."""

LONGEST_PATH = 256
"""Characters of the path of a partition; of a longer one the beginning is shown."""

MOST_CHARACTERS = 10_000
"""Of all their paths: the status of a resource has to hold them."""

_GREATEST = 2**53
_Count = Annotated[int, Field(ge=0, le=_GREATEST)]
_Sum = Annotated[str, Field(pattern=r"^-?[0-9]{1,40}$", max_length=41)]


class ComparedPartition(Document):
    """One partition: its rows and their checksum before, or as they were to be, and afterwards."""

    path: Annotated[str, Field(max_length=LONGEST_PATH)]
    rows: _Count
    rows_after: _Count
    checksum: _Sum
    checksum_after: _Sum
    equal: bool


class Comparison(Document):
    """What a comparison of all rows has shown: first the partitions that differ, then the others by their paths.

    `different` counts all that differ, None where there were too many to be compared one by one. `left_out` are those
    that are not listed.
    """

    checksum_after: _Sum
    different: _Count | None = None
    listed: Annotated[tuple[ComparedPartition, ...], Field(max_length=MOST_COMPARED)] = ()
    left_out: _Count = 0


class OperationTold(Document):
    """How far a run has come with the operation of the resource `uid`, and what it has compared."""

    version: Literal[1] = 1
    uid: Annotated[str, Field(pattern=r"^[0-9a-zA-Z-]{1,64}$")]
    run: OwnerName
    phase: OperationPhase
    comparison: Comparison | None = None


def decode_told(content: bytes) -> OperationTold | None:
    """Read the document; None for what is none that this release can read, which says nothing."""
    if len(content) > TOLD_LIMIT:
        return None
    try:
        return OperationTold.model_validate_json(content)
    except (ValidationError, RecursionError):
        return None


def encode_told(told: OperationTold) -> bytes:
    """Write the document as JSON."""
    return told.model_dump_json(by_alias=True, exclude_none=True).encode()
