"""How a Job hands a table service over to a driver: the file that both write, without a JVM."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tasks import task_of

from hudi_jobs.contract import (
    OPERATOR_FILE_LIMIT,
    ORDER_FILE,
    ConcurrencyMode,
    FailureReason,
    OrderState,
    Outcome,
    PlannedServiceTask,
    RunMode,
    Service,
    ServiceOrder,
    TaskResult,
    decode_order,
    encode_order,
)
from hudi_jobs.inline_services import inline_client, inline_server
from hudi_jobs.inline_services.inline_client import IN_ONE_PROCESS, InlineClient, as_inline_service
from hudi_jobs.inline_services.inline_server import InlineQueue, InlineServer
from hudi_jobs.lease.leases import Lease, take
from hudi_jobs.lease.stores import LocalFiles, TableFile
from hudi_jobs.spark.failures import DriverStopping, TaskFailed

DRIVER, RUN = "flights-ingestion-1", "flights-compaction-1"


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inline_client, "_LOOKS_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(inline_server, "_LOOKS_EVERY_SECONDS", 0.01)
    monkeypatch.setattr(inline_server, "_CANCELS_EVERY_SECONDS", 0.01)


def task(service: Service = Service.COMPACTION, **changes: Any) -> Any:
    return task_of(service, **{"hudi_options": {"own": "1"}, "lease_seconds": 0.3, **changes})


class Driver:
    """A driver that holds the lease of a table, and does services as a test says."""

    def __init__(self, folder: Path) -> None:
        self.files = LocalFiles(folder)
        self.done: list[tuple[str, Any]] = []
        self.may_end, self.cancelled = threading.Event(), threading.Event()
        self.may_end.set()
        self.host = InlineServer(DRIVER, (task(), task(Service.CLEANING)), self.perform, cancel=self.cancelled.set)

    def perform(self, task: Any, *, run: str, lease: Lease, queue: InlineQueue) -> TaskResult:
        assert (lease is self.lease, queue is self.host.queue) == (True, True)
        self.done.append((run, task))
        while not self.may_end.wait(0.01):
            if self.cancelled.is_set():
                return TaskResult(id=task.id, outcome=Outcome.FAILED, reason=FailureReason.HUDI_ERROR)
        return TaskResult(id=task.id, outcome=Outcome.SUCCEEDED, instant="20260101000000000")

    @contextmanager
    def at_work(self, *, drain_seconds: float = 5) -> Iterator[None]:
        with self.leased(), self.host.open(self.files, self.lease, drain_seconds=drain_seconds):
            yield

    @contextmanager
    def leased(self) -> Iterator[None]:
        taken = take([TableFile(self.files, "services.json")], run=DRIVER, lease_seconds=0.1)
        assert isinstance(taken, Lease)
        self.lease = taken
        over = threading.Event()

        def renew() -> None:
            while not over.wait(0.02):
                taken.renew()

        renewing = threading.Thread(target=renew)
        renewing.start()
        try:
            yield
        finally:
            over.set()
            renewing.join()

    def order(self) -> ServiceOrder | None:
        found = self.files.read(ORDER_FILE)
        return None if found is None else decode_order(found[0])

    def put(self, **changes: Any) -> ServiceOrder:
        """Write an order whatever is there."""
        base = {"run": RUN, "driver": DRIVER, "attempt": "ab", "state": OrderState.ASKED, "service": "Compaction"}
        made = ServiceOrder.model_validate({**base, **changes})
        found = self.files.read(ORDER_FILE)
        self.files.write(ORDER_FILE, encode_order(made), expected=None if found is None else found[1])
        return made


@pytest.fixture
def driver(tmp_path: Path) -> Driver:
    return Driver(tmp_path / "own")


def asks(driver: Driver, asked: Any | None = None, **changes: Any) -> InlineClient:
    asked = (asked or task()).copy_with(inside=DRIVER)
    return InlineClient(
        asked, RUN, driver.files, changes.pop("stopping", threading.Event()), **{"patience": 5, **changes}
    )


def wait_until(happened: Any) -> None:
    deadline = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def in_thread(courier: InlineClient) -> tuple[threading.Thread, list[Any]]:
    answers: list[Any] = []

    def ask() -> None:
        try:
            answers.append(courier.result())
        except (TaskFailed, DriverStopping) as error:
            answers.append(error)

    thread = threading.Thread(target=ask)
    thread.start()
    return thread, answers


def test_a_service_is_done_by_the_driver_and_reported_by_the_job(driver: Driver) -> None:
    asked = task(
        planned=PlannedServiceTask(mode=RunMode.EXECUTE, instant="20260101"), abandoned=("20260101",), id="own"
    )
    with driver.at_work():
        result = asks(driver, asked).result()
    assert (result.id, result.outcome, result.instant) == ("own", Outcome.SUCCEEDED, "20260101000000000")
    [(run, done)] = driver.done
    assert (run, done.planned, done.abandoned) == (RUN, asked.planned, asked.abandoned)
    assert done.hudi_options == {"own": "1"}, "what the driver was told with its own request"


def test_an_order_brings_neither_options_nor_services_that_the_driver_was_not_told(driver: Driver) -> None:
    with driver.at_work():
        results = [asks(driver, task(Service.CLUSTERING)).result()]
        driver.put(service=Service.DELETION)  # no task of a deletion can be handed over, but a file can say so
        wait_until(lambda: (found := driver.order()) is not None and found.result is not None)
        results += [found.result for found in [driver.order()] if found is not None and found.result is not None]
    assert len(results) == 2
    assert {(one.outcome, one.reason) for one in results} == {(Outcome.FAILED, FailureReason.INVALID_REQUEST)}
    assert driver.done == []


def test_order_for_another_driver_is_left_alone(driver: Driver) -> None:
    with driver.at_work():
        before = driver.put(driver="another-run")
        driver.files.write("other.json", b"", expected=None)
        time.sleep(0.1)
        assert driver.order() == before
        content, version = driver.files.read(ORDER_FILE) or (b"", "")
        driver.files.write(ORDER_FILE, b'{"run": 1' + content, expected=version)
        time.sleep(0.1)
        assert driver.done == []
        assert asks(driver).result().outcome is Outcome.SUCCEEDED, "and takes nobody's place"


def test_a_driver_that_does_not_take_an_order_is_not_waited_for(driver: Driver) -> None:
    with driver.leased():
        result = asks(driver, patience=0.1).result()
    assert (result.outcome, "in time" in result.message) == (Outcome.FENCED, True)
    order = driver.order()
    assert order is not None
    assert order.state is OrderState.WITHDRAWN
    with driver.at_work():
        time.sleep(0.1)
        assert driver.done == [], "what was withdrawn is not done"


def test_a_run_that_does_not_work_on_the_table_is_asked_for_nothing(driver: Driver) -> None:
    driver.put(state=OrderState.TAKEN)
    result = asks(driver).result()
    assert (result.outcome, "no longer renews" in result.message) == (Outcome.FENCED, True)


def test_a_driver_that_ends_before_it_takes_an_order_has_failed_nothing_and_never_takes_it(driver: Driver) -> None:
    """As one that is recycled in the very moment in which it is asked."""
    with driver.leased():
        thread, answers = in_thread(asks(driver))
        wait_until(lambda: driver.order() is not None)
    driver.lease.release()
    thread.join(10)
    assert (answers[0].outcome, answers[0].reason) == (Outcome.NOTHING_TO_DO, FailureReason.DRIVER_ENDED)
    assert asks(driver).result().reason is FailureReason.DRIVER_ENDED, "nor is one asked that has left"
    with driver.at_work():
        time.sleep(0.1)
        assert driver.done == [], "what was withdrawn is not done"


def test_a_driver_that_does_not_renew_its_lease_may_be_frozen_and_is_not_taken_for_one_that_has_ended(
    driver: Driver,
) -> None:
    with driver.leased():
        thread, answers = in_thread(asks(driver))
        wait_until(lambda: driver.order() is not None)
    thread.join(10)
    assert answers[0].outcome is Outcome.FENCED
    with driver.at_work():
        time.sleep(0.1)
        assert driver.done == [], "what was withdrawn is not done"


def test_a_driver_that_takes_no_more_ends_what_it_is_at_and_answers(driver: Driver) -> None:
    driver.may_end.clear()
    with driver.at_work():
        first, answers = in_thread(asks(driver))
        wait_until(lambda: driver.done)
        driver.host.take_no_more()
        assert (driver.host.takes, driver.host.wait_until_idle(0)) == (False, False)
        driver.may_end.set()
        first.join(10)
        assert driver.host.wait_until_idle(10)
        second = asks(driver, patience=0.1).result()
    assert (answers[0].outcome, second.outcome) == (Outcome.SUCCEEDED, Outcome.FENCED)
    assert len(driver.done) == 1


def test_a_driver_that_dies_within_a_service_fails_the_run(driver: Driver) -> None:
    with driver.leased():
        thread, answers = in_thread(asks(driver))
        wait_until(lambda: driver.order() is not None)
        driver.put(**(driver.order() or driver.put()).copy_with(state=OrderState.TAKEN).model_dump())
    thread.join(10)
    [error] = answers
    assert isinstance(error, TaskFailed)
    assert error.reason is FailureReason.INTERRUPTED


def test_one_service_is_done_at_a_time_and_the_next_waits(driver: Driver) -> None:
    driver.may_end.clear()
    with driver.at_work():
        first, answers = in_thread(asks(driver))
        wait_until(lambda: driver.done)
        assert driver.host.serves == RUN
        second = asks(driver, patience=0.05).result()
        assert (second.outcome, "another run" in second.message) == (Outcome.FENCED, True)
        driver.may_end.set()
        first.join(10)
    assert answers[0].outcome is Outcome.SUCCEEDED
    assert len(driver.done) == 1


def test_a_driver_that_ends_lets_the_service_end(driver: Driver) -> None:
    driver.may_end.clear()
    with driver.at_work():
        thread, answers = in_thread(asks(driver))
        wait_until(lambda: driver.done)
        threading.Timer(0.1, driver.may_end.set).start()
    thread.join(10)
    assert (answers[0].outcome, driver.cancelled.is_set()) == (Outcome.SUCCEEDED, False)


def test_a_service_that_takes_longer_than_the_driver_has_is_cancelled(driver: Driver) -> None:
    driver.may_end.clear()
    with driver.at_work(drain_seconds=0):
        thread, answers = in_thread(asks(driver))
        wait_until(lambda: driver.done)
    thread.join(10)
    assert driver.cancelled.is_set()
    assert (answers[0].outcome, answers[0].reason) == (Outcome.FAILED, FailureReason.INTERRUPTED)


def test_a_driver_waits_for_a_service_that_cannot_be_cancelled_before_it_gives_the_lease_back(
    driver: Driver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else another run could take the table while the JVM still writes."""
    ended = threading.Event()

    def cancel() -> None:
        raise RuntimeError("this SparkContext is stopped")

    def perform(task: Any, **_: Any) -> TaskResult:
        driver.done.append((RUN, task))
        time.sleep(0.2)
        ended.set()
        return TaskResult(id=task.id, outcome=Outcome.SUCCEEDED)

    monkeypatch.setattr(driver.host, "_cancel", cancel)
    monkeypatch.setattr(driver.host, "_perform", perform)
    with driver.leased():
        driver.put()
        with driver.host.open(driver.files, driver.lease, drain_seconds=0):
            wait_until(lambda: driver.done)
        assert ended.is_set()


