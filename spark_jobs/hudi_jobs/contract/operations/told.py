"""The progress of an operation's driver: a small document in the operator's folder of the table.

The rows of each partition are too many for an outcome, and an outcome comes at the end. The document is only a hint,
like the progress of a continuous ingestion: the outcome and the timeline decide. Whoever may write to the table's
folder may write anything into it.
"""

from typing import Annotated, Literal

from pydantic import Field, ValidationError

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.operations.operation import OperationPhase
from hudi_jobs.contract.table.ownership import OwnerName

TOLD_FILE = "operation.json"
"""The file with the progress of the newest operation of a table."""

TOLD_LIMIT = 65_536
"""The most bytes of the file: a larger file was not written by a driver and is not read."""

MOST_COMPARED = 100
"""The most partitions that are named."""

LONGEST_PATH = 256
"""The most characters of the path of a partition; the beginning of a longer path is shown."""

MOST_CHARACTERS = 10_000
"""The most characters of all paths together: the status of a resource has to hold them."""

_GREATEST = 2**53
_Count = Annotated[int, Field(ge=0, le=_GREATEST)]
_Sum = Annotated[str, Field(pattern=r"^-?[0-9]{1,40}$", max_length=41)]


class ComparedPartition(Document):
    """A partition: its rows and their checksum before, or as expected, and afterwards."""

    path: Annotated[str, Field(max_length=LONGEST_PATH)]
    rows: _Count
    rows_after: _Count
    checksum: _Sum
    checksum_after: _Sum
    equal: bool


class Comparison(Document):
    """The comparison of all rows: first the partitions that differ, then the rest, each by path.

    `different` counts all partitions that differ; None if there were too many to compare each. `left_out` counts the
    partitions that are not listed.
    """

    checksum_after: _Sum
    different: _Count | None = None
    listed: Annotated[tuple[ComparedPartition, ...], Field(max_length=MOST_COMPARED)] = ()
    left_out: _Count = 0


class OperationTold(Document):
    """The progress of a run with the operation of the resource `uid`, and its comparison."""

    version: Literal[1] = 1
    uid: Annotated[str, Field(pattern=r"^[0-9a-zA-Z-]{1,64}$")]
    run: OwnerName
    phase: OperationPhase
    comparison: Comparison | None = None


def decode_told(content: bytes) -> OperationTold | None:
    """Read the document; return None for anything that this release cannot read."""
    if len(content) > TOLD_LIMIT:
        return None
    try:
        return OperationTold.model_validate_json(content)
    except (ValidationError, RecursionError):
        return None


def encode_told(told: OperationTold) -> bytes:
    """Write the document as JSON."""
    return told.model_dump_json(by_alias=True, exclude_none=True).encode()
