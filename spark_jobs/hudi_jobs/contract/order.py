"""A table service that a continuous ingestion does beside its batches: the Job's order, and the driver's answer.

The Job writes the order into the operator's folder of the table, and the driver that holds the table's lease answers in
the same file. Whoever may write to the table's folder may write anything into it, so an order only chooses among the
tasks of the driver's own request, and brings neither options nor paths.
"""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.outcome import TaskResult
from hudi_jobs.contract.table.ownership import OPERATOR_FILE_LIMIT, OwnerName, read_document
from hudi_jobs.contract.vocabulary import RunMode, Service

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
    return order.model_dump_json(by_alias=True, exclude_none=True).encode()
