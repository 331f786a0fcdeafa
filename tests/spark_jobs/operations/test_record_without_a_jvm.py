"""The record of operations as a file: what is kept of whom, and what is no record."""

import json
from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import GOES_BACK, MOST_LISTED, FailureReason, OperationKind, OperationPhase
from hudi_jobs.journal.history import Restore
from hudi_jobs.journal.journal import MOST_FOLLOWED, MOST_RECORDS, RECORD_FILE, RECORD_LIMIT, Journal
from hudi_jobs.journal.records import (
    EraseRecord,
    OperationRecord,
    Part,
    RepairRecord,
    RestoreRecord,
    Rows,
    ServiceRecord,
    VersionRecord,
)
from hudi_jobs.lease.stores import LocalFiles
from hudi_jobs.operations.erase import erasure as run
from hudi_jobs.operations.erase.keys import digest_of, keys_of
from hudi_jobs.operations.kinds import KINDS
from hudi_jobs.operations.rows import LONGEST_NAMES, MOST_PARTS, difference
from hudi_jobs.spark.failures import TaskFailed, stage

TARGET, LATER = "20260310115900000", "20260310120000000"
ROWS = Rows(rows=3, checksum=-(10**30), partitions=2, parts=(Part(path="a", rows=1, checksum=2),) * 2)

NEWER = b'{"records":[{"uid":"a","resource":"r","kind":"Erase","phase":"Running","newest":""}]}'


def record(uid: str, phase: OperationPhase = OperationPhase.RUNNING, **changes: object) -> RestoreRecord:
    fields = {
        "uid": uid,
        "resource": "team/back",
        "kind": OperationKind.RESTORE,
        "phase": phase,
        "target": TARGET,
        "newest": LATER,
        "removed": (LATER,),
        "rows_before": 4,
        "expected": ROWS,
        "checkpoint": '{"kind":"files"}',
    }
    return RestoreRecord.model_validate({**fields, **changes})


def journal(folder: Path) -> Journal:
    return Journal(LocalFiles(folder, limit=RECORD_LIMIT), str(folder))


def test_a_record_is_found_as_it_was_written_and_replaced_by_the_next(tmp_path: Path) -> None:
    assert journal(tmp_path).find(RestoreRecord, "a") is None
    journal(tmp_path).keep(record("a"))
    journal(tmp_path).keep(record("b"))
    assert journal(tmp_path).find(RestoreRecord, "a") == record("a")
    done = record("a", OperationPhase.DONE, restore=LATER)
    journal(tmp_path).keep(done)
    found = journal(tmp_path).find(RestoreRecord, "a")
    assert found is not None
    assert found.report() == done.report(), "a later run reports the same"
    assert (found.checkpoint, found.expected.parts) == (None, ())
    assert journal(tmp_path).find(RestoreRecord, "b") == record("b")


def test_the_oldest_operations_that_are_done_are_forgotten_and_no_other(tmp_path: Path) -> None:
    journal(tmp_path).keep(record("open"))
    for number in range(2 * MOST_RECORDS):
        journal(tmp_path).keep(record(str(number), OperationPhase.DONE, removed=(LATER,) * 500))
    assert journal(tmp_path).find(RestoreRecord, "open") == record("open")
    assert journal(tmp_path).find(RestoreRecord, "0") is None
    assert journal(tmp_path).find(RestoreRecord, str(2 * MOST_RECORDS - 1)) is not None
    assert (tmp_path / RECORD_FILE).stat().st_size < 100_000


def change_of_version(target: str, phase: OperationPhase = OperationPhase.DONE) -> VersionRecord:
    fields = {"uid": target, "resource": "team/up", "kind": OperationKind.UPGRADE, "phase": phase, "newest": LATER}
    versions = {"version_before": 6, "version_after": 9, "target": target, "expected": ROWS}
    return VersionRecord.model_validate({**fields, **versions})


