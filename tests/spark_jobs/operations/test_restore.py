"""A restore: the rows of its target are there again, counted and compared, whatever services did in between."""

from itertools import product
from typing import Any

import pytest
from tests.spark_jobs.operations.asked import commits, done, ingest_again, operate, pending, rows
from tests.spark_jobs.services.test_services import SMALL, add, fill, succeeded
from tests.spark_jobs.trials import ALL, sampled

from hudi_jobs.contract import Outcome, Service

pytestmark = [pytest.mark.spark]

TYPES = ["CopyOnWrite", "MergeOnRead"]


@pytest.mark.parametrize("kind", TYPES if ALL else TYPES[1:])
def test_the_rows_of_the_target_are_there_again_and_ingestion_reads_on_from_it(lake: Any, kind: str) -> None:
    lake.table, lake.metadata_table = {"type": kind, "partitionBy": []}, True
    fill(lake, 2)
    expected, target = rows(lake), commits(lake)[-1]
    fill(lake, 2, first=2)
    newest = rows(lake)
    gone = commits(lake)[-2:]

    report = done(operate(lake, target))

    assert rows(lake) == rows(lake, metadata=True) == expected
    assert (report.target, report.removed_count, report.removed) == (target, 2, tuple(reversed(gone)))
    assert (report.rows_before, report.rows_expected) == (100, 100)
    assert pending(lake) == []
    assert (lake.folder / "table/.hoodie/metadata/.hoodie/hoodie.properties").exists()
    result = lake.ingest()
    assert (result.outcome, result.files_read) == (Outcome.SUCCEEDED, 2), result
    assert rows(lake) == rows(lake, metadata=True) == newest


def test_restore_goes_back_over_a_completed_compaction(lake: Any) -> None:
    lake.table, lake.metadata_table = {"type": "MergeOnRead"}, True
    fill(lake, 3)
    target = commits(lake)[-2]
    succeeded(lake.serve(Service.COMPACTION))
    fill(lake, 1, first=3)
    newest = rows(lake)
    done(operate(lake, target))
    assert rows(lake) == rows(lake, metadata=True) == [(number, "1") for number in sorted(map(str, range(100)))]
    ingest_again(lake, 2)
    assert rows(lake) == rows(lake, metadata=True) == newest
    fill(lake, 1, first=4)
    succeeded(lake.serve(Service.COMPACTION))


@pytest.mark.parametrize(("kind", "version"), sampled(*product(TYPES, (9, 6))))
def test_restore_goes_back_over_a_completed_clustering(lake: Any, kind: str, version: int) -> None:
    lake.table, lake.spec, lake.metadata_table = {"type": kind}, {"tableVersion": version, **SMALL}, True
    add(lake, 3)
    expected, target = rows(lake), commits(lake)[-1]
    succeeded(lake.serve(Service.CLUSTERING))
    add(lake, 1, first=3)
    newest = rows(lake)
    done(operate(lake, target))
    assert rows(lake) == rows(lake, metadata=True) == expected
    assert pending(lake) == []
    ingest_again(lake, 1, operation="Insert")
    assert rows(lake) == rows(lake, metadata=True) == newest
    fill(lake, 1, first=5, rows=300)
    succeeded(lake.serve(Service.CLUSTERING))
