"""Calls of a catalog in bounded time: no Java call of Hive can be cancelled, so a late call is left to itself."""

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from hudi_jobs.catalogs.definition import SyncFailed
from hudi_jobs.contract import SyncTrouble

_LOOKS_EVERY_SECONDS = 0.5

_Result = TypeVar("_Result")
_abandoned: list[threading.Thread] = []
"""Calls that were given up; the next call is refused until they have ended, so that no two write one entry."""


def bounded(work: Callable[[], _Result], seconds: float, stopping: threading.Event) -> _Result:
    """Return the result of a call in a thread of its own, or raise its exception.

    Raises `SyncFailed` when the call lasts longer, or when the pod is asked to end meanwhile. The call itself may run
    on.
    """
    _abandoned[:] = [each for each in _abandoned if each.is_alive()]
    if _abandoned:
        raise SyncFailed(
            SyncTrouble.UNAVAILABLE, "An earlier call of the catalog has not ended; check that it answers."
        )
    box: list[_Result | Exception] = []

    def run() -> None:
        try:
            box.append(work())
        except Exception as error:  # noqa: BLE001 - raised again by the caller
            box.append(error)

    thread = threading.Thread(target=run, name="catalog", daemon=True)
    thread.start()
    deadline = time.monotonic() + seconds
    while thread.is_alive() and not stopping.is_set() and (left := deadline - time.monotonic()) > 0:
        thread.join(min(left, _LOOKS_EVERY_SECONDS))
    if not box:
        _abandoned.append(thread)
        raise SyncFailed(SyncTrouble.UNAVAILABLE, _why(seconds, stopping))
    found = box[0]
    if isinstance(found, Exception):
        raise found
    return found


def _why(seconds: float, stopping: threading.Event) -> str:
    if stopping.is_set():
        return "The pod was asked to end before the catalog had answered; the next run syncs it."
    return f"The catalog did not answer within {seconds:g} seconds; check that it runs and is not overloaded."
