"""How far a continuous ingestion has come: a small document in the operator's folder of the table.

The driver that holds the table's lease writes it; the operator reads it beside the record of the owner. It is a hint:
what was committed, the timeline says. Whoever may write to the table's folder may write anything into it.
"""

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.table.ownership import OwnerName, read_document

PROGRESS_FILE = "progress.json"
"""How far the continuous ingestion of a table has come."""

PROGRESS_NAMES = 3
"""How many places of losses it names."""

MOST_MADE = 16
"""How many instants of one batch it names."""

_GREATEST = 2**53
_Number = Annotated[int, Field(ge=0, le=_GREATEST)]
_Time = Annotated[str, Field(pattern=r"^[0-9TZ:.+-]{1,40}$")]
_POD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}")
_Pod = Annotated[str, Field(pattern=rf"^{_POD.pattern}$")]
_Line = Annotated[str, Field(max_length=512)]


class ProgressState(StrEnum):
    """What a continuous ingestion is at."""

    INGESTING = "Ingesting"
    """A batch is under way."""

    WAITING = "Waiting"
    """All input that was there has been read, or the next batch may not begin yet."""

    ENDING = "Ending"
    """It has been asked to end, or its time is over: no further batch begins."""


class Progress(Document):
    """What a run has done since it began, and what it is at.

    `sequence` grows with each version of the document. `batches`, rows, files and bytes are sums over the commits of
    the run, and `instant` is the newest of these. `polled_at` is when the source was last asked, by the driver's clock.
    `records_skipped` is the sum of what the run found gone of a stream, and `skipped` says where that was last.
    The other figures are those of the last batch, under the names of the task's result.
    `takes` says that table services may be asked of this driver (`order.py`), and `serves` names the run whose service
    it is at. `made` are instants that its JVM has made since the batch began that is under way, or was when the run
    ended: what is pending under such a name is this run's, however it ends. `pod` is what the driver's machine
    calls itself, which in Kubernetes is the name of its pod: a Job may have had two, and the end of one be known.
    """

    version: Literal[1] = 1
    run: OwnerName
    pod: _Pod | None = None
    sequence: _Number
    state: ProgressState
    written_at: _Time
    polled_at: _Time | None = None
    polls: _Number = 0
    batches: _Number = 0
    rows_read: _Number = 0
    rows_quarantined: _Number = 0
    files_read: _Number = 0
    bytes_read: _Number = 0
    instant: Instant | None = None
    checkpoint: _Line | None = None
    complete_up_to: _Time | None = None
    backlog_records: _Number | None = None
    backlog_bytes: _Number | None = None
    more_input: bool = False
    rescan: _Line | None = None
    records_skipped: _Number | None = None
    skipped: Annotated[tuple[_Line, ...], Field(max_length=PROGRESS_NAMES)] = ()
    takes: bool = False
    serves: OwnerName | None = None
    made: Annotated[tuple[Instant, ...], Field(max_length=MOST_MADE)] = ()


def decode_progress(content: bytes) -> Progress | None:
    """Read the document; None for what is none that this release can read, which says nothing."""
    return read_document(Progress, content)


def pod_name(name: str) -> str | None:
    """Return what a machine calls itself as the document can hold it; None for what no pod is called."""
    return name if _POD.fullmatch(name) else None


def encode_progress(progress: Progress) -> bytes:
    """Write the document as JSON."""
    return progress.model_dump_json(by_alias=True, exclude_none=True).encode()
