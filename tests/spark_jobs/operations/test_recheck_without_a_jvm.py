"""What becomes of an operation that has only prepared itself, and what a restore has undone that nobody named."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.spark_jobs.operations.test_record_without_a_jvm import LATER, TARGET, journal, record

from hudi_jobs.contract import FailureReason, OperationPhase
from hudi_jobs.journal.records import RestoreRecord
from hudi_jobs.operations import restore_steps
from hudi_jobs.operations.checkpoints import SourceFailed
from hudi_jobs.operations.refusal import UNCHANGED
from hudi_jobs.spark.failures import TaskFailed

LOST = "The metadata table no longer exists: declare it."


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A run that finds the record of an earlier one, on a table that cannot have its metadata table again."""

    def fail(*_: Any) -> None:
        raise TaskFailed(FailureReason.HUDI_ERROR, "The metadata table cannot be rebuilt.")

    config = SimpleNamespace(getMetadataPartitions=lambda: None)
    timeline = SimpleNamespace(
        savepoints=lambda: [SimpleNamespace(instant=TARGET)],
        meta=SimpleNamespace(getTableConfig=lambda: config),
    )
    monkeypatch.setattr(restore_steps, "load_timeline", lambda _: timeline)
    monkeypatch.setattr(restore_steps, "elements", lambda _: ["files"])
    monkeypatch.setattr(restore_steps, "remake_metadata_table", lambda _, options: fail() if options else None)
    monkeypatch.setattr(restore_steps, "remove_metadata_table", lambda _: said.append("removed"))
    monkeypatch.setattr(restore_steps, "lost_metadata_table", lambda _, options: LOST if options else "")
    said: list[Any] = []
    context = SimpleNamespace(log=lambda _, **__: None)
    return cast("Any", SimpleNamespace(context=context, journal=journal(tmp_path), report=said.append, said=said))


def ended(
    work: Any, earlier: RestoreRecord, reason: FailureReason, message: str, *, kind: type[TaskFailed] = TaskFailed
) -> TaskFailed | None:
    """What a run ends with instead of the failure of its check, if anything."""
    work.journal.keep(earlier)
    try:
        restore_steps.not_begun_again(work, earlier, kind(reason, message), savepoints=earlier.savepoints)
    except TaskFailed as failure:
        return failure
    return None


@pytest.mark.parametrize(
    "reason", [FailureReason.OPERATION_REFUSED, FailureReason.SOURCE_NOT_FOUND, FailureReason.CHECKPOINT_DAMAGED]
)
def test_a_refusal_before_the_restore_ends_the_operation_and_names_what_an_earlier_run_has_removed(
    work: Any, reason: FailureReason
) -> None:
    earlier = record("a", savepoints=(LATER, TARGET), metadata_options={"hoodie.metadata.enable": "true"})
    failure = ended(work, earlier, reason, f"Messages are gone. {UNCHANGED}")
    assert failure is not None
    removed = f"But an earlier run has already removed the savepoints of these commits: {LATER}."
    assert failure.message == f"Messages are gone. {UNCHANGED} {removed} {LOST}"
    assert failure.reason is FailureReason.OPERATION_REFUSED
    assert work.said[-1].phase is OperationPhase.CHECKING
    assert work.journal.find(RestoreRecord, "a") is None


def test_refusal_before_any_removal_keeps_its_message(work: Any) -> None:
    failure = ended(work, record("a", savepoints=(TARGET,)), FailureReason.OPERATION_REFUSED, f"No. {UNCHANGED}")
    assert failure is not None
    assert failure.message == f"No. {UNCHANGED}"


@pytest.mark.parametrize("reason", [FailureReason.CONFLICT, FailureReason.STORAGE_UNAVAILABLE])
def test_check_that_may_pass_later_is_repeated_from_the_record(work: Any, reason: FailureReason) -> None:
    assert ended(work, record("a", savepoints=(LATER,)), reason, "Later.") is None
    assert work.said[-1].phase is OperationPhase.RUNNING
    assert work.journal.find(RestoreRecord, "a") == record("a", savepoints=(LATER,))


@pytest.mark.parametrize("reason", [FailureReason.SOURCE_UNAVAILABLE, FailureReason.STORAGE_ACCESS_DENIED])
def test_a_source_that_does_not_answer_is_not_waited_for_without_end(work: Any, reason: FailureReason) -> None:
    earlier = record("a", savepoints=(LATER,))
    failure = ended(work, earlier, reason, "No broker.", kind=SourceFailed)
    assert failure is not None
    removed = f"But an earlier run has already removed the savepoints of these commits: {LATER}."
    assert (failure.reason, failure.message) == (reason, f"No broker. {removed}")
    assert work.said[-1].phase is OperationPhase.CHECKING, "so the operator may give it up"
    assert work.journal.find(RestoreRecord, "a") == earlier, "and goes on with it where the source is there again"


def test_a_source_that_does_not_answer_leaves_no_table_in_between(work: Any) -> None:
    earlier = record("a", metadata_options={"hoodie.metadata.enable": "true"})
    failure = ended(work, earlier, FailureReason.SOURCE_UNAVAILABLE, "No broker.", kind=SourceFailed)
    assert failure is not None
    assert failure.reason is FailureReason.HUDI_ERROR, "the metadata table could not be made again"
    assert work.said[-1].phase is OperationPhase.RUNNING


@pytest.mark.parametrize(
    ("option", "removed"),
    [("hoodie.metadata.enable", False), ("hoodie.metadata.global.record.level.index.enable", True)],
    ids=["whole", "without an index that it had"],
)
def test_a_metadata_table_that_cannot_be_made_again_stays_only_where_it_is_whole(
    work: Any, option: str, removed: bool
) -> None:
    options = {"hoodie.metadata.enable": "true", option: "true"}
    ended(work, record("a", metadata_options=options), FailureReason.OPERATION_REFUSED, "No.")
    assert ("removed" in work.said) is removed


def test_what_a_restore_has_undone_that_was_not_there_at_the_last_look_is_named_the_newest_first() -> None:
    known = record("a", removed=(LATER,), pending=("7",))
    assert known.undone_besides((LATER, "7")) == ()
    assert known.undone_besides(("9", LATER, "7", "8", "9")) == ("9", "8")
    assert record("a").undone_besides(("9", LATER)) == (), "an earlier release has not looked"
