"""Which files were read is remembered for good: none is passed over or read twice, however the source is named.

Every test compares the table's rows with those of the files, written with Insert so that a file read twice shows.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.trials import IN_FULL, LEASE, sampled

from hudi_jobs.contract import FailureReason, Outcome

pytestmark = pytest.mark.spark

DAY = 86_400.0


def put(lake: Any, name: str, number: int, *, at: float = 0) -> None:
    lake.put(name, f"id,carrier\n{number},AA\n", at=at)


def ingested(lake: Any, path: str = "", glob: str | None = None, **changes: Any) -> list[str]:
    """Run once, see that a second run finds nothing, and return the ids that are in the table."""
    files = {"path": f"{lake.source}{path}", "pathGlob": glob, "options": {"header": "true"}}
    result = lake.ingest(files=files, operation="Insert", **changes)
    assert result.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, result
    again = lake.ingest(files=files, operation="Insert", **changes)
    assert again.outcome is Outcome.NOTHING_TO_DO, again
    return [row[0] for row in lake.rows("id")]


def test_a_wider_pattern_brings_the_older_files_that_match_it(lake: Any) -> None:
    put(lake, "old.txt", 1)
    put(lake, "new.csv", 2, at=10 * DAY)
    assert ingested(lake, glob="*.csv") == ["2"]
    assert ingested(lake, glob="*") == ["1", "2"]
    assert ingested(lake, glob="*.csv") == ["1", "2"]


def test_a_file_that_appears_days_late_is_read_once(lake: Any) -> None:
    put(lake, "new.csv", 2, at=10 * DAY)
    assert ingested(lake) == ["2"]
    put(lake, "late.csv", 1)
    assert ingested(lake) == ["1", "2"]


def test_a_source_that_is_returned_to_is_not_read_again(lake: Any) -> None:
    put(lake, "a/1.csv", 1)
    put(lake, "b/1.csv", 2, at=DAY)
    assert ingested(lake, "/a") == ["1"]
    assert ingested(lake, "/b/") == ["1", "2"]
    put(lake, "a/2.csv", 3)
    assert ingested(lake, "/a/") == ["1", "2", "3"]


def test_a_source_around_or_inside_another_reads_what_that_one_has_not(lake: Any) -> None:
    put(lake, "a/in/1.csv", 1)
    put(lake, "a/2.csv", 2)
    assert ingested(lake, "/a/in/1.csv") == ["1"]
    assert ingested(lake, "/a/in") == ["1"]
    assert ingested(lake, "/a") == ["1", "2"]
    assert ingested(lake) == ["1", "2"]
    assert ingested(lake, "/a/../a/./in") == ["1", "2"]


@pytest.mark.s3
def test_the_schemes_of_one_store_are_one_source(lake: Any, s3: Any) -> None:
    s3.create_bucket(Bucket="schemes")
    lake.use_store("schemes", s3.meta.endpoint_url)
    for scheme in ("s3", "s3n"):
        lake.spark._jsc.hadoopConfiguration().set(f"fs.{scheme}.impl", "org.apache.hadoop.fs.s3a.S3AFileSystem")
    names = ["in/a%20b.csv", "in/a b.csv", "in/ü/é+&=.csv"]
    for number, name in enumerate(names):
        s3.put_object(Bucket="schemes", Key=name, Body=f"id,carrier\n{number},AA\n".encode())
    for scheme in ("s3a", "s3", "s3n", "s3a"):
        files = {"path": f"{scheme}://schemes/in/"}
        assert lake.ingest(files=files, operation="Insert").outcome is (
            Outcome.SUCCEEDED if lake.runs == 1 else Outcome.NOTHING_TO_DO
        )
    assert lake.rows("id") == [(str(number),) for number in range(len(names))]


def segments(lake: Any) -> list[Path]:
    return sorted(Path(lake.folder, "table/.hudi-operator/files").glob("0*"))


def test_names_of_every_kind_are_read_once(lake: Any) -> None:
    names = ["line\nbreak.csv", "100%25.csv", "ü/é.csv", "a; length=1; modification_time=2;.csv", "{x}[1]?*.csv"]
    for number, name in enumerate(names):
        put(lake, name, number)
    assert ingested(lake) == [str(number) for number in range(len(names))]


def test_a_late_file_is_reported_as_such(lake: Any) -> None:
    put(lake, "a.csv", 1, at=DAY)
    assert "older" not in lake.ingest(operation="Insert").message
    put(lake, "b.csv", 2)
    assert "1 of the files are older than files that had already been read" in lake.ingest(operation="Insert").message


@pytest.mark.parametrize("harm", sampled("missing", "changed", "shorter", "changed, as the file system notices", few=2))
def test_without_the_record_nothing_is_written_until_somebody_asks_to_read_everything_again(
    lake: Any, harm: str
) -> None:
    put(lake, "a.csv", 1)
    lake.ingest()
    segment = segments(lake)[0]
    content = segment.read_bytes()
    if "notices" not in harm:
        Path(segment.parent, f".{segment.name}.crc").unlink()
    if harm == "missing":
        segment.unlink()
    else:
        segment.write_bytes(content[:-1] if harm == "shorter" else content[:-1] + b"?")
    put(lake, "b.csv", 2)
    before = lake.instants()

    refused = lake.ingest()

    assert (refused.outcome, refused.reason) == (Outcome.FAILED, FailureReason.CHECKPOINT_DAMAGED)
    assert segment.name in refused.message
    assert lake.instants() == before
    again = lake.ingest(rescan="read")
    assert (again.outcome, again.files_read, again.rescan) == (Outcome.SUCCEEDED, 2, "read")
    assert lake.ingest(rescan="read").outcome is Outcome.NOTHING_TO_DO
    assert lake.rows("id") == [("1",), ("2",)]


@pytest.mark.slow
@pytest.mark.parametrize("rescan", sampled("read:a.csv", None))
def test_a_run_that_dies_between_its_record_and_its_commit_has_read_nothing(
    lake: Any, program: Callable[..., Any], rescan: str | None
) -> None:
    lake.lease = LEASE
    put(lake, "a.csv", 1)
    lake.ingest(operation="Insert")
    put(lake, "b.csv", 2)
    before, known = lake.instants(), segments(lake)

    running = program(lake.request(operation="Insert", rescan=rescan), HUDI_JOB_PAUSE_AT="recorded")
    running.wait_until(running.has_stopped)
    running.kill()

    assert lake.instants() == before
    assert len(segments(lake)) == len(known) + 1
    for _ in range(2):
        lake.ingest(operation="Insert", rescan=rescan)
    assert lake.rows("id") == ([("1",)] if rescan else []) + [("1",), ("2",)]


@IN_FULL  # otherwise `operations/test_checkpoint.py` reads a file again that a rollback took back
def test_a_table_restored_to_a_savepoint_has_its_record(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudi_jobs.ingestion.checkpoint.SWEEP_EVERY", 1)
    monkeypatch.setattr("hudi_jobs.ingestion.checkpoint.KEEP_FOR_MILLISECONDS", -1)
    put(lake, "0.csv", 0)
    saved = lake.ingest(operation="Insert").instant
    lake.spark.sql(f"CALL create_savepoint(path => '{lake.base_path}', commit_time => '{saved}')").collect()
    for number in range(1, 4):
        put(lake, f"{number}.csv", number, at=number)
        lake.ingest(operation="Insert")
    # Each commit of the active timeline can be gone back to.
    assert len(segments(lake)) == 4
    lake.spark.sql(f"CALL rollback_to_savepoint(path => '{lake.base_path}', instant_time => '{saved}')").collect()
    assert lake.rows("id") == [("0",)]
    assert ingested(lake) == ["0", "1", "2", "3"]


def test_segments_that_no_commit_leads_back_to_are_removed(lake: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hudi_jobs.ingestion.checkpoint.SWEEP_EVERY", 1)
    monkeypatch.setattr("hudi_jobs.ingestion.checkpoint.KEEP_FOR_MILLISECONDS", -1)
    lake.options = {
        "hoodie.clean.automatic": "true",
        "hoodie.clean.commits.retained": "1",
        "hoodie.archive.automatic": "true",
        "hoodie.keep.min.commits": "2",
        "hoodie.keep.max.commits": "3",
    }
    for number in range(6):
        put(lake, f"{number}.csv", number, at=number)
        assert lake.ingest(operation="Insert").outcome is Outcome.SUCCEEDED
    assert len(segments(lake)) < 5
    assert ingested(lake) == ["0", "1", "2", "3", "4", "5"]