def test_nothing_begins_before_a_batch_that_gave_way_is_committed(driver: Driver) -> None:
    driver.host.let_begin(may=False)
    with driver.at_work():
        thread, answers = in_thread(asks(driver))
        time.sleep(0.1)
        assert driver.done == []
        driver.host.let_begin(may=True)
        thread.join(10)
    assert answers[0].outcome is Outcome.SUCCEEDED


def test_an_answer_that_the_store_did_not_take_is_given_later(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    write, failures = driver.files.write, [1]

    def failing(name: str, content: bytes, *, expected: str | None) -> str:
        order = decode_order(content) if name == ORDER_FILE else None
        if order is not None and order.state is OrderState.DONE and failures:
            failures.pop()
            raise OSError("away")
        return write(name, content, expected=expected)

    monkeypatch.setattr(driver.files, "write", failing)
    with driver.at_work():
        assert asks(driver).result().outcome is Outcome.SUCCEEDED
    assert (failures, len(driver.done)) == ([], 1)


def test_a_store_that_is_away_for_a_while_ends_nothing(driver: Driver, monkeypatch: pytest.MonkeyPatch) -> None:
    read, failures = driver.files.read, [1, 1, 1]
    driver.may_end.clear()

    def failing(name: str) -> tuple[bytes, str] | None:
        if name == ORDER_FILE and driver.done and failures:
            failures.pop()
            driver.may_end.set()
            raise OSError("away")
        return read(name)

    monkeypatch.setattr(driver.files, "read", failing)
    with driver.at_work():
        assert asks(driver).result().outcome is Outcome.SUCCEEDED
    assert failures == []


def test_a_job_that_is_asked_to_end_takes_its_order_back(driver: Driver) -> None:
    stopping = threading.Event()
    with driver.leased():
        thread, answers = in_thread(asks(driver, stopping=stopping))
        wait_until(lambda: driver.order() is not None)
        stopping.set()
        thread.join(10)
    assert isinstance(answers[0], DriverStopping)
    assert (driver.order() or driver.put()).state is OrderState.WITHDRAWN


def test_a_service_beside_batches_is_not_alone_on_the_table() -> None:
    done = as_inline_service(task(hudi_options={"hoodie.write.concurrency.mode": "SINGLE_WRITER", "own": "1"}))
    assert done.hudi_options == {"own": "1", **IN_ONE_PROCESS}
    assert done.concurrency is ConcurrencyMode.OPTIMISTIC


@given(message=st.text(max_size=20_000), instants=st.lists(st.from_regex(r"[0-9]{1,32}", fullmatch=True), max_size=100))
def test_an_order_fits_into_its_file_and_is_read_again(message: str, instants: list[str]) -> None:
    result = TaskResult(id="t", outcome=Outcome.FAILED, message=message)
    order = ServiceOrder(
        run=RUN, driver=DRIVER, attempt="0", state=OrderState.DONE, service=Service.CLEANING,
        abandoned=tuple(instants), result=result,
    )  # fmt: skip
    content = encode_order(order)
    assert len(content) <= OPERATOR_FILE_LIMIT
    read = decode_order(content)
    assert order.is_same(read)
    assert read is not None
    assert read.result is not None
    assert read.result.outcome is Outcome.FAILED


@given(st.binary(max_size=300))
def test_anything_else_asks_for_nothing(content: bytes) -> None:
    assert decode_order(content) is None


def test_a_plan_is_made_between_two_batches_and_goes_before_the_next_one() -> None:
    turns, story, waiting = InlineQueue(), list[str](), threading.Event()

    def plan() -> None:
        waiting.set()
        with turns.at_rest(), turns.at_rest():
            story.append("plan")

    thread = threading.Thread(target=plan)
    with turns.batch():
        thread.start()
        assert waiting.wait(5)
        time.sleep(0.05)
        with turns.at_rest():
            story.append("first batch")
    with turns.batch():
        story.append("second batch")
    thread.join(5)
    assert story == ["first batch", "plan", "second batch"]
