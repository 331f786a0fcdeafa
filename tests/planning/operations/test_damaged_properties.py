"""A table whose hoodie.properties is missing or damaged is read by the backup, and mended by a repair."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.planning.operations.operations import entry, launches, operation, world
from tests.planning.world import as_declared, done, status_of
from tests.timeline.conftest import MemoryFileSystem

from hudi_jobs.contract import Location, RepairStep, Service
from hudi_operator.planning.model import Observation
from hudi_operator.timeline import TimelineReader

MAIN = "/t/.hoodie/hoodie.properties"
DAMAGED = {"missing": None, "empty": b"", "damaged": b"#half a file\nhoodie.table.name=flights\n"}


def read_with(main: bytes | None) -> Observation:
    """A table that asks for the repair, as it is read where hoodie.properties has this content."""
    asked = operation(repair={"restoreProperties": {}})
    seen = world(asked, remembered=(entry(kind="Repair"),), ingestion={})
    declared = as_declared(seen.snapshot, seen.table).timeline
    assert declared is not None
    backup = "".join(f"{key}={value}\n" for key, value in declared.properties.raw).encode()
    files = {f"{MAIN}.backup": backup, **({} if main is None else {MAIN: main})}
    commits = {f"/t/.hoodie/timeline/{done('commit', number)}": b"" for number in (30, 20, 10)}
    timeline = TimelineReader(MemoryFileSystem({**files, **commits})).read(Location.parse("/t"))
    return replace(seen, snapshot=replace(seen.snapshot, timeline=timeline))


@pytest.mark.parametrize(("state", "main"), DAMAGED.items(), ids=DAMAGED)
def test_properties_that_are_not_whole_are_said_and_may_be_repaired(state: str, main: bytes | None) -> None:
    seen = read_with(main)
    told = status_of(seen).timeline
    assert told is not None
    assert [f"hoodie.properties: The file is {state}" in one for one in told.problems or () if "properties" in one] == [
        True
    ]
    (launch,) = launches(seen)
    assert launch.job.service is Service.OPERATION
    assert launch.job.operation is not None
    assert launch.job.operation.repair is not None
    assert launch.job.operation.repair.step is RepairStep.RESTORE_PROPERTIES
