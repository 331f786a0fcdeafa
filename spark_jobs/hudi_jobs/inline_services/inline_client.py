"""The Job's side: hands its table service to the driver of a continuous ingestion, and reports the result.

Outside the process the table stays Serialized: the lease keeps every other run away. Inside it, Hudi's optimistic
concurrency control separates batches and services with a lock of the JVM, as HoodieStreamer does for its own services.

A Job that hands its service over starts no Spark and writes only the order. The driver's lease on the table tells
whether the driver lives: a lease not renewed for its full duration has ended. Then the run has failed as if its own
driver had died, and the next run settles what was left.
"""

import logging
import os
import threading
from collections.abc import Callable
from typing import TypeVar

from hudi_jobs.contract import (
    MOST_ABANDONED,
    ORDER_FILE,
    ConcurrencyMode,
    FailureReason,
    MaintenanceTask,
    OrderState,
    Outcome,
    PlannedServiceTask,
    PlannedTask,
    ServiceOrder,
    Task,
    TaskResult,
    decode_order,
    encode_order,
)
from hudi_jobs.contract.run_progress import SERVICES_LEASE
from hudi_jobs.lease.leases import State, VersionConflict, boot_time, decode
from hudi_jobs.lease.stores import TableFiles
from hudi_jobs.spark.failures import DriverStopping, TaskFailed

T = TypeVar("T", bound=Task)
_TRANSACTION = "org.apache.hudi.client.transaction"

IN_ONE_PROCESS = {
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.write.lock.provider": f"{_TRANSACTION}.lock.InProcessLockProvider",
    "hoodie.write.lock.conflict.resolution.strategy": (
        f"{_TRANSACTION}.SimpleConcurrentFileWritesConflictResolutionStrategy"
    ),
    # One writer must not roll back another's pending work.
    "hoodie.clean.failed.writes.policy": "LAZY",
    # A batch that would change a file group of a pending clustering is refused before it writes, and repeated
    # afterwards.
    "hoodie.clustering.updates.strategy": (
        "org.apache.hudi.client.clustering.update.strategy.SparkRejectUpdateStrategy"
    ),
    "hoodie.clustering.rollback.pending.replacecommit.on.conflict": "false",
}


def with_inline_services(task: T) -> T:
    """Return the ingestion task with options that allow services beside its batches."""
    return task.copy_with(hudi_options={**task.hudi_options, **IN_ONE_PROCESS})


def as_inline_service(task: T) -> T:
    """Return the table service task with options for running beside the batches of an ingestion."""
    options = {**task.hudi_options, **IN_ONE_PROCESS}
    return task.copy_with(hudi_options=options, concurrency=ConcurrencyMode.OPTIMISTIC)


TAKES_WITHIN_SECONDS = 180.0
"""The longest time that an order waits for the driver; then the operator runs the service in its own Job."""

_LOOKS_EVERY_SECONDS = 2.0
_LOGGER = logging.getLogger(__name__)
_OPEN = frozenset({OrderState.ASKED, OrderState.TAKEN})


class InlineClient:
    """Hands over a task of a run."""

    def __init__(
        self,
        task: MaintenanceTask,
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
        planned = task.planned if isinstance(task, PlannedTask) else PlannedServiceTask()
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
        """Return the task's result; raise `TaskFailed` when the driver has ended, or `DriverStopping`."""
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
                # The store may be unavailable for a while; the driver works on regardless.
                if self._stopping.is_set() or self._clock() - seen > self._patience:
                    raise
                _LOGGER.warning("the order cannot be read", exc_info=True)
            else:
                seen = self._clock()
                if result is not None:
                    return result

    def _ask(self, until: float) -> TaskResult | None:
        """Write the order as soon as the driver is free; return the reason if it is not written, or None."""
        while not self._asked():
            if not self._holder.lives():
                return self._not_begun()
            if self._clock() >= until:
                return self._fenced(f"Run {self._order.driver} is still executing a service for another run.")
            if self._stopping.wait(_LOOKS_EVERY_SECONDS):
                raise DriverStopping
        return None

    def _looked(self, until: float) -> TaskResult | None:
        """Check the order once; return its result, or None while it is open."""
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
        """Write the order unless the driver has another order open; return True once the order is written."""
        other, version = self._read()
        if self._order.is_same(other):
            return True  # the response to an earlier write was lost
        if other is not None and other.driver == self._order.driver and other.state in _OPEN:
            return False
        try:
            self._files.write(ORDER_FILE, encode_order(self._order), expected=version)
        except VersionConflict:
            return False
        return True

    def _read(self) -> tuple[ServiceOrder | None, str | None]:
        """Return the current order and the version of its file."""
        found = self._files.read(ORDER_FILE)
        return (None, None) if found is None else (decode_order(found[0]), found[1])

    def _answer(self, order: ServiceOrder | None) -> TaskResult | None:
        """Return the driver's answer to this very order, or None."""
        if order is None or not self._order.is_same(order) or order.state is not OrderState.DONE:
            return None
        return None if order.result is None else order.result.copy_with(id=self._task.id)

    def _withdrawn(self, order: ServiceOrder, version: str | None) -> bool:
        """Withdraw the order unless the driver has taken it; a taken order tells nothing about an ending pod."""
        if order.state is not OrderState.ASKED:
            raise DriverStopping
        try:
            withdrawn = order.copy_with(state=OrderState.WITHDRAWN)
            self._files.write(ORDER_FILE, encode_order(withdrawn), expected=version)
        except VersionConflict:
            return False
        if self._stopping.is_set():
            raise DriverStopping
        return True

    def _ended(self) -> TaskResult:
        """Raise the failure of an ended driver, unless it answered just before."""
        order, _ = self._read()
        if (answer := self._answer(order)) is not None:
            return answer
        raise TaskFailed(
            FailureReason.INTERRUPTED,
            f"Run {self._order.driver} ended while executing this service. The next run finishes or rolls back what "
            "it left.",
        )

    def _not_begun(self) -> TaskResult:
        """Report that the driver has not begun the service; no failure if the driver ended, as for recycling."""
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
    """Watches whether the driver holds and renews the table's lease."""

    def __init__(self, files: TableFiles, task: MaintenanceTask, clock: Callable[[], float]) -> None:
        self._files = files
        self._run = task.inside
        self._seconds = task.lease_seconds
        self._clock = clock
        self._version: str | None = None
        self._since = 0.0
        self.has_left = False

    def lives(self) -> bool:
        """Tell whether the run holds the lease and has renewed it within the lease's duration.

        `has_left` tells whether the run itself released the lease, or another run has it since.
        """
        found = self._files.read(SERVICES_LEASE)
        content = None if found is None else decode(found[0])
        self.has_left = content is not None and (content.run != self._run or content.state is not State.HELD)
        if found is None or content is None or self.has_left:
            return False
        if found[1] != self._version:
            self._version, self._since = found[1], self._clock()
        return self._clock() - self._since <= self._seconds