@pytest.mark.parametrize("phase", [OperationPhase.DONE, OperationPhase.RUNNING])
def test_the_newest_change_of_the_version_is_never_forgotten_and_older_ones_are(
    tmp_path: Path, phase: OperationPhase
) -> None:
    for target in (LATER, TARGET):
        journal(tmp_path).keep(change_of_version(target))
    for number in range(3 * MOST_RECORDS):
        journal(tmp_path).keep(record(str(number), phase))
    assert journal(tmp_path).newest_change_of_version() == LATER
    assert journal(tmp_path).find(VersionRecord, TARGET) is None
    journal(tmp_path).keep(change_of_version("20260310130000000"))
    journal(tmp_path).keep(record("last", phase))
    assert journal(tmp_path).newest_change_of_version() == "20260310130000000"


def erasure(number: int, phase: OperationPhase = OperationPhase.DONE) -> EraseRecord:
    fields = {"uid": f"e{number}", "resource": "team/forget", "kind": OperationKind.ERASE, "phase": phase}
    told = {"newest": LATER, "latest": LATER, "rows_before": 4, "expected": ROWS, "erased": {"keys": 1}}
    return EraseRecord.model_validate({**fields, **told, "upstream_digest": f"{number:064}"})


def digests(*numbers: int) -> set[str]:
    return {f"{number:064}" for number in numbers}


def test_followed_erasures_are_known_long_after_their_records_and_the_oldest_are_forgotten(tmp_path: Path) -> None:
    journal(tmp_path).keep(erasure(-1, OperationPhase.RUNNING))
    assert journal(tmp_path).followed_erasures() == set(), "it is not done"
    for number in range(3 * MOST_RECORDS):
        journal(tmp_path).keep(erasure(number))
    journal(tmp_path).keep(record("a"))
    journal(tmp_path).forget("a")
    assert journal(tmp_path).find(EraseRecord, "e0") is None
    assert journal(tmp_path).followed_erasures() == digests(*range(3 * MOST_RECORDS))
    content = json.loads((tmp_path / RECORD_FILE).read_text())
    content["followed"] = [f"{number:064}" for number in range(5_000, 5_000 + MOST_FOLLOWED)]
    (tmp_path / RECORD_FILE).write_text(json.dumps(content))
    journal(tmp_path).keep(erasure(100))
    found = journal(tmp_path).followed_erasures()
    assert len(found) == MOST_FOLLOWED
    assert found >= digests(5_000, 100)
    assert not found & digests(5_000 + MOST_FOLLOWED - 1)


def test_erasures_that_an_older_driver_has_recorded_are_known_too(tmp_path: Path) -> None:
    for number in (1, 2):
        journal(tmp_path).keep(erasure(number))
    content = json.loads((tmp_path / RECORD_FILE).read_text())
    del content["followed"]
    (tmp_path / RECORD_FILE).write_text(json.dumps(content))
    assert journal(tmp_path).followed_erasures() == digests(1, 2)
    for number in range(3 * MOST_RECORDS):
        journal(tmp_path).keep(record(str(number), OperationPhase.DONE))
    assert journal(tmp_path).followed_erasures() == digests(1, 2)


def test_a_uid_that_was_recorded_as_another_kind_is_no_record_of_this_one(tmp_path: Path) -> None:
    class Other(OperationRecord):
        pass

    journal(tmp_path).keep(record("a"))
    with pytest.raises(TaskFailed, match="is already recorded as a Restore"):
        journal(tmp_path).find(Other, "a")


def test_records_of_all_kinds_lie_beside_one_another_and_are_read_as_what_they_are(tmp_path: Path) -> None:
    fields = {"resource": "team/once", "phase": OperationPhase.RUNNING, "newest": LATER}
    service = ServiceRecord.model_validate({**fields, "uid": "s", "service": "Compaction", "found": LATER})
    repair = RepairRecord.model_validate({**fields, "uid": "r", "step": "RebuildMetadataTable", "expected": ROWS})
    for each in (record("a"), service, repair):
        journal(tmp_path).keep(each)
    assert journal(tmp_path).find(ServiceRecord, "s") == service
    assert journal(tmp_path).find(RepairRecord, "r") == repair
    journal(tmp_path).keep(repair.copy_with(phase=OperationPhase.DONE))
    done = journal(tmp_path).find(RepairRecord, "r")
    assert done is not None
    assert (done.report().verified, done.expected.parts if done.expected else None) == (True, ())
    with pytest.raises(TaskFailed, match="is already recorded as a RunService"):
        journal(tmp_path).find(RepairRecord, "s")


