"""What a continuous run says of all its batches."""

from __future__ import annotations

from typing import Any

from hudi_jobs.commit_metadata import CommitStats
from hudi_jobs.contract import Outcome, Progress, TaskResult, decode_progress
from hudi_jobs.contract.operator_folder import ProgressState
from hudi_jobs.ingestion.batches.batch_progress import ProgressWriter


def batch(instant: str | None = None, **figures: Any) -> TaskResult:
    outcome = Outcome.SUCCEEDED if instant else Outcome.NOTHING_TO_DO
    return TaskResult.model_validate({"id": "one", "outcome": outcome, "instant": instant, **figures})


def totals(*batches: TaskResult) -> CommitStats:
    found = CommitStats()
    for one in batches:
        found.add(one)
    return found


class Files:
    """A folder that keeps what is written last."""

    def __init__(self) -> None:
        self.content = b""

    def read(self, name: str) -> tuple[bytes, str] | None:
        """Find nothing."""
        return None if name else (b"", "")

    def write(self, name: str, content: bytes, *, expected: str | None) -> str:
        """Keep the content."""
        self.content = content
        return f"{name} after {expected}"


def written(found: CommitStats) -> Progress:
    files = Files()
    ProgressWriter(files, "run", found).write(ProgressState.WAITING, now=True)
    document = decode_progress(files.content)
    assert document is not None
    return document


def test_loss_of_a_stream_stays_named_after_batches_without_a_loss() -> None:
    lost = batch("20260310115900000", records_skipped=7, skipped=("orders-0: 1..7",))
    quiet = batch("20260310115910000", records_skipped=0)
    found = totals(lost, quiet, batch(records_skipped=0))
    assert (found.figures["records_skipped"], found.figures["skipped"]) == (7, ("orders-0: 1..7",))
    assert (written(found).records_skipped, written(found).skipped) == (7, ("orders-0: 1..7",))


def test_the_document_stays_within_what_the_operator_reads() -> None:
    """A source may name its progress in characters that JSON writes in six; without any document it seems to stand."""
    odd = "\x01" * 900
    figures = {"records_skipped": 7, "skipped": (odd, odd, odd), "checkpoint": odd, "rescan": odd}
    assert written(totals(batch("20260310115900000", **figures))).batches == 1
    assert written(totals(batch("20260310115900000", **figures | {"rescan": None}))).skipped == (odd[:128],) * 3


def test_a_loss_that_no_commit_has_passed_over_is_none_yet() -> None:
    found = totals(batch(records_skipped=7, skipped=("orders-0: 1..7",)))
    assert (found.figures["records_skipped"], found.figures.get("skipped", ())) == (0, ())


def test_a_loss_without_a_known_number_is_named_too() -> None:
    found = totals(batch("20260310115900000", records_skipped=0, skipped=("returns: any from 3 on",)))
    assert (written(found).records_skipped, written(found).skipped) == (0, ("returns: any from 3 on",))


def test_the_message_of_the_last_commit_is_kept_and_bounded() -> None:
    found = totals(batch("20260310115900000", message="Read 7 rows. " + "x" * 9000), batch(message="No new messages."))
    assert found.message.startswith("Read 7 rows. x")
    assert len(found.message) == 600


def test_files_that_are_passed_over_are_no_losses_of_a_stream() -> None:
    names = tuple(f"{number}{'x' * 2000}.csv" for number in range(9))
    found = totals(batch("20260310115900000", files_skipped=9, skipped=names))
    assert (found.figures["records_skipped"], found.figures["skipped"]) == (None, names)
    assert (written(found).records_skipped, written(found).skipped) == (None, ())
    assert written(found).instant == "20260310115900000"
    assert totals(batch(files_skipped=9, skipped=names), batch(files_skipped=0)).figures["skipped"] == ()
