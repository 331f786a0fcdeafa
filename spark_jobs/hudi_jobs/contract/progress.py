"""The progress of a continuous ingestion: a small document in the operator's folder of the table.

The driver that holds the table's lease writes it; the operator reads it beside the record of the owner. The document is
only a hint: the timeline tells what was committed. Whoever may write to the table's folder may write anything into it.
"""

import re
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.table.ownership import OwnerName, read_document

PROGRESS_FILE = "progress.json"
"""The file with the progress of the table's continuous ingestion."""

PROGRESS_NAMES = 3
"""The most places of losses that the document names."""

MOST_MADE = 16
"""The most instants of a batch that the document names."""

_GREATEST = 2**53
_Number = Annotated[int, Field(ge=0, le=_GREATEST)]
_Time = Annotated[str, Field(pattern=r"^[0-9TZ:.+-]{1,40}$")]
_POD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]{0,252}")
_Pod = Annotated[str, Field(pattern=rf"^{_POD.pattern}$")]
_Line = Annotated[str, Field(max_length=512)]


class ProgressState(StrEnum):
    """The current activity of a continuous ingestion."""

    INGESTING = "Ingesting"
    """A batch is under way."""

    WAITING = "Waiting"
    """All available input has been read, or the next batch may not begin yet."""

    ENDING = "Ending"
    """The driver was asked to end, or its time is over: no further batch begins."""


class Progress(Document):
    """The work of a run since it began, and its current activity.

    `sequence` grows with each version of the document. `batches`, rows, files and bytes are sums over the commits of
    the run, and `instant` is its newest commit. `polled_at` is the time of the last look at the source, by the driver's
    clock. `records_skipped` is the sum of the lost messages of a stream, and `skipped` names the places of the last
    loss. The other figures are those of the last batch, under the names of the task's result. `takes` says that table
    services may be ordered from this driver (`order.py`), and `serves` names the run of the service that it does now.
    `made` are the instants that its JVM has made since the current or last batch began: a pending instant of such a
    name belongs to this run, however the run ends. `pod` is the driver's host name, which in Kubernetes is the name of
    its pod. A Job may have had two pods, so the end of a pod is known by its name.
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
    """Read the document; return None for anything that this release cannot read."""
    return read_document(Progress, content)


def pod_name(name: str) -> str | None:
    """Return a host name for the document; None if no pod can have that name."""
    return name if _POD.fullmatch(name) else None


def encode_progress(progress: Progress) -> bytes:
    """Write the document as JSON."""
    return progress.model_dump_json(by_alias=True, exclude_none=True).encode()
