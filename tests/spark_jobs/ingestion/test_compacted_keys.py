"""A key that was deleted and came back is one row, whatever a compaction did between the two."""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark_jobs.trials import crossed

from hudi_jobs.contract import Outcome, RunMode, Service
from hudi_jobs.table_services.compaction import _Compaction

pytestmark = pytest.mark.spark


@pytest.fixture
def returned(lake: Any) -> Any:
    """A key that is in no base file: a compaction was planned after its deletion, and executed after its return."""
    lake.table = {"type": "MergeOnRead", "orderingFields": ["at"]}
    lake.ingestion = {"files": {"schemaDdl": "id STRING, at STRING"}}
    lake.spec = {"compaction": {"trigger": {"deltaCommits": 1}}, "fileSizing": {"smallFileLimit": "0"}}
    return lake


def written(lake: Any, at: int, *keys: int, operation: str = "Upsert") -> None:
    lake.put(f"{at}.csv", "id,at\n" + "".join(f"{key},{at}\n" for key in keys), at=at)
    result = lake.ingest(operation=operation)
    assert result.outcome is Outcome.SUCCEEDED, result


@crossed(("version", [9, 6]), ("index", ["Bloom", "Simple"]), ("dies", [True, False]))
def test_a_compaction_that_was_planned_before_it_came_back_leaves_one_row(
    returned: Any, version: int, index: str, dies: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake = returned
    if dies:  # before it has compacted again
        monkeypatch.setattr(_Compaction, "settle", lambda _, __, result: result)
    lake.spec |= {"index": {"type": index}}
    lake.options = {"hoodie.write.table.version": str(version)}
    written(lake, 1, 1, 2)
    written(lake, 2, 1, operation="Delete")
    planned = lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE)
    written(lake, 3, 1)
    done = lake.serve(Service.COMPACTION, mode=RunMode.EXECUTE, instant=planned.instant)
    assert done.outcome is Outcome.SUCCEEDED, done
    written(lake, 4, 1)
    assert lake.rows("id", "at") == [("1", "4"), ("2", "1")]