def test_every_kind_that_the_driver_knows_is_one_of_the_contract() -> None:
    assert set(KINDS) <= set(OperationKind)
    assert set(KINDS) >= GOES_BACK


def test_a_report_counts_all_instants_and_lists_some() -> None:
    report = record("a", removed=(LATER,) * 500).report()
    assert (report.removed_count, len(report.removed)) == (500, MOST_LISTED)
    assert report.checksum == str(-(10**30))


@pytest.mark.parametrize(
    "content", [b"", b"{", b'{"version":2,"records":[]}', b'{"records":[{"uid":"a"}]}', NEWER, b"[" * 9999]
)
def test_invalid_record_is_refused_and_left_unchanged(tmp_path: Path, content: bytes) -> None:
    (tmp_path / RECORD_FILE).write_bytes(content)
    with pytest.raises(TaskFailed, match="is damaged") as failed:
        journal(tmp_path).find(RestoreRecord, "a")
    assert failed.value.reason is FailureReason.OPERATION_REFUSED
    with pytest.raises(TaskFailed, match="is damaged"):
        journal(tmp_path).keep(record("a"))
    assert (tmp_path / RECORD_FILE).read_bytes() == content


def test_commits_of_other_tools_may_have_any_digits_for_a_name(tmp_path: Path) -> None:
    fields = {"uid": "r", "resource": "team/r", "phase": OperationPhase.RUNNING, "newest": LATER, "step": "Deduplicate"}
    repair = RepairRecord.model_validate({**fields, "commits_before": ("7",)})
    repair = repair.following({"commits_before": ("7" * 40,)})
    journal(tmp_path).keep(repair)
    journal(tmp_path).keep(record("a", removed=("007", LATER)))
    assert journal(tmp_path).find(RepairRecord, "r") == repair
    assert record("a", removed=("007", LATER)).report().removed == ("007", LATER)


def test_a_record_that_no_run_could_read_is_not_written_and_the_others_stay(tmp_path: Path) -> None:
    journal(tmp_path).keep(record("a"))
    with pytest.raises(TaskFailed, match="was not written") as failed:
        journal(tmp_path).keep(record("b").copy_with(target="no instant"))
    assert failed.value.reason is FailureReason.INTERNAL_ERROR
    assert journal(tmp_path).find(RestoreRecord, "a") == record("a")


def test_a_record_that_is_too_large_is_refused_before_anything_is_changed(tmp_path: Path) -> None:
    with pytest.raises(TaskFailed, match="bytes"):
        journal(tmp_path).keep(record("a", checkpoint="x" * RECORD_LIMIT))
    assert not (tmp_path / RECORD_FILE).exists()


def many_partitions() -> Rows:
    parts = tuple(Part(path=f"{'p' * 4_900}{number}", rows=1, checksum=10**30) for number in range(100))
    return Rows(rows=100, checksum=10**32, partitions=100, parts=parts)


def test_repairs_that_were_given_up_do_not_keep_another_operation_from_being_recorded(tmp_path: Path) -> None:
    fields = {"resource": "team/r", "phase": OperationPhase.RUNNING, "newest": LATER, "step": "Deduplicate"}
    for number in range(20):
        expected = {"uid": f"r{number}", "expected": many_partitions()}
        journal(tmp_path).keep(RepairRecord.model_validate({**fields, **expected}))
    journal(tmp_path).keep(record("a"))
    assert journal(tmp_path).find(RestoreRecord, "a") == record("a")
    assert journal(tmp_path).find(RepairRecord, "r19") is not None
    assert journal(tmp_path).find(RepairRecord, "r0") is None, "the oldest goes, and a run of it would look again"


