"""Calls of a catalog that last too long, fail, or meet the end of the pod."""

import threading
import time
from collections.abc import Iterator

import pytest

from hudi_jobs.catalogs.bounded import bounded
from hudi_jobs.catalogs.definition import SyncFailed


def let_end(event: threading.Event) -> None:
    """Let the calls that were given up end, and wait until they have."""
    event.set()
    for thread in threading.enumerate():
        if thread.name == "catalog":
            thread.join(30)


@pytest.fixture
def endless() -> Iterator[threading.Event]:
    """A call waits for this event, which the end of the test sets."""
    event = threading.Event()
    yield event
    let_end(event)


def test_result_of_a_call_is_returned() -> None:
    assert bounded(lambda: 7, 10, threading.Event()) == 7


def test_exception_of_a_call_is_raised() -> None:
    def refuse() -> None:
        raise LookupError("no such entry")

    with pytest.raises(LookupError, match="no such entry"):
        bounded(refuse, 10, threading.Event())


def test_call_that_never_answers_is_given_up_and_the_next_call_refused_until_it_ends(endless: threading.Event) -> None:
    with pytest.raises(SyncFailed, match=r"did not answer within 0\.1 seconds"):
        bounded(endless.wait, 0.1, threading.Event())
    with pytest.raises(SyncFailed, match="An earlier call of the catalog has not ended"):
        bounded(lambda: 7, 10, threading.Event())
    let_end(endless)
    assert bounded(lambda: 7, 10, threading.Event()) == 7


def test_call_is_given_up_when_the_pod_is_asked_to_end(endless: threading.Event) -> None:
    stopping = threading.Event()
    threading.Timer(0.1, stopping.set).start()
    began = time.monotonic()
    with pytest.raises(SyncFailed, match="The pod was asked to end"):
        bounded(endless.wait, 60, stopping)
    assert time.monotonic() - began < 10
