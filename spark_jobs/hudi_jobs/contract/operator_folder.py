"""The documents in the operator's own folder of a table: its owner, the progress of drivers, and orders to them.

The driver that holds the table's lease writes the documents, and the operator reads them. Progress is only a hint: the
outcome and the timeline decide. The progress of an operation has the rows of each partition, which are too many for an
outcome. The Job of a table service writes its order, and the driver answers in the same file.

Whoever may write to the table's folder may write anything into a document. So an order only chooses among the tasks of
the driver's own request, and brings neither options nor paths.
"""

import re
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.operations.operation import OperationPhase
from hudi_jobs.contract.outcome import TaskResult
from hudi_jobs.contract.usage import OptionalUsage
from hudi_jobs.contract.vocabulary import RunMode, Service

OPERATOR_FOLDER = ".hudi-operator"
"""The operator's own folder in a table's folder. It is beside `.hoodie`, because Hudi takes a `.hoodie` for a table."""

OWNER_FILE = "owner.json"
"""The record of the owner; drivers with a lease on the table write it, operators read it before they start anything."""

OPERATOR_FILE_LIMIT = 8192
"""The most bytes of a file in the operator's folder: a larger file was not written by a driver and is not read."""

OwnerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", max_length=330)]
_Document = TypeVar("_Document", bound=Document)
_Time = Annotated[str, Field(pattern=r"^[0-9TZ:.+-]{1,40}$")]


class TableOwner(Document):
    """A resource of an operator.

    `operator` is equal in all replicas and restarts of an operator, and differs between operators; `table` is for
    people.
    """

    operator: OwnerName
    table_uid: OwnerName
    table: OwnerName


class OwnerRecord(TableOwner):
    """The owner of the table, the start of the ownership, and the run that confirmed it last."""

    version: Literal[1] = 1
    run: OwnerName
    since: _Time
    renewed_at: _Time


class UnreadableOwner(ValueError):
    """The file is no record of an owner that this release can read."""


def read_document(kind: type[_Document], content: bytes) -> _Document | None:
    """Read a file of the operator's folder; return None for anything that this release cannot read."""
    if len(content) > OPERATOR_FILE_LIMIT:
        return None
    try:
        return kind.model_validate_json(content)
    except (ValidationError, RecursionError):
        return None


def write_document(document: Document) -> bytes:
    """Write a file of the operator's folder as JSON."""
    return document.model_dump_json(by_alias=True, exclude_none=True).encode()


def decode_owner(content: bytes) -> OwnerRecord:
    """Read the record; raise `UnreadableOwner` for anything else, such as a record of another release."""
    if len(content) > OPERATOR_FILE_LIMIT:
        raise UnreadableOwner("it is larger than any record")
    try:
        return OwnerRecord.model_validate_json(content)
    except ValidationError as error:
        raise UnreadableOwner("it holds no record that this release can read") from error


def encode_owner(record: OwnerRecord) -> bytes:
    """Write the record as JSON."""
    return record.model_dump_json(by_alias=True).encode()


PROGRESS_FILE = "progress.json"
"""The file with the progress of the table's continuous ingestion."""

PROGRESS_NAMES = 3
"""The most places of losses that the document names."""

MOST_MADE = 16
"""The most instants of a batch that the document names."""

_GREATEST = 2**53
_Number = Annotated[int, Field(ge=0, le=_GREATEST)]
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
    its pod. A Job may have had two pods, so the end of a pod is known by its name. `usage` is the use of the Spark
    application so far.
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
    usage: OptionalUsage = None


def decode_progress(content: bytes) -> Progress | None:
    """Read the document; return None for anything that this release cannot read."""
    return read_document(Progress, content)


def pod_name(name: str) -> str | None:
    """Return a host name for the document; None if no pod can have that name."""
    return name if _POD.fullmatch(name) else None


def encode_progress(progress: Progress) -> bytes:
    """Write the document as JSON."""
    return write_document(progress)


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
    return write_document(told)


ORDER_FILE = "order.json"
"""The file with the current or last order."""

MOST_ABANDONED = 100
"""The most abandoned instants that an order names."""

_MESSAGE_LENGTHS = (1000, 400, 160, 0)


class OrderState(StrEnum):
    """The progress of an order."""

    ASKED = "Asked"
    """The Job has written the order."""

    TAKEN = "Taken"
    """The driver runs the service."""

    DONE = "Done"
    """The driver has answered."""

    WITHDRAWN = "Withdrawn"
    """The Job has withdrawn the order before the driver took it."""


class ServiceOrder(Document):
    """The order of the run `run` to the driver of the run `driver` to do one table service.

    `attempt` tells two processes of one run apart. `mode`, `instant`, `abandoned` and `dead` have the same meaning as
    in a task.
    """

    version: Literal[1] = 1
    run: OwnerName
    driver: OwnerName
    attempt: Annotated[str, Field(pattern=r"^[0-9a-f]{1,32}$")]
    state: OrderState
    service: Service
    mode: RunMode = RunMode.SCHEDULE_AND_EXECUTE
    instant: Instant | None = None
    abandoned: Annotated[tuple[Instant, ...], Field(max_length=MOST_ABANDONED)] = ()
    dead: Annotated[tuple[Instant, ...], Field(max_length=MOST_ABANDONED)] = ()
    result: TaskResult | None = None

    def is_same(self, other: "ServiceOrder | None") -> bool:
        """Tell whether another document is about the same order, in any state."""
        return other is not None and (self.run, self.driver, self.attempt) == (other.run, other.driver, other.attempt)


def decode_order(content: bytes) -> ServiceOrder | None:
    """Read the document; return None for anything that this release cannot read, which orders nothing."""
    return read_document(ServiceOrder, content)


def encode_order(order: ServiceOrder) -> bytes:
    """Write the document within the limit of a read; a long result loses the tail of its message first."""
    content = _dump(order)
    for length in _MESSAGE_LENGTHS:
        if len(content) <= OPERATOR_FILE_LIMIT or order.result is None:
            break
        shortened = order.result.copy_with(message=order.result.message[:length], affected=())
        content = _dump(order.copy_with(result=shortened, abandoned=(), dead=()))
    return content


def _dump(order: ServiceOrder) -> bytes:
    return write_document(order)
