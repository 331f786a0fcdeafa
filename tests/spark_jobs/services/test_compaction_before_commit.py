"""A compaction writes its files before it waits for the batches of a continuous run, and commits while they wait."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.services.test_services import fill

from hudi_jobs.contract import Service
from hudi_jobs.table_services.client import write_client

pytestmark = [pytest.mark.spark]


@pytest.mark.parametrize("has_metadata_table", [False, True])
def test_compaction_has_written_its_files_when_batches_have_to_wait(lake: Any, *, has_metadata_table: bool) -> None:
    lake.table, lake.metadata_table = {"type": "MergeOnRead"}, has_metadata_table
    fill(lake, 3)
    table, seen = Path(lake.base_path), list[set[str]]()

    def base_files() -> set[str]:
        return {path.name for path in table.glob("*.parquet")}

    @contextmanager
    def at_rest() -> Iterator[None]:
        seen.append(base_files())
        yield

    before = base_files()
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.COMPACTION)) as client:
        instant = client.schedule_compaction({})
        assert instant is not None
        client.compact(instant, {}, at_rest=at_rest())

    assert len(seen[0] - before) == 1
    assert seen[0] == base_files(), "the files are written once"
    assert lake.rows("v") == [("2",)] * 100