@pytest.mark.parametrize("phase", [OperationPhase.VERIFYING, OperationPhase.RUNNING])
def test_operations_that_ended_without_being_verified_never_fill_the_file_of_records(
    tmp_path: Path, phase: OperationPhase
) -> None:
    rows, asked, count = many_partitions(), "x" * 400_000, 8
    repair = {"uid": "r", "resource": "team/r", "phase": "Running", "newest": LATER, "step": "Deduplicate"}
    journal(tmp_path).keep(RepairRecord.model_validate({**repair, "expected": rows}))
    for number in range(count):
        journal(tmp_path).keep(record(f"a{number}", phase, expected=rows, checkpoint=asked))
        journal(tmp_path).keep(erasure(number, phase).copy_with(expected=rows))
    is_done = phase is OperationPhase.VERIFYING
    oldest, newest = (journal(tmp_path).find(RestoreRecord, f"a{number}") for number in (0, count - 1))
    assert oldest is not None
    assert newest is not None
    assert (oldest.expected.parts, oldest.checkpoint) == ((), None if is_done else asked)
    assert oldest.expected.are_same(rows), "the sums still compare"
    assert not oldest.expected.are_same(rows.copy_with(checksum=1))
    assert newest.expected == rows
    assert (oldest.phase, oldest.removed) == (phase, (LATER,))
    if is_done:
        assert journal(tmp_path).find(RepairRecord, "r") is not None, "nothing is forgotten while partitions can go"


def test_a_pending_restore_is_told_to_be_that_of_an_operation_that_runs(tmp_path: Path) -> None:
    journal(tmp_path).keep(record("a"))
    for target in (TARGET, None):
        assert journal(tmp_path).record_of(Restore("20260310120100000", target)) == record("a")
    assert journal(tmp_path).record_of(Restore("20260310120100000", LATER)) is None
    assert journal(tmp_path).record_of(Restore(LATER, TARGET)) is None, "it was there when the operation was checked"


def test_operation_continued_by_another_counts_as_done(tmp_path: Path) -> None:
    journal(tmp_path).keep(record("a", checkpoint="{}"))
    journal(tmp_path).keep(record("b", checkpoint="{}"), instead_of="a")
    former, present = (journal(tmp_path).find(RestoreRecord, uid) for uid in ("a", "b"))
    assert former is not None
    assert former.phase is OperationPhase.DONE
    assert journal(tmp_path).unfinished() == {"b"}
    assert present == record("b", checkpoint="{}")


def test_a_second_run_keeps_what_the_first_has_removed_before_it_was_killed() -> None:
    first = record("a", savepoints=(LATER,), metadata_options={"hoodie.metadata.enable": "true"})
    again = record("a").following(first)
    assert (again.savepoints, again.metadata_options) == (first.savepoints, first.metadata_options)


def test_a_metadata_table_of_which_a_killed_run_has_made_a_part_again_gets_all_that_it_had() -> None:
    whole = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "true"}
    part = {"hoodie.metadata.enable": "true", "hoodie.metadata.record.index.enable": "false"}
    restore, change = record("a", metadata_options=part), change_of_version(LATER)
    change = change.copy_with(metadata_options=part)
    records: list[Any] = [restore, change]
    for again in records:
        earlier = again.copy_with(metadata_options=whole)
        assert again.following(earlier).metadata_options == whole
        earlier = again.copy_with(metadata_options={})
        assert again.following(earlier).metadata_options == part, "it had none, and has one now"


def test_a_repair_that_looks_again_keeps_the_metadata_table_that_was_there_at_first(tmp_path: Path) -> None:
    fields = {"uid": "r", "resource": "team/r", "phase": "Running", "newest": LATER, "step": "Deduplicate", "count": 5}
    options = {"hoodie.metadata.enable": "true"}
    first = RepairRecord.model_validate({**fields, "metadata_options": options, "indexes": ("files", "record_index")})
    found = {"count": 6, "metadata_options": {}, "indexes": (), "commits_before": (TARGET, LATER)}
    again = first.following(found)
    assert (again.count, again.commits_before) == (6, (TARGET, LATER))
    assert (again.metadata_options, again.indexes) == (options, first.indexes)
    without = RepairRecord.model_validate(fields).following({**found, "indexes": ("files",)})
    assert without.indexes == ("files",), "it had none, and has one now"
    journal(tmp_path).keep(again.copy_with(phase=OperationPhase.DONE))
    done = journal(tmp_path).find(RepairRecord, "r")
    assert done is not None
    assert (done.count, done.commits_before) == (6, ())


