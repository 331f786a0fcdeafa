"""The Job's side: it hands its table service to the driver of a continuous ingestion, and reports what becomes of it.

It starts no Spark and writes nothing but the order. Whether the driver lives, its lease on the table says: one that is
not renewed for as long as a lease counts has ended. Then the run has failed like one whose own driver died, and
the next run settles what was left.
"""

import logging
import os
import threading
from collections.abc import Callable

from hudi_jobs.contract import (
    MOST_ABANDONED,
    ORDER_FILE,
    FailureReason,
    OrderState,
    Outcome,
    PlannedServiceTask,
    ServiceOrder,
    TableTask,
    TaskResult,
    decode_order,
    encode_order,
)
from hudi_jobs.failures import DriverStopping, TaskFailed
from hudi_jobs.lease.exclusive import SERVICES_LEASE
from hudi_jobs.lease.leases import State, VersionConflict, boot_time, decode
from hudi_jobs.lease.stores import TableFiles

TAKES_WITHIN_SECONDS = 180.0
"""How long an order may wait for the driver; after that the operator has the service done in the driver's place."""

_LOOKS_EVERY_SECONDS = 2.0
_LOGGER = logging.getLogger(__name__)
_OPEN = frozenset({OrderState.ASKED, OrderState.TAKEN})


class Courier:
    """Hands over one task of one run."""

    def __init__(
        self,
        task: TableTask,
        run: str,
        files: TableFiles,
        stopping: threading.Event,
        *,
        patience: float = TAKES_WITHIN_SECONDS,
        clock: Callable[[], float] = boot_time,
    ) -> None:
        self._task = task
        self._files = files
        self._stopping = stopping
        self._patience = patience
        self._clock = clock
        self._holder = _Holder(files, task, clock)
        planned = task.planned or PlannedServiceTask()
        self._order = ServiceOrder(
            run=run,
            driver=task.inside or "",
            attempt=os.urandom(8).hex(),
            state=OrderState.ASKED,
            service=task.service,
            mode=planned.mode,
            instant=planned.instant,
            abandoned=(task.abandoned or ())[:MOST_ABANDONED],
            dead=task.dead[:MOST_ABANDONED],
        )

    def result(self) -> TaskResult:
        """Return what became of the task; raise `TaskFailed` when the driver has ended, or `DriverStopping`."""
        until = self._clock() + self._patience
        refused = self._ask(until)
        if refused is not None:
            return refused
        seen = self._clock()
        while True:
            self._stopping.wait(_LOOKS_EVERY_SECONDS)
            try:
                result = self._looked(until)
            except (TaskFailed, DriverStopping):
                raise
            except Exception:
                # The store may be away for a while, and the driver is at it all the same.
                if self._stopping.is_set() or self._clock() - seen > self._patience:
                    raise
                _LOGGER.warning("the order cannot be read", exc_info=True)
            else:
                seen = self._clock()
                if result is not None:
                    return result

    def _ask(self, until: float) -> TaskResult | None:
        """Write the order as soon as the driver is free; return why it is not written, or None."""
        while not self._asked():
            if not self._holder.lives():
                return self._not_begun()
            if self._clock() >= until:
                return self._fenced(f"Run {self._order.driver} is still executing a service for another run.")
            if self._stopping.wait(_LOOKS_EVERY_SECONDS):
                raise DriverStopping
        return None

    def _looked(self, until: float) -> TaskResult | None:
        """Look at the order once; return what became of it, or None as long as that is open."""
        order, version = self._read()
        if order is None or not self._order.is_same(order):
            return self._fenced("Another run replaced this run's service order.")
        if (answer := self._answer(order)) is not None:
            return answer
        late = order.state is OrderState.ASKED and self._clock() >= until
        if (late or self._stopping.is_set()) and self._withdrawn(order, version):
            return self._fenced(f"Run {self._order.driver} did not accept the service in time.")
        if self._holder.lives():
            return None
        if order.state is not OrderState.ASKED:
            return self._ended()
        return self._not_begun() if self._withdrawn(order, version) else None

    def _asked(self) -> bool:
        """Write the order unless another one is under way with this driver; tell whether it is there."""
        other, version = self._read()
        if self._order.is_same(other):
            return True  # the reply to an earlier write was lost
        if other is not None and other.driver == self._order.driver and other.state in _OPEN:
            return False
        try:
            self._files.write(ORDER_FILE, encode_order(self._order), expected=version)
        except VersionConflict:
            return False
        return True

    def _read(self) -> tuple[ServiceOrder | None, str | None]:
        """Return the order that is there, and the version of its file."""
        found = self._files.read(ORDER_FILE)
        return (None, None) if found is None else (decode_order(found[0]), found[1])

    def _answer(self, order: ServiceOrder | None) -> TaskResult | None:
        """Return what the driver has answered to this very order, or None."""
        if order is None or not self._order.is_same(order) or order.state is not OrderState.DONE:
            return None
        return None if order.result is None else order.result.model_copy(update={"id": self._task.id})

    def _withdrawn(self, order: ServiceOrder, version: str | None) -> bool:
        """Take the order back unless the driver has taken it; of one that it has, a pod that ends tells nothing."""
        if order.state is not OrderState.ASKED:
            raise DriverStopping
        try:
            withdrawn = order.model_copy(update={"state": OrderState.WITHDRAWN})
            self._files.write(ORDER_FILE, encode_order(withdrawn), expected=version)
        except VersionConflict:
            return False
        if self._stopping.is_set():
            raise DriverStopping
        return True

    def _ended(self) -> TaskResult:
        """Say that the driver has ended, unless it has answered just before."""
        order, _ = self._read()
        if (answer := self._answer(order)) is not None:
            return answer
        raise TaskFailed(
            FailureReason.INTERRUPTED,
            f"Run {self._order.driver} ended while executing this service. The next run finishes or rolls back what "
            "it left.",
        )

    def _not_begun(self) -> TaskResult:
        """Say that the driver has not begun it: one that has ended, as where it is recycled, is no failure."""
        if not self._holder.has_left:
            return self._fenced(f"Run {self._order.driver} no longer renews its lease on the table.")
        return TaskResult(
            id=self._task.id,
            outcome=Outcome.NOTHING_TO_DO,
            reason=FailureReason.DRIVER_ENDED,
            message=f"Run {self._order.driver} ended before it started this service; the service runs afterwards.",
        )

    def _fenced(self, message: str) -> TaskResult:
        return TaskResult(id=self._task.id, outcome=Outcome.FENCED, message=message)


class _Holder:
    """Whether the run that is asked holds the table's lease, as it is seen to renew it."""

    def __init__(self, files: TableFiles, task: TableTask, clock: Callable[[], float]) -> None:
        self._files = files
        self._run = task.inside
        self._seconds = task.lease_seconds
        self._clock = clock
        self._version: str | None = None
        self._since = 0.0
        self.has_left = False

    def lives(self) -> bool:
        """Tell whether the run holds the lease and has renewed it within the time that a lease counts.

        `has_left` then says whether it was the run itself that has given it back, or another that has it since.
        """
        found = self._files.read(SERVICES_LEASE)
        content = None if found is None else decode(found[0])
        self.has_left = content is not None and (content.run != self._run or content.state is not State.HELD)
        if found is None or content is None or self.has_left:
            return False
        if found[1] != self._version:
            self._version, self._since = found[1], self._clock()
        return self._clock() - self._since <= self._seconds
