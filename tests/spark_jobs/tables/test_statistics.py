"""The statistics of a table are those of the files that Hudi's view names, after each kind of commit."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import UPGRADE, commits, done, operate
from tests.spark_jobs.trials import IN_FULL, sampled

from hudi_jobs.contract import Outcome, RunMode, Service, TaskResult
from hudi_jobs.contract.statistics import Figures, TableStatistics, decode_statistics
from hudi_jobs.spark.jvm import iterated
from hudi_jobs.statistics import renewal
from hudi_jobs.statistics.view import FilesView
from hudi_jobs.table import HudiTable

pytestmark = pytest.mark.spark


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """No renewal waits because the last one was slow."""
    monkeypatch.setattr(renewal, "_SHARE", 0)


def folder(lake: Any) -> Path:
    return Path(lake.folder, "table/.hudi-operator")


def stored(lake: Any) -> TableStatistics:
    found = decode_statistics((folder(lake) / "statistics.json").read_bytes())
    assert found is not None
    return found


def figures(lake: Any) -> Figures:
    found = stored(lake).figures
    assert found is not None
    return found


def viewed(lake: Any, limit: int) -> dict[str, Any]:
    """The figures by Hudi's view of the folders, file by file, and the rows by the footers of the base files."""
    table = HudiTable.existing(lake.spark, lake.base_path)
    view = table.listed_view()
    timeline = table.meta.getActiveTimeline().getWriteTimeline().filterCompletedAndCompactionInstants()
    newest = timeline.lastInstant().get().requestedTime()
    paths = {str(file.parent.relative_to(lake.folder / "table")) for file in Path(lake.folder, "table").rglob("*")}
    partitions = [path.removeprefix(".") for path in sorted(paths) if not path.startswith(".h")]
    bases, logs, sizes, instants = [], [], [], []
    for partition in partitions:
        slices = elements_of(view.getLatestMergedFileSlicesBeforeOrOn(partition, newest))
        own = [each.getBaseFile().get() for each in slices if each.getBaseFile().isPresent()]
        added = [each for one in slices for each in iterated(one.getLogFiles().iterator())]
        instants += [str(each.getBaseInstantTime()) for each in slices]
        bases += [(str(each.getPath()), int(each.getFileSize())) for each in own]
        logs += [int(each.getFileSize()) for each in added]
        if slices:
            sizes.append(sum(int(each.getFileSize()) for each in (*own, *added)))
    view.close()
    files = [path for path, _ in bases]
    return {
        "base_files": len(bases),
        "base_bytes": sum(size for _, size in bases),
        "small_files": sum(size < limit for _, size in bases),
        "log_files": len(logs),
        "log_bytes": sum(logs),
        "partitions": len(sizes),
        "largest_partition": max(sizes, default=0),
        "rows": lake.spark.read.parquet(*files).count() if files else 0,
        "oldest": min(instants, default=None),
    }


def elements_of(stream: Any) -> list[Any]:
    array = stream.toArray()
    return [array[place] for place in range(len(array))]


def require_equal(lake: Any) -> Figures:
    """The document is about the newest commit, and says what the view says."""
    document, found = stored(lake), figures(lake)
    assert found.model_dump(exclude={"newest"}) == viewed(lake, document.small_file_limit)
    changes = [name for name in lake.instants() if name.endswith((".commit", ".deltacommit", ".replacecommit"))]
    assert found.newest == max(name.partition("_")[0] for name in changes)
    changed = [name for name in lake.instants() if not name.endswith((".clean", ".savepoint"))]
    assert document.as_of == max(name.partition(".")[0].partition("_")[2] for name in changed)
    return found


def succeeded(result: TaskResult) -> TaskResult:
    assert result.outcome is Outcome.SUCCEEDED, result
    return result


def csv(first: int, last: int, value: int = 0) -> str:
    return "id,p,v\n" + "".join(f"{number},{number % 3},{value}\n" for number in range(first, last))


def write(lake: Any, number: int, first: int, last: int, **changes: Any) -> None:
    lake.put(f"{number}.csv", csv(first, last, number), at=number)
    succeeded(lake.ingest(**changes))


def partitioned(lake: Any, kind: str) -> None:
    lake.table = {"type": kind, "partitionBy": ["p"]}
    lake.spec = {"fileSizing": {"smallFileLimit": "0"}, "cleaning": {"retainCommits": 1}}
    lake.metadata_table = True


@pytest.mark.parametrize("listed", sampled(True, False))
def test_statistics_follow_upserts_compaction_and_cleaning(lake: Any, listed: bool) -> None:
    partitioned(lake, "MergeOnRead")
    lake.metadata_table = listed
    write(lake, 0, 0, 90)
    assert require_equal(lake).rows == 90
    write(lake, 1, 0, 30)
    found = require_equal(lake)
    assert (found.log_files, found.partitions, found.rows) == (3, 3, 90)
    assert 0 < (found.log_ratio or 0) < 1
    planned = succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)).instant
    write(lake, 2, 0, 60)
    assert require_equal(lake).rows == 90  # log files lie on both sides of the pending compaction
    succeeded(lake.serve(Service.COMPACTION, mode=RunMode.EXECUTE, instant=planned))
    require_equal(lake)
    succeeded(lake.serve(Service.COMPACTION))
    assert require_equal(lake).log_files == 0
    lake.serve(Service.CLEANING)
    assert require_equal(lake).base_files == 3


