"""Where a restore ends: at the archive, beside plans from before its target, with the indexes of the table."""

from itertools import product
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import (
    commits,
    done,
    ingest_again,
    operate,
    overwrite,
    partitions,
    pending,
    refused_untouched,
    rows,
)
from tests.spark_jobs.services.test_services import fill, succeeded
from tests.spark_jobs.trials import crossed, sampled

from hudi_jobs.contract import RunMode, Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]


@pytest.mark.parametrize(
    ("version", "kind", "metadata"), sampled(*product((9, 6), ("MergeOnRead", "CopyOnWrite"), (True, False)))
)
def test_a_commit_in_the_archive_is_refused_as_that_and_one_beside_the_archive_is_not(
    lake: Any, version: int, kind: str, metadata: bool
) -> None:
    lake.table, lake.metadata_table = {"type": kind}, metadata
    lake.spec = {"cleaning": {"retainCommits": 1}, "archival": {"minCommits": 2, "maxCommits": 3}}
    lake.spec |= {"tableVersion": version}
    # Hudi archives no commit that the metadata table has not compacted.
    lake.options = {"hoodie.metadata.compact.max.delta.commits": "1"}
    for number in (0, 3):
        fill(lake, 3, first=number)
        if kind == "MergeOnRead":
            succeeded(lake.serve(Service.COMPACTION))
    fill(lake, 2, first=6)
    first, expected, target = commits(lake)[0], rows(lake), commits(lake)[-1]
    succeeded(lake.serve(Service.CLEANING))
    succeeded(lake.serve(Service.ARCHIVAL))
    assert first not in commits(lake)
    assert "is in the archive" in refused_untouched(lake, first)
    fill(lake, 1, first=8)
    newest = rows(lake)
    done(operate(lake, target))
    assert rows(lake) == rows(lake, metadata=metadata) == expected != newest
    ingest_again(lake, 1)
    assert rows(lake) == rows(lake, metadata=metadata) == newest


@crossed(("version", [6, 9]), ("executed", [False, True]))
def test_a_compaction_that_was_planned_before_the_target_leaves_every_row(
    lake: Any, version: int, executed: bool
) -> None:
    lake.table = {"type": "MergeOnRead"}
    for value in (1, 2):
        overwrite(lake, value, version=version)
    options = {"hoodie.compact.inline.max.delta.commits": "1"}
    plan = succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE, options=options)).instant
    overwrite(lake, 3, version=version)
    target = commits(lake)[-1]
    overwrite(lake, 4, version=version)
    if executed:
        succeeded(lake.serve(Service.COMPACTION, mode=RunMode.EXECUTE, instant=plan))
    done(operate(lake, target))
    assert {row[1] for row in rows(lake)} == {3}
    if not executed:
        assert [instant for _, instant in pending(lake)] == [plan]
        succeeded(lake.serve(Service.COMPACTION, mode=RunMode.EXECUTE, instant=plan))
    assert {row[1] for row in rows(lake)} == {3}
    assert pending(lake) == []
    overwrite(lake, 5, version=version)
    assert [row[1] for row in rows(lake)] == [5] * 10


@crossed(("version", [6, 9]), ("reingest", [True, False]))
def test_what_is_undone_beside_a_compaction_that_stays_is_read_again_or_not_as_asked(
    lake: Any, version: int, reingest: bool
) -> None:
    lake.table, lake.spec = {"type": "MergeOnRead"}, {"tableVersion": version}
    fill(lake, 2)
    options = {"hoodie.compact.inline.max.delta.commits": "1"}
    plan = succeeded(lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE, options=options)).instant
    fill(lake, 1, first=2)
    target, expected = commits(lake)[-1], rows(lake)
    fill(lake, 2, first=3)
    newest = rows(lake)
    succeeded(lake.serve(Service.COMPACTION, mode=RunMode.EXECUTE, instant=plan))
    done(operate(lake, target, reingest=reingest))
    assert rows(lake) == expected != newest
    assert plan in commits(lake)
    ingest_again(lake, 2 if reingest else 0)
    assert rows(lake) == (newest if reingest else expected)


def test_the_index_of_record_keys_is_made_again_and_finds_every_key(lake: Any) -> None:
    lake.metadata_table = True
    lake.options = {"hoodie.metadata.global.record.level.index.enable": "true"}
    for value in (1, 2, 3):
        overwrite(lake, value, version=9, metadata=True)
    before = partitions(lake)
    assert "record_index" in before
    done(operate(lake, commits(lake)[0]))
    assert partitions(lake) == before
    overwrite(lake, 4, version=9, metadata=True)
    assert [row[1] for row in rows(lake, metadata=True)] == [4] * 10
