"""What is killed: a trial for each kind of operation, each step of a repair and each service, on tables of any shape.

A trial makes a table that has something to do, and says what its rows are afterwards. Whoever adds a kind or a step
adds a trial: `test_kill_sweep.py` finds one that is missing, and which phases it goes through.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import copyfile
from typing import Any

from tests.spark_jobs.operations.asked import (
    DOWNGRADE,
    RESTORE,
    ROLLBACK,
    UPGRADE,
    commits,
    repair_request,
    request,
    rows,
    service_request,
)
from tests.spark_jobs.operations.erase.erasures import ERASURES
from tests.spark_jobs.operations.shapes import Shape
from tests.spark_jobs.operations.trial import UID, Asked, Rows, Trial
from tests.spark_jobs.services.test_services import SMALL, add, fill, succeeded

from hudi_jobs.contract import (
    CHECKPOINT_KEY,
    NewerSavepoints,
    OperationKind,
    RepairStep,
    RunMode,
    RunnableService,
    Service,
)
from hudi_jobs.table import HudiTable
from hudi_jobs.table_services.client import write_client

LONG_AGO = 1_700_000_000
_RECORD_INDEX = {"hoodie.metadata.global.record.level.index.enable": "true"}
_CLEAN = {"hoodie.clean.trigger.max.commits": "0", "hoodie.clean.commits.retained": "1"}
_ARCHIVE = {"hoodie.keep.min.commits": "2", "hoodie.keep.max.commits": "3", "hoodie.clean.commits.retained": "1"}


def _filled(lake: Any, count: int, *, first: int = 0) -> Rows:
    """Ingest, and return the rows; what the version was pinned to is not declared any more."""
    fill(lake, count, first=first)
    lake.spec.pop("tableVersion", None)
    return rows(lake)


def _added(lake: Any) -> Rows:
    lake.spec |= SMALL
    add(lake, 2)
    lake.spec.pop("tableVersion", None)
    return rows(lake)


def _restore(lake: Any, _: Shape) -> Asked:
    expected, target = _filled(lake, 1), commits(lake)[-1]
    afterwards = _filled(lake, 2, first=1)
    with write_client(lake.spark, lake.base_path, lake.hudi_options(Service.CLEANING)) as client:
        client.savepoint(commits(lake)[-1], user="somebody", comment="mine")
    asked = request(lake, target, RESTORE, uid=UID, savepoints=NewerSavepoints.REMOVE)
    return Asked(asked, expected, afterwards=afterwards)


def _restore_onwards(lake: Any, _: Shape) -> Asked:
    expected, target = _filled(lake, 1), commits(lake)[-1]
    _filled(lake, 1, first=1)
    asked, read = request(lake, target, RESTORE, uid=UID, reingest=False), _checkpoint(lake)
    return Asked(asked, expected, lambda: _require_checkpoint(lake, read))


def _restore_over_compaction(lake: Any, shape: Shape) -> Asked:
    """A driver may die while a completed compaction is undone, which Hudi makes pending before it removes its files."""
    expected, target = _filled(lake, 1), commits(lake)[-1]
    _filled(lake, 2, first=1)
    _compact(lake, shape)
    _filled(lake, 1, first=3)

    def proof() -> None:
        assert _filled(lake, 2, first=4) == afterwards
        _compact(lake, shape)

    afterwards = [(*row[:-1], "5") for row in expected]
    return Asked(request(lake, target, RESTORE, uid=UID), expected, proof, afterwards)


def _restore_over_clustering(lake: Any, shape: Shape) -> Asked:
    """Hudi 1.2.0 leaves a completed clustering pending that it undoes: the restore rolls that back too."""
    expected, target = _filled(lake, 1), commits(lake)[-1]
    lake.spec |= SMALL
    add(lake, 2, first=1)
    succeeded(lake.serve(Service.CLUSTERING, concurrency=shape.concurrency))
    afterwards = _filled(lake, 1, first=3)
    return Asked(request(lake, target, RESTORE, uid=UID), expected, afterwards=afterwards)


def _compact(lake: Any, shape: Shape) -> None:
    succeeded(lake.serve(Service.COMPACTION, concurrency=shape.concurrency))


def _rollback(lake: Any, _: Shape) -> Asked:
    expected, afterwards = _filled(lake, 1), _filled(lake, 1, first=1)
    return Asked(request(lake, commits(lake)[-1], ROLLBACK, uid=UID), expected, afterwards=afterwards)


def _rollback_onwards(lake: Any, _: Shape) -> Asked:
    expected = _filled(lake, 1)
    _filled(lake, 1, first=1)
    asked, read = request(lake, commits(lake)[-1], ROLLBACK, uid=UID, reingest=False), _checkpoint(lake)
    return Asked(asked, expected, lambda: _require_checkpoint(lake, read))


def _checkpoint(lake: Any) -> str:
    """Return how far the table has read, as its newest commit says."""
    table = HudiTable.existing(lake.spark, lake.base_path)
    newest = max(table.commits(), key=lambda commit: commit.instant)
    return newest.notes[CHECKPOINT_KEY]


def _require_checkpoint(lake: Any, expected: str) -> None:
    assert _checkpoint(lake) == expected, "what was removed is read again"


def _change(kind: OperationKind, version: int) -> Callable[[Any, Shape], Asked]:
    def prepare(lake: Any, _: Shape) -> Asked:
        expected = _filled(lake, 2)
        return Asked(request(lake, None, kind, uid=UID, version=version), expected)

    return prepare


def _service(service: RunnableService) -> Callable[[Any, Shape], Asked]:
    replaced = {RunnableService.CLEANING: _CLEAN, RunnableService.ARCHIVAL: _ARCHIVE}.get(service)

    def prepare(lake: Any, _: Shape) -> Asked:
        count = 5 if service is RunnableService.ARCHIVAL else 2
        expected = _added(lake) if service is RunnableService.CLUSTERING else _filled(lake, count)
        return Asked(service_request(lake, service, uid=UID, replaced=replaced), expected)

    return prepare


def _age(folder: Path) -> None:
    """Let nothing below a folder be written lately."""
    for path in folder.rglob("*"):
        os.utime(path, (LONG_AGO, LONG_AGO))


def _stuck_write(lake: Any, shape: Shape) -> Asked:
    """The newest commit is as a tool leaves it that dies before it completes it."""
    expected, afterwards = _filled(lake, 1), _filled(lake, 1, first=1)
    instant, timeline = commits(lake)[-1], shape.timeline(lake)
    pattern = f"{instant}.*commit" if shape.version == 6 else f"{instant}_*commit"
    (completed,) = (path for path in timeline.glob(pattern) if not path.name.startswith("."))
    completed.unlink()
    markers = lake.folder / "table/.hoodie/.temp" / instant
    markers.mkdir(parents=True, exist_ok=True)
    for path in (lake.folder / "table").glob(f"[!.]*{instant}*"):  # no checksums
        (markers / f"{path.name}.marker.CREATE").touch()
    _age(lake.folder / "table/.hoodie")
    asked = repair_request(lake, RepairStep.ROLLBACK_INFLIGHT, instant, uid=UID)
    return Asked(asked, expected, afterwards=afterwards)


def _corrupt_plan(lake: Any, shape: Shape) -> Asked:
    expected = _added(lake)
    planned = lake.serve(Service.CLUSTERING, mode=RunMode.SCHEDULE, concurrency=shape.concurrency)
    instant = str(succeeded(planned).instant)
    (plan,) = shape.timeline(lake).glob(f"{instant}.*.requested")
    plan.with_name(f".{plan.name}.crc").unlink(missing_ok=True)
    plan.write_bytes(b"no plan")
    _age(lake.folder / "table/.hoodie")
    return Asked(repair_request(lake, RepairStep.REMOVE_CORRUPT_PLAN, instant, uid=UID), expected)


def _metadata_table(lake: Any, _: Shape) -> Asked:
    expected = _filled(lake, 2)
    return Asked(repair_request(lake, RepairStep.REBUILD_METADATA_TABLE, uid=UID), expected)


def _record_index(lake: Any, _: Shape) -> Asked:
    lake.options |= _RECORD_INDEX
    expected = _filled(lake, 2)
    return Asked(repair_request(lake, RepairStep.REBUILD_RECORD_INDEX, uid=UID), expected)


def _properties(lake: Any, _: Shape) -> Asked:
    expected, folder = _filled(lake, 1), lake.folder / "table/.hoodie"
    file, backup = folder / "hoodie.properties", folder / "hoodie.properties.backup"
    sound = file.read_bytes()
    for name in (".hoodie.properties.crc", ".hoodie.properties.backup.crc"):
        (folder / name).unlink(missing_ok=True)
    backup.write_bytes(sound)
    file.write_bytes(sound.replace(b"hoodie.table.checksum=", b"hoodie.table.checksum=1"))
    for path in (file, backup):
        os.utime(path, (LONG_AGO, LONG_AGO))
    return Asked(repair_request(lake, RepairStep.RESTORE_PROPERTIES, uid=UID), expected)


def _orphan_file(lake: Any, _: Shape) -> Asked:
    expected, table = _filled(lake, 2), lake.folder / "table"
    first = commits(lake)[0]
    orphan = table / f"0b5c0b4e-1f0a-4b58-9d0c-a1b2c3d4e5f6-0_0-1-2_{int(first) + 1}.parquet"
    copyfile(next(table.glob(f"*_{first}.parquet")), orphan)
    _age(table)

    def proof() -> None:
        assert not orphan.exists()

    step = RepairStep.REMOVE_ORPHAN_FILES
    return Asked(repair_request(lake, step, uid=UID, older_than=3_600), expected, proof)


def _doubled_rows(lake: Any, _: Shape) -> Asked:
    """Every row is there twice, as another tool leaves it that inserts without a look."""
    expected = _filled(lake, 1)
    frame = lake.spark.read.format("hudi").load(lake.base_path)
    frame = frame.drop(*(name for name in frame.columns if name.startswith("_hoodie_")))
    metadata = {"hoodie.metadata.enable": str(lake.metadata_table).lower()}
    options = {**lake.hudi_options(Service.INGESTION), "hoodie.datasource.write.operation": "bulk_insert", **metadata}
    frame.write.format("hudi").options(**options).mode("append").save(lake.base_path)
    assert len(rows(lake)) == 2 * len(expected)
    return Asked(repair_request(lake, RepairStep.DEDUPLICATE, uid=UID), expected)


def _has_metadata(shape: Shape) -> bool:
    return shape.metadata


_REPAIRS: dict[RepairStep, Trial] = {
    step: Trial(OperationKind.REPAIR, prepare, step, fits)
    for step, prepare, fits in (
        (RepairStep.ROLLBACK_INFLIGHT, _stuck_write, lambda _: True),
        (RepairStep.REMOVE_CORRUPT_PLAN, _corrupt_plan, lambda _: True),
        (RepairStep.REBUILD_METADATA_TABLE, _metadata_table, _has_metadata),
        (RepairStep.REBUILD_RECORD_INDEX, _record_index, _has_metadata),
        (RepairStep.RESTORE_PROPERTIES, _properties, lambda _: True),
        (RepairStep.REMOVE_ORPHAN_FILES, _orphan_file, lambda _: True),
        (RepairStep.DEDUPLICATE, _doubled_rows, lambda _: True),
    )
}


def _services() -> Iterator[Trial]:
    for service in RunnableService:
        needs_logs = service is RunnableService.COMPACTION
        fits: Callable[[Shape], bool] = (lambda shape: shape.is_merged) if needs_logs else lambda _: True
        yield Trial(OperationKind.RUN_SERVICE, _service(service), service, fits)


TRIALS: tuple[Trial, ...] = (
    Trial(RESTORE, _restore),
    Trial(RESTORE, _restore_onwards, "onwards"),
    Trial(RESTORE, _restore_over_compaction, "over-compaction", fits=lambda shape: shape.is_merged),
    Trial(RESTORE, _restore_over_clustering, "over-clustering"),
    Trial(ROLLBACK, _rollback),
    Trial(ROLLBACK, _rollback_onwards, "onwards"),
    Trial(UPGRADE, _change(UPGRADE, 9), fits=lambda shape: shape.version == 6),
    Trial(DOWNGRADE, _change(DOWNGRADE, 6), fits=lambda shape: shape.version == 9),
    *_services(),
    *_REPAIRS.values(),
    *ERASURES,
)
