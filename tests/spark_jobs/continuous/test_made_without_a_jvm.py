"""What a continuous run tells of the instants that its JVM makes, within a batch and after one that has failed."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest

from hudi_jobs.commit_metadata import CommitStats
from hudi_jobs.contract import MOST_MADE, PROGRESS_FILE, Progress, ProgressState, decode_progress
from hudi_jobs.ingestion.batches import batch_progress
from hudi_jobs.ingestion.batches.batch_progress import MadeInstants, ProgressWriter
from hudi_jobs.lease.stores import LocalFiles


class Run:
    """A run whose JVM has made what a test says, and whose store may be away."""

    def __init__(self, folder: Path) -> None:
        self.newest, self.now, self.asked = "1", 0.0, 0
        self.is_away, self.has_ended = False, False
        self.list: list[str] = []
        self._files = LocalFiles(folder)
        self._progress = ProgressWriter(self._files, "run", CommitStats(), made=self.list)
        self.made = MadeInstants(self.list, self._newest, self._tell, clock=lambda: self.now)

    def _newest(self) -> str:
        if self.has_ended:
            raise ConnectionError
        return self.newest

    def _tell(self) -> bool:
        self.asked += 1
        return not self.is_away and self._progress.tell_made()

    def told(self) -> Progress | None:
        found = self._files.read(PROGRESS_FILE)
        return None if found is None else decode_progress(found[0])

    def makes(self, *instants: str) -> None:
        for self.newest in instants:
            self.looks()

    def looks(self) -> None:
        self.made.look()
        self.made.tell()

    def fails(self, *instants: str, error: type[Exception] = ValueError) -> None:
        """Go through a batch that fails after it has made these, the last of them at its very end."""
        with pytest.raises(error), self.made.of_a_batch():
            self._raises(*instants, error=error)

    def _raises(self, *instants: str, error: type[Exception]) -> None:
        self.makes(*instants[:-1])
        self.newest = instants[-1]
        raise error


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(batch_progress, "_LOOKS_EVERY_SECONDS", 3600)
    return Run(tmp_path)


def told(run: Run) -> tuple[str, ...]:
    found = run.told()
    assert found is not None
    return found.made


def test_an_instant_is_told_as_soon_as_it_is_made_and_not_once_the_batch_has_ended_well(run: Run) -> None:
    with run.made.of_a_batch():
        run.looks()
        assert run.told() is None, "what was made before the batch is nothing to tell"
        run.makes("2")
        assert told(run) == ("2",)
        found = run.told()
        assert found is not None
        assert (found.run, found.state) == ("run", ProgressState.INGESTING)
    assert run.list == []


@pytest.mark.parametrize(("machine", "pod"), [("flights-x7k2p", "flights-x7k2p"), ("_ a machine", None), ("", None)])
def test_reported_instants_name_the_pod_that_made_them(
    run: Run, monkeypatch: pytest.MonkeyPatch, machine: str, pod: str | None
) -> None:
    """Also where a machine has a name that no pod has: then it names none, and is told all the same."""
    monkeypatch.setattr(socket, "gethostname", lambda: machine)
    with run.made.of_a_batch():
        run.makes("2")
        found = run.told()
        assert found is not None
        assert (found.made, found.pod) == (("2",), pod)


def test_progress_of_a_batch_is_reported_every_few_seconds(run: Run) -> None:
    with run.made.of_a_batch():
        run.makes("2", "3", "4")
        assert (told(run), run.asked) == (("2",), 1)
        run.now += 2
        run.makes("5")
        assert (told(run), run.asked) == (("2", "3", "4", "5"), 2)


def test_of_a_batch_that_fails_all_of_it_is_told_and_stays_for_the_result(run: Run) -> None:
    run.fails("2", "3", "4")
    assert told(run) == ("2", "3", "4")
    assert run.list == ["2", "3", "4"]


def test_report_that_the_store_did_not_take_is_repeated(run: Run) -> None:
    run.is_away = True
    with run.made.of_a_batch():
        run.makes("2")
        run.is_away, run.now = False, 3.0
        run.looks()
        assert told(run) == ("2",)


def test_a_store_that_is_slow_keeps_none_from_being_seen(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """The write of the batch may be made while what came before it is being told."""
    monkeypatch.setattr(batch_progress, "_LOOKS_EVERY_SECONDS", 0.001)
    asked, goes_on = threading.Event(), threading.Event()

    def tell() -> bool:
        asked.set()
        return goes_on.wait(20)

    slow = MadeInstants(run.list, lambda: run.newest, tell)

    with slow.of_a_batch():
        for run.newest in ("2", "3", "4"):
            for _ in range(10_000):
                if run.list[-1:] == [run.newest] and asked.wait(20):
                    break
                time.sleep(0.001)
        assert run.list == ["2", "3", "4"]
        goes_on.set()


def test_of_a_batch_all_is_known_to_the_run_itself(run: Run) -> None:
    """What it rolls back is what it has made, of however much."""
    many = [f"{number:04}" for number in range(2, 40)]
    run.fails(*many)
    assert run.made.of_the_last == many
    with run.made.of_a_batch():
        assert run.made.of_the_last == []


def test_a_jvm_that_has_ended_makes_nothing(run: Run) -> None:
    with run.made.of_a_batch():
        run.makes("2")
        run.has_ended = True
        run.looks()
        assert (told(run), run.list) == (("2",), ["2"])


def test_the_next_batch_begins_with_nothing_and_of_many_the_first_and_the_last_are_kept(run: Run) -> None:
    """The batch makes its write, and services beside it make more than is told; the newest is where the run died."""
    many = [f"{number:04}" for number in range(2, 40)]
    run.fails(*many)
    assert run.list == [*many[: MOST_MADE // 2], *many[-MOST_MADE // 2 :]]
    with run.made.of_a_batch():
        assert run.list == []
