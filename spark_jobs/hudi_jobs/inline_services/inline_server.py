"""The driver's side: a continuous ingestion runs table services for Jobs, one at a time, in turn with its batches.

A service plans and rolls back only between batches: a clustering then never includes a file group that a batch has
begun to change, and a batch never sees a half-done rollback. The rest of a service runs beside the batches, under
Hudi's own lock.

A thread looks for an order every few seconds and executes it with the same steps as a Job, under the ingestion's lease.
The lease may be released only once that thread has ended; a thread that does not end is ended with the JVM.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import Protocol, Self

from hudi_jobs.contract import (
    ORDER_FILE,
    FailureReason,
    MaintenanceTableTask,
    OrderState,
    Outcome,
    PlannedServiceTask,
    PlannedTask,
    Service,
    ServiceOrder,
    TaskResult,
    decode_order,
    encode_order,
)
from hudi_jobs.lease.leases import Lease, VersionConflict
from hudi_jobs.lease.stores import TableFiles
from hudi_jobs.spark.jvm import end_jvm


class InlineQueue:
    """Gives turns to a batch loop and a service. A waiting service goes before the next batch."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._batch: int | None = None
        self._resting: int | None = None
        self._waiting = 0

    @contextmanager
    def batch(self) -> Iterator[None]:
        """Hold a batch's turn."""
        with self._changed:
            self._changed.wait_for(lambda: self._resting is None and not self._waiting)
            self._batch = threading.get_ident()
        try:
            yield
        finally:
            with self._changed:
                self._batch = None
                self._changed.notify_all()

    @contextmanager
    def at_rest(self) -> Iterator[None]:
        """Block new batches once the current batch has ended; nested use in one's own turn does not wait."""
        if threading.get_ident() in {self._batch, self._resting}:
            yield
            return
        with self._changed:
            self._waiting += 1
            try:
                self._changed.wait_for(lambda: self._batch is None and self._resting is None)
            finally:
                self._waiting -= 1
            self._resting = threading.get_ident()
        try:
            yield
        finally:
            with self._changed:
                self._resting = None
                self._changed.notify_all()


_LOOKS_EVERY_SECONDS = 3.0
_CANCELS_EVERY_SECONDS = 0.5
_ENDS_WITHIN_SECONDS = 60.0
"""The longest time for a service to end after its Spark jobs are cancelled."""
_LOGGER = logging.getLogger(__name__)


class Performer(Protocol):
    """Runs a task for another run, under this run's lease; never raises."""

    def __call__(self, task: MaintenanceTableTask, *, run: str, lease: Lease, queue: InlineQueue) -> TaskResult:
        """Return the task's result."""


