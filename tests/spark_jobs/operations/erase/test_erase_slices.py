"""Erasures beside savepoints, which keep whole file slices: also log files that came into one afterwards."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark_jobs.operations.asked import commits, refusal, rows
from tests.spark_jobs.operations.erase.erasing import customer, erase, erased, holding, upsert
from tests.spark_jobs.operations.erase.test_erase import savepoint, without
from tests.spark_jobs.services.test_services import succeeded
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import Service

pytestmark = [pytest.mark.spark, pytest.mark.slow]

KEY = customer(4711)


def saved(lake: Any, version: int) -> str:
    """A table with one file slice, of a base file and a log file, which a savepoint keeps."""
    lake.table = {"type": "MergeOnRead"}
    lake.spec = {"index": {"type": "Bucket", "buckets": 1}, "tableVersion": version}
    upsert(lake, 0)
    upsert(lake, 1)
    kept: str = commits(lake)[-1]
    savepoint(lake, kept)
    return kept


@pytest.mark.parametrize("version", sampled(9, 6))
def test_a_savepoint_keeps_a_key_that_came_into_a_slice_of_it_afterwards(lake: Any, version: int) -> None:
    kept = saved(lake, version)
    upsert(lake, 2, extra=(KEY,))
    before = rows(lake)
    assert f"{kept} of 'somebody'" in refusal(erase(lake, ids=(KEY,)))
    report, _ = erased(erase(lake, ids=(KEY,), release_savepoints=True))
    assert report.savepoints == (kept,)
    assert rows(lake) == without(before, KEY)
    assert holding(lake.folder / "table", KEY) == []


@pytest.mark.parametrize("version", sampled(6, 9))
def test_a_savepoint_of_an_older_slice_keeps_no_key_and_stays(lake: Any, version: int) -> None:
    kept = saved(lake, version)
    succeeded(lake.serve(Service.COMPACTION))
    upsert(lake, 2, extra=(KEY,))
    before = rows(lake)
    report, _ = erased(erase(lake, ids=(KEY,), release_savepoints=True))
    assert report.savepoints == ()
    assert [each.name.startswith(kept) for each in (lake.folder / "table/.hoodie").rglob("*.savepoint")] == [True]
    assert rows(lake) == without(before, KEY)
    assert holding(lake.folder / "table", KEY) == []
