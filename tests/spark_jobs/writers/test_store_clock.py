"""Tables of layout 1 on a store whose clock is behind that of the drivers: it tells when instants completed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.services.test_services import succeeded

from hudi_jobs.contract import RunMode, Service

pytestmark = pytest.mark.spark

TEN_MINUTES = 600
COLUMNS = {"files": {"schemaDdl": "id INT, v INT"}}


class Store:
    """The files of a timeline, with times of ten minutes before."""

    def __init__(self, lake: Any) -> None:
        lake.options = {"hoodie.write.table.version": "6"}
        self._lake = lake
        self._seen: set[Path] = set()

    def write(self, number: int, *ids: int, **changes: Any) -> None:
        self._lake.put(f"{number}.csv", "id,v\n" + "".join(f"{each},{number}\n" for each in ids), at=number)
        succeeded(self._lake.ingest(**COLUMNS, **changes))
        self.date()

    def serve(self, service: Service, **planned: Any) -> Any:
        done = succeeded(self._lake.serve(service, **planned))
        self.date()
        return done

    def date(self) -> None:
        for path in {*Path(self._lake.folder, "table/.hoodie").glob("2*")} - self._seen:
            os.utime(path, (path.stat().st_mtime - TEN_MINUTES,) * 2)
            self._seen.add(path)


@pytest.fixture
def store(lake: Any) -> Store:
    return Store(lake)


def test_a_key_that_comes_back_beside_a_compaction_is_one_row(lake: Any, store: Store) -> None:
    lake.table = {"type": "MergeOnRead"}
    lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}, "index": {"type": "Bloom"}}
    store.write(1, *range(4))
    store.write(2, 1, operation="Delete")
    planned = store.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)
    store.write(3, 1)
    store.serve(Service.COMPACTION, mode=RunMode.EXECUTE, instant=planned.instant)
    store.write(4, 1)
    assert lake.rows("id", "v") == [(0, 1), (1, 4), (2, 1), (3, 1)]


def test_a_clustering_is_planned_again_after_a_commit_beside_its_plan(lake: Any, store: Store) -> None:
    lake.spec = {"clustering": {"trigger": {"commits": 1}}, "fileSizing": {"smallFileLimit": "0"}}
    for number in (1, 2):
        store.write(number, number)
    planned = store.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE)
    completed = max(Path(lake.folder, "table/.hoodie").glob("*.commit"))
    os.utime(completed, (completed.stat().st_mtime + 60,) * 2)  # a minute after its request, and after the plan

    done = store.serve(Service.CLUSTERING, mode=RunMode.EXECUTE, instant=planned.instant)

    assert f"{planned.instant} was rolled back" in done.message
    assert lake.rows("id", "v") == [(1, 1), (2, 2)]