class InlineServer:
    """Accepts and runs orders beside the batches of a continuous run; a context manager via `open`.

    `cancel` ends any running Spark job.
    """

    def __init__(
        self, run: str, tasks: tuple[MaintenanceTableTask, ...], perform: Performer, *, cancel: Callable[[], None]
    ) -> None:
        self._run = run
        self._tasks: Mapping[Service, MaintenanceTableTask] = {task.service: task for task in tasks}
        self._perform = perform
        self._cancel = cancel
        self._closing = threading.Event()
        self._cancelled = threading.Event()
        self._may_take, self._may_begin = threading.Event(), threading.Event()
        self._may_take.set()
        self._may_begin.set()
        self._is_idle = threading.Event()
        self._is_idle.set()
        self._begun = 0
        self._serves: str | None = None
        self._last: tuple[ServiceOrder, TaskResult] | None = None
        self.queue = InlineQueue()

    @property
    def takes(self) -> bool:
        """Whether an order would be accepted."""
        return bool(self._tasks) and self._may_take.is_set()

    @property
    def serves(self) -> str | None:
        """The run of the service in progress, or None."""
        return self._serves

    @property
    def begun(self) -> int:
        """The number of services begun."""
        return self._begun

    def was_at_work_since(self, begun: int, *, was_idle: bool) -> bool:
        """Tell whether a service was in progress at any time since `begun` services had started."""
        return not was_idle or self._begun > begun

    def wait_until_idle(self, seconds: float) -> bool:
        """Wait for the current service to end; return True if none is in progress."""
        return self._is_idle.wait(seconds)

    def take_no_more(self) -> None:
        """Accept no further orders; the current service continues and is answered."""
        self._may_take.clear()

    def let_begin(self, *, may: bool) -> None:
        """Allow or forbid the start of services; forbidden until a batch that gave way to a service is committed."""
        if may:
            self._may_begin.set()
        else:
            self._may_begin.clear()

    def open(self, files: TableFiles, lease: Lease, *, drain_seconds: float) -> "_Open":
        """Return a context manager within which orders are accepted."""
        return _Open(self, files, lease, drain_seconds)

    def look(self, files: TableFiles, lease: Lease) -> None:
        """Check for an order, and execute it."""
        found = files.read(ORDER_FILE)
        order = None if found is None else decode_order(found[0])
        if found is None or order is None or order.driver != self._run:
            return
        if order.state is OrderState.TAKEN:
            self._answer(files, order, found[1])  # the store did not accept the answer before
        if order.state is not OrderState.ASKED:
            return
        self._is_idle.clear()
        try:
            if self._may_begin.is_set() and self._may_take.is_set():
                self._begun += 1
                self._serves = order.run
                self._serve(files, order, lease, found[1])
        finally:
            self._serves = None
            self._is_idle.set()

    def _serve(self, files: TableFiles, order: ServiceOrder, lease: Lease, version: str) -> None:
        taken = order.copy_with(state=OrderState.TAKEN, result=None)
        content = encode_order(taken)
        try:
            version = files.write(ORDER_FILE, content, expected=version)
        except VersionConflict:
            found = files.read(ORDER_FILE)
            if found is None or found[0] != content:
                return  # the order was withdrawn
            version = found[1]
        self._last = (order, self._result(order, lease))
        self._answer(files, taken, version)

    def _result(self, order: ServiceOrder, lease: Lease) -> TaskResult:
        template = self._tasks.get(order.service)
        if template is None:
            return _failed(
                order,
                f"This driver was started without a template for the service {order.service}, so it "
                "cannot run that service beside its batches.",
            )
        task = template.copy_with(abandoned=order.abandoned, dead=order.dead)
        if isinstance(task, PlannedTask):
            task = task.copy_with(planned=PlannedServiceTask(mode=order.mode, instant=order.instant))
        result = self._perform(task, run=order.run, lease=lease, queue=self.queue)
        if self._cancelled.is_set() and result.outcome is Outcome.FAILED:
            why = "The driver ended before the service did. The next run finishes or rolls back what it left."
            return result.copy_with(reason=FailureReason.INTERRUPTED, message=why)
        return result

    def _answer(self, files: TableFiles, order: ServiceOrder, version: str) -> None:
        """Write the answer to an accepted order; a write that fails is repeated at a later check."""
        last, result = self._last or (None, None)
        if result is None or not order.is_same(last):
            result = _failed(order, "This driver is not executing the service that the order says it accepted.")
        done = order.copy_with(state=OrderState.DONE, result=result)
        try:
            files.write(ORDER_FILE, encode_order(done), expected=version)
        except VersionConflict:
            _LOGGER.warning("the order was replaced before it was answered", extra={"fields": {"run": order.run}})

    def look_until_closed(self, files: TableFiles, lease: Lease) -> None:
        """Check for orders until closed; failures of the store are retried."""
        while not self._closing.wait(_LOOKS_EVERY_SECONDS):
            try:
                self.look(files, lease)
            except Exception:
                _LOGGER.warning("an order could not be read or answered", exc_info=True)

    def close(self, thread: threading.Thread, *, drain_seconds: float) -> None:
        """Accept no further orders, and let the current service end, or cancel it after its time."""
        self.take_no_more()
        self._closing.set()
        thread.join(drain_seconds)
        deadline = time.monotonic() + _ENDS_WITHIN_SECONDS
        while thread.is_alive() and time.monotonic() < deadline:
            self._cancelled.set()
            try:
                self._cancel()
            except Exception:
                # Spark may have stopped in a living JVM; the lease is still released only after the thread ends.
                _LOGGER.warning("the jobs of a table service could not be cancelled", exc_info=True)
            thread.join(_CANCELS_EVERY_SECONDS)
        if thread.is_alive():
            _LOGGER.error("a table service did not end; ending the JVM before the lease is released")
            end_jvm()
            thread.join(_ENDS_WITHIN_SECONDS)


class _Open:
    """The time during which orders are accepted."""

    def __init__(self, host: InlineServer, files: TableFiles, lease: Lease, drain_seconds: float) -> None:
        self._host = host
        self._drain_seconds = drain_seconds
        self._thread = threading.Thread(target=host.look_until_closed, args=(files, lease), daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._host.close(self._thread, drain_seconds=self._drain_seconds)


def _failed(order: ServiceOrder, message: str) -> TaskResult:
    return TaskResult(id=order.run, outcome=Outcome.FAILED, reason=FailureReason.INVALID_REQUEST, message=message)
