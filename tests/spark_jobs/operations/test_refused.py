"""Operations that are refused: each for its own reason, with not one byte of the table changed."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import (
    LOCK,
    ROLLBACK,
    commits,
    done,
    files,
    ingest_again,
    operate,
    refusal,
    refused_untouched,
    report_of,
    request,
    rows,
    timeline,
)
from tests.spark_jobs.services.test_services import add, fill, succeeded
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import (
    ConcurrencyMode,
    FailureReason,
    NewerSavepoints,
    OperationKind,
    OperationPhase,
    OperationTableTask,
    Outcome,
    Service,
    TableOwner,
)
from hudi_jobs.journal.journal import RECORD_FILE
from hudi_jobs.operations.kinds import KINDS
from hudi_jobs.table_services.client import write_client

pytestmark = [pytest.mark.spark]

OPTIMISTIC = ConcurrencyMode.OPTIMISTIC


def savepoint(lake: Any, instant: str, user: str = "somebody") -> None:
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(instant, user=user, comment="mine")


def test_instant_that_is_no_commit_is_refused_and_the_oldest_kept_commit_is_not(
    lake: Any,
) -> None:
    assert "There is no table" in refused_untouched(lake, "20260101000000000")
    lake.spec = {"cleaning": {"retainCommits": 1}}
    fill(lake, 3)
    expected, (first, second, third) = rows(lake), commits(lake)
    cleaned = succeeded(lake.serve(Service.CLEANING)).instant
    fill(lake, 1, first=3)
    assert f"{cleaned} is a clean" in refused_untouched(lake, str(cleaned))
    assert "has no instant 20200101000000000" in refused_untouched(lake, "20200101000000000")
    for gone in (first, second):
        assert f"The clean {cleaned}, which keeps files from {third} on" in refused_untouched(lake, gone)
    latest = commits(lake)[-1]
    assert f"{third} is not the latest" in refused_untouched(lake, third, ROLLBACK)
    begun = timeline(lake) / "20990101000000000.deltacommit.requested"
    begun.touch()
    assert "has not completed" in refused_untouched(lake, "20990101000000000")
    begun.unlink()
    assert commits(lake)[-1] == latest
    at_it = operate(lake, latest)
    assert (at_it.outcome, report_of(at_it).removed_count) == (Outcome.NOTHING_TO_DO, 0)
    assert rows(lake) != expected
    assert done(operate(lake, third, uid="to-the-oldest-kept")).target == third
    assert rows(lake) == expected, "what the clean keeps is enough"


def test_a_commit_of_which_a_file_is_missing_is_no_target(lake: Any) -> None:
    add(lake, 3)
    first, second, third = commits(lake)
    written = {instant: next((lake.folder / "table").rglob(f"*_{instant}.parquet")) for instant in (first, second)}
    content = written[second].read_bytes()
    written[second].unlink()
    assert written[second].name in refusal(operate(lake, second))
    assert commits(lake) == [first, second, third]
    written[second].write_bytes(content)
    savepoint(lake, second)
    written[first].unlink()
    assert written[first].name in refusal(operate(lake, second))


def test_a_kind_of_a_newer_operator_is_refused_before_the_table_is_looked_at(lake: Any) -> None:
    asked = request(lake, "20260101000000000")
    (known_task,) = asked.tasks
    assert isinstance(known_task, OperationTableTask)
    known = known_task.operation
    for kind in sorted(set(OperationKind) - set(KINDS)):
        task = known_task.copy_with(operation=known.copy_with(kind=kind))
        result = lake.drive(asked.copy_with(tasks=(task,)))
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.INVALID_REQUEST)
        assert f"does not know the operation {kind}" in result.message


def test_a_dry_run_writes_not_one_byte_and_says_what_would_go_and_what_is_in_the_way(lake: Any) -> None:
    fill(lake, 3)
    target, second, third = commits(lake)
    before = files(lake)
    result = operate(lake, target, dry_run=True)
    report = report_of(result)
    assert (result.outcome, report.phase) == (Outcome.SUCCEEDED, OperationPhase.CHECKING), result
    assert (report.removed, report.rows_before, report.rows_expected) == ((third, second), 100, 100)
    assert (report.obstacles, files(lake)) == ((), before)

    savepoint(lake, third)
    before = files(lake)
    blocked = operate(lake, target, dry_run=True)
    assert f"{third} of 'somebody'" in refusal(blocked)
    assert report_of(blocked).savepoints == (third,)
    assert files(lake) == before

    strange, data = str(int(third) + 1), sized(lake)
    begun = timeline(lake) / f"{strange}.deltacommit.requested"
    begun.touch()
    written = next(path for path in data if f"_{target}.parquet" in path.name)
    content = written.read_bytes()
    written.unlink()
    blocked = operate(lake, target, dry_run=True, abandoned=())
    assert "The report names 2 more obstacles." in refusal(blocked)
    for obstacle, word in zip(
        report_of(blocked).obstacles, (f"deltacommit {strange}", f"{third} of", written.name), strict=True
    ):
        assert word in obstacle
    begun.unlink()
    written.write_bytes(content)
    assert done(operate(lake, target, savepoints=NewerSavepoints.REMOVE)).target == target
    gone = data.keys() - sized(lake).keys()
    assert (report.count, report.bytes) == (len(gone), sum(data[path] for path in gone))
    assert {path.name for path in gone} >= {name.rpartition("/")[2] for name in report.files} > set()


def sized(lake: Any) -> dict[Path, int]:
    """The data files of the table, with their sizes."""
    found = {Path(name): size for name, (size, _) in files(lake).items()}
    ours = {path: path.relative_to(lake.folder / "table").parts for path in found}
    return {path: found[path] for path, parts in ours.items() if parts[-1][-4:] != ".crc" and parts[0][0:2] != ".h"}


def test_newer_savepoints_refuse_a_restore_or_go_before_it_as_it_was_asked(lake: Any) -> None:
    fill(lake, 2)
    expected, target = rows(lake), commits(lake)[-1]
    savepoint(lake, target)
    fill(lake, 2, first=2)
    savepoint(lake, commits(lake)[-1])
    newest, latest = commits(lake)[-1], rows(lake)
    assert newest in refusal(operate(lake, target))
    assert "Savepoints keep" in refusal(operate(lake, newest, ROLLBACK))
    report = done(operate(lake, target, savepoints=NewerSavepoints.REMOVE))
    assert report.savepoints == (newest,)
    assert rows(lake) == expected
    ingest_again(lake, 2)
    assert rows(lake) == latest


@pytest.mark.parametrize(("kind", "version"), sampled(*product(("CopyOnWrite", "MergeOnRead"), (9, 6))))
def test_a_savepoint_from_before_a_clean_lets_the_table_go_back_to_it(lake: Any, kind: str, version: int) -> None:
    lake.table = {"type": kind}
    lake.spec = {"tableVersion": version, "cleaning": {"retainCommits": 1}}
    fill(lake, 2)
    expected, target = rows(lake), commits(lake)[-1]
    savepoint(lake, target)
    for number in (2, 3, 4):
        fill(lake, 1, first=number)
        if kind == "MergeOnRead":
            succeeded(lake.serve(Service.COMPACTION, options={"hoodie.compact.inline.max.delta.commits": "1"}))
    latest = rows(lake)
    assert succeeded(lake.serve(Service.CLEANING)).files_deleted
    done(operate(lake, target))
    assert rows(lake) == expected
    ingest_again(lake, 3)
    assert rows(lake) == latest


def test_beside_another_tool_nothing_is_undone(lake: Any) -> None:
    lake.spec |= {"concurrency": {"mode": "Optimistic"}}
    lake.options = LOCK
    add(lake, 3)
    target = commits(lake)[0]
    with write_client(lake.spark, lake.base_path, lake.request().tasks[0].hudi_options) as client:
        begun = str(client._client.startCommit())
        for abandoned in ((), (begun,)):
            busy = refusal(operate(lake, target, abandoned=abandoned, concurrency=OPTIMISTIC))
            assert begun in busy, "it has a heartbeat"
        client._client.getHeartbeatClient().stop(begun)
    assert begun in refusal(operate(lake, target, abandoned=(), concurrency=OPTIMISTIC))
    result = operate(lake, target, abandoned=(begun,), concurrency=OPTIMISTIC)
    done(result)
    assert [one.instant for one in result.affected] == [begun]
    assert len(rows(lake)) == 100


def test_a_restore_of_somebody_else_that_is_pending_is_left_alone(lake: Any) -> None:
    fill(lake, 2)
    restore = str(int(commits(lake)[-1]) + 1)
    for state in ("requested", "inflight"):
        (timeline(lake) / f"{restore}.restore.{state}").touch()
    message = refusal(operate(lake, commits(lake)[0]))
    assert f"restore {restore} is pending" in message


def test_a_damaged_record_and_another_owner_are_refused(lake: Any) -> None:
    lake.owner = TableOwner(operator="cluster/hudi-operator", table_uid="uid-1", table="team/flights")
    fill(lake, 2)
    target = commits(lake)[0]
    record = lake.folder / "table/.hudi-operator" / RECORD_FILE
    record.write_text(json.dumps({"version": 1, "records": [{"uid": "x"}]}))
    assert "is damaged" in refusal(operate(lake, target))
    record.unlink()
    lake.owner = TableOwner(operator="another/operator", table_uid="uid-2", table="team/flights")
    for dry_run in (False, True):
        result = operate(lake, target, dry_run=dry_run)
        assert result.reason is FailureReason.OWNED_ELSEWHERE, result
    assert len(commits(lake)) == 2


def test_a_commit_that_names_files_elsewhere_is_not_undone(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fill(lake, 2)
    monkeypatch.setattr("hudi_jobs.table_services.plans._written", lambda _: iter([("../elsewhere", "f")]))
    result = operate(lake, commits(lake)[0])
    assert result.reason is FailureReason.PATH_OUTSIDE_TABLE, result
    assert len(commits(lake)) == 2