def test_differing_rows_are_reported_by_partition() -> None:
    def rows(*parts: tuple[str, int, int]) -> Rows:
        sums = sum(one[1] for one in parts), sum(one[2] for one in parts)
        listed = tuple(Part(path=path, rows=count, checksum=checksum) for path, count, checksum in parts)
        return Rows(rows=sums[0], checksum=sums[1], partitions=len(parts), parts=listed)

    assert difference(rows(("a", 1, 5)), rows(("a", 1, 5))) is None
    moved = difference(rows(("a", 1, 5), ("b", 2, 6)), rows(("a", 2, 6), ("b", 1, 5)))
    assert moved is not None, "the sums are the same"
    assert "a 1 to 2; b 2 to 1" in moved
    assert "c none to 4" in str(difference(rows(), rows(("c", 4, 1))))


def test_of_a_record_without_partitions_the_sums_are_compared() -> None:
    found = Rows(rows=1, checksum=5, partitions=1, parts=(Part(path="a", rows=1, checksum=5),))
    earlier = found.copy_with(parts=())
    assert (difference(earlier, found), difference(found, earlier)) == (None, None)
    changes = (earlier.copy_with(rows=2), earlier.copy_with(checksum=6), earlier.copy_with(partitions=2))
    for changed in changes:
        wrong = difference(changed, found)
        assert wrong is not None
        assert "by partition" not in wrong


def test_operations_with_as_many_partitions_as_are_kept_fit_into_the_file_of_records(tmp_path: Path) -> None:
    path = "x" * (LONGEST_NAMES // MOST_PARTS)
    parts = tuple(Part(path=path, rows=2**62, checksum=2**100) for _ in range(MOST_PARTS))
    expected = Rows(rows=2**62, checksum=2**100, partitions=MOST_PARTS, parts=parts)
    for uid in ("a", "b", "c"):
        journal(tmp_path).keep(record(uid).copy_with(expected=expected))
    assert journal(tmp_path).unfinished() == {"a", "b", "c"}


def staged(said: str) -> TaskFailed:
    """What a step makes of an exception of Hudi's."""
    try:
        with stage("It failed", otherwise=FailureReason.HUDI_ERROR):
            raise RuntimeError(said)
    except TaskFailed as error:
        return error


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (TaskFailed(FailureReason.STORAGE_UNAVAILABLE, "recordKey=customer-00001 is lost"), "StorageUnavailable"),
        (RuntimeError("Duplicate recordKey customer-00001 found"), "HudiError"),
    ],
)
def test_message_of_a_failed_erasure_step_quotes_no_key(error: Exception, reason: str) -> None:
    keys = keys_of(("id",), frozenset({("customer-00001",)}), "uid")
    with pytest.raises(TaskFailed, match="quotes a key") as raised, run._unquoted(keys):
        raise error
    assert (raised.value.reason, raised.value.__suppress_context__) == (reason, True)
    with pytest.raises(RuntimeError, match="customer-00002"), run._unquoted(keys):
        raise RuntimeError("customer-00002 is another key")


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (staged("recordKey=4711 of 47110 is lost"), "It failed: recordKey=*** of 47110 is lost"),
        (
            RuntimeError("Duplicate recordKey 4711 in 4711.parquet"),
            "RuntimeError: Duplicate recordKey *** in 4711.parquet",
        ),
        (staged("A commit is missing"), "It failed: A commit is missing"),
        (TaskFailed(FailureReason.NOT_ERASED, "See lake/id=4711/f"), "See lake/id=4711/f"),
    ],
)
def test_a_short_key_is_left_out_of_what_hudi_says_and_all_else_is_shown(error: Exception, shown: str) -> None:
    keys = keys_of(("id",), frozenset({("4711",), ("a",)}), "uid")
    with pytest.raises(TaskFailed) as raised, run._unquoted(keys):
        raise error
    assert raised.value.message == shown
    with pytest.raises(ConnectionError, match="4711"), run._unquoted(keys):
        raise ConnectionError("what a lost JVM says is told by the driver: 4711")


def test_the_digest_of_keys_is_the_same_in_a_table_that_has_their_fields_in_another_order() -> None:
    here = digest_of(("id", "day"), [("1", "x"), ("2", "y")], "uid")
    assert digest_of(("day", "id"), [("y", "2"), ("x", "1")], "uid") == here
    assert digest_of(("day", "id"), [("1", "x"), ("2", "y")], "uid") != here
    assert digest_of(("id", "day"), [("1", "x"), ("2", "y")], "other") != here
