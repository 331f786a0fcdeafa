"""Erasures that are killed: of keys and of a predicate, of keys that savepoints, a quarantine and old commits hold."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from tests.spark_jobs.operations.asked import commits, rows
from tests.spark_jobs.operations.erase import erasing
from tests.spark_jobs.operations.shapes import Shape
from tests.spark_jobs.operations.trial import UID, Asked, Trial

from hudi_jobs.contract import OperationKind, Service
from hudi_jobs.table_services.client import write_client


def _upserted(lake: Any, shape: Shape, *numbers: int) -> None:
    if shape.metadata:
        lake.options |= erasing.INDEXES
    for number in numbers:
        erasing.upsert(lake, number)


def _erasure(lake: Any, **how: Any) -> Asked:
    lake.spec.pop("tableVersion", None)
    key, table = erasing.customer(7), lake.folder / "table"
    expected = [row for row in rows(lake) if row[0] != key]

    def proof() -> None:
        assert erasing.holding(table, key) == []

    return Asked(erasing.request(lake, uid=UID, **how), expected, proof)


def _erase(**how: Any) -> Callable[[Any, Shape], Asked]:
    def prepare(lake: Any, shape: Shape) -> Asked:
        _upserted(lake, shape, 0, 1)
        return _erasure(lake, **how)

    return prepare


def _erase_saved(lake: Any, shape: Shape) -> Asked:
    """A savepoint keeps the key, and the operation may release it."""
    _upserted(lake, shape, 0)
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(commits(lake)[-1], user="somebody", comment="mine")
    _upserted(lake, shape, 1)
    asked = _erasure(lake, ids=(erasing.customer(7),), release_savepoints=True)

    def proof() -> None:
        asked.proof()
        assert not list((lake.folder / "table/.hoodie").rglob("*.savepoint"))

    return replace(asked, proof=proof)


def _erase_copies(lake: Any, shape: Shape) -> Asked:
    """The key is in a quarantine too, and commits that wrote it are archived."""
    lake.spec |= {"cleaning": {"retainCommits": 1}, "archival": {"minCommits": 2, "maxCommits": 3}}
    # Hudi archives no commit that the metadata table has not compacted.
    lake.options |= {"hoodie.metadata.compact.max.delta.commits": "2"} if shape.metadata else {}
    _upserted(lake, shape, *range(6))
    archived = lake.serve(Service.ARCHIVAL, concurrency=shape.concurrency)
    assert archived.instants_archived, archived
    folder, key, other = lake.landing / "_quarantine", erasing.customer(7), erasing.customer(8)  # hidden from ingestion
    erasing.quarantined(folder, key, other)
    asked = _erasure(lake, ids=(key,), quarantines=(str(folder),))

    def proof() -> None:
        asked.proof()
        assert erasing.holding(folder, key) == []
        left = [line for path in folder.rglob("*.json") for line in path.read_text().splitlines()]
        assert [other in line for line in left] == [True], left

    return replace(asked, proof=proof)


ERASURES: tuple[Trial, ...] = (
    Trial(OperationKind.ERASE, _erase(ids=(erasing.customer(7),)), "keys"),
    Trial(OperationKind.ERASE, _erase(where=f"id = '{erasing.customer(7)}'"), "where"),
    Trial(OperationKind.ERASE, _erase_saved, "saved"),
    Trial(OperationKind.ERASE, _erase_copies, "copies"),
)