def test_statistics_follow_clustering_and_a_write_that_was_rolled_back(lake: Any) -> None:
    partitioned(lake, "CopyOnWrite")
    lake.spec |= {"clustering": {"mode": "Async", "plan": {"smallFileLimit": "100Mi", "targetFileSize": "200Mi"}}}
    for number in range(3):
        write(lake, number, 30 * number, 30 * number + 30, operation="Insert")
    assert require_equal(lake).base_files == 9
    succeeded(lake.serve(Service.CLUSTERING))
    found = require_equal(lake)
    assert (found.base_files, found.rows) == (3, 90)
    assert found.skew == pytest.approx(1, abs=0.2)
    uncomplete(lake, "replacecommit")
    write(lake, 3, 0, 30)
    assert require_equal(lake).base_files == 9
    uncomplete(lake, "commit")
    write(lake, 4, 0, 90)
    assert require_equal(lake).rows == 90


def uncomplete(lake: Any, action: str) -> None:
    """Leave the newest instant as a driver does that is killed before the last step of its commit."""
    newest = max(Path(lake.folder, "table/.hoodie/timeline").glob(f"*.{action}"))
    newest.unlink()


def test_rows_stay_known_after_the_commits_that_wrote_them_are_archived(lake: Any) -> None:
    partitioned(lake, "CopyOnWrite")
    lake.spec |= {"archival": {"minCommits": 2, "maxCommits": 3}}
    lake.metadata_table = False
    write(lake, 0, 0, 9)
    for number in range(1, 5):
        write(lake, number, 0, 1)
    succeeded(lake.serve(Service.CLEANING))
    succeeded(lake.serve(Service.ARCHIVAL))
    assert require_equal(lake).rows == 9
    (folder(lake) / renewal.ROWS_FILE).write_bytes(b'{"version": 1, "rows": [1, "x"]}')
    (folder(lake) / "statistics.json").unlink()
    write(lake, 5, 0, 1)
    assert (figures(lake).base_files, figures(lake).rows) == (3, None)


def test_restore_and_change_of_version_renew_the_statistics_at_once(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.spec = {"tableVersion": 8}
    write(lake, 0, 0, 10)
    target = commits(lake)[-1]
    monkeypatch.setattr(renewal, "_SHARE", 10_000)
    write(lake, 1, 10, 20)
    assert figures(lake).rows == 10
    done(operate(lake, target))
    assert (require_equal(lake).rows, stored(lake).table_version) == (10, 8)
    done(operate(lake, None, UPGRADE, version=9, uid="uid-of-upgrade"))
    assert (require_equal(lake).rows, stored(lake).table_version) == (10, 9)


def test_compaction_that_was_planned_before_the_newest_commit_is_measured_in_version_6(lake: Any) -> None:
    partitioned(lake, "MergeOnRead")
    lake.spec |= {"tableVersion": 6}
    write(lake, 0, 0, 90)
    write(lake, 1, 0, 30)
    planned = succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)).instant
    write(lake, 2, 0, 1)
    before = figures(lake)
    succeeded(lake.serve(Service.COMPACTION, mode=RunMode.EXECUTE, instant=planned))
    found = figures(lake)
    assert found.log_files < before.log_files
    assert found.model_dump(exclude={"newest"}) == viewed(lake, stored(lake).small_file_limit)


def test_damaged_statistics_are_written_anew(lake: Any) -> None:
    write(lake, 0, 0, 10)
    for content in (b"", b"{", b"[" * 100_000, json.dumps({"version": 2}).encode(), b"x" * 9_000_000):
        (folder(lake) / "statistics.json").write_bytes(content)
        (folder(lake) / renewal.ROWS_FILE).write_bytes(content)
        assert lake.ingest().outcome is Outcome.NOTHING_TO_DO
        require_equal(lake)


def test_failed_renewal_does_not_fail_the_run(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> None:
        raise ValueError("no such view")

    monkeypatch.setattr(FilesView, "partitions", fails)
    write(lake, 0, 0, 10)
    assert not (folder(lake) / "statistics.json").exists()


def test_figures_of_too_many_files_are_unknown(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "_LONGEST", 0.0)
    write(lake, 0, 0, 10)
    assert stored(lake).figures is None


def test_slow_renewal_waits_and_a_changed_limit_does_not(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "_SHARE", 10_000)
    write(lake, 0, 0, 10)
    first = stored(lake)
    write(lake, 1, 10, 20)
    assert stored(lake) == first
    request = lake.request()
    task = request.tasks[0].copy_with(small_file_limit=1)
    lake.drive(request.copy_with(tasks=(task,)))
    assert (require_equal(lake).rows, figures(lake).small_files) == (20, 0)


@IN_FULL
@pytest.mark.timeout(3600)
def test_statistics_are_those_of_the_view_after_a_hundred_commits_with_services_and_kills(
    lake: Any, program: Any
) -> None:
    partitioned(lake, "MergeOnRead")
    lake.spec |= {
        "archival": {"minCommits": 10, "maxCommits": 15},
        "clustering": {"mode": "Async", "plan": {"smallFileLimit": "100Mi", "targetFileSize": "200Mi"}},
    }
    served = set()
    services = (Service.COMPACTION, Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL)
    for number in range(100):
        first = number * 7 % 200
        lake.put(f"{number}.csv", csv(first, first + 40, number), at=number)
        if number % 25 == 12:
            running = program(lake.request(), HUDI_JOB_PAUSE_AT="after-commit")
            running.wait_until(running.has_stopped)
            running.kill()
        else:
            succeeded(lake.ingest(operation="Insert" if number % 4 == 0 else "Upsert"))
        if number % 5 == 4:
            served.add((services[number // 5 % 4], lake.serve(services[number // 5 % 4]).outcome))
        if number % 10 == 9:
            lake.ingest()
            require_equal(lake)
    assert {(service, Outcome.SUCCEEDED) for service in services} <= served
