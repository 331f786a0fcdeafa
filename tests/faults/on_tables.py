"""Operations of each kind on a table with rows, one after the other, each with the operator killed at some write."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tests.faults.following import ask
from tests.faults.operation import gone
from tests.faults.rows import RowTable
from tests.faults.rules import Fault, at_write, none
from tests.faults.test_stuck import orphan
from tests.spark_jobs.operations.shapes import OPTIMISTIC, Shape
from tests.spark_jobs.services.test_services import NEW_FILES

from hudi_jobs.contract import OperationKind

COMMON = "common"
"""The key that each file has, so that every commit writes to older file groups."""

_DISABLED = {"mode": "Disabled"}
_ACTIONS = ("commit", "deltacommit", "replacecommit", "clean", "restore", "rollback")

Document = dict[str, Any]


@dataclass
class Bench:
    """A table whose operations meet a fault, and what it is to hold."""

    table: RowTable
    shape: Shape
    write: int = 0
    """Which write after the request for an operation meets the fault."""

    fault: Fault = Fault.CRASH_BEFORE
    is_met: bool = False
    """Whether the fault has come before the end of one of the operations since it was put there."""

    rows: dict[str, str] = field(default_factory=dict)
    files: int = 0
    asked: int = 0
    did: dict[str, list[tuple[str, int]]] = field(default_factory=dict)
    """Which actions the first operation of a kind has added to the timeline, by the field of the kind."""

    async def create(self, lock: Document) -> None:
        """Make the table, with no services of its own, and ingest the first file."""
        mode = {"mode": self.shape.concurrency}
        self._deliver("first")
        await self.table.declare(
            type=self.shape.type,
            tableVersion=self.shape.version,
            metadataTable={"enabled": self.shape.metadata},
            concurrency={**mode, "lock": lock} if self.shape.concurrency is OPTIMISTIC else mode,
            cleaning=_DISABLED,
            archival=_DISABLED,
            **({"compaction": _DISABLED} if self.shape.is_merged else {}),
            **NEW_FILES,
        )
        await self.holds_all()

    async def ingest(self, key: str) -> Path:
        """Ingest a file that has this key and the common one, and return the file."""
        file = self._deliver(key)
        await self.table.ingest()
        await self.holds_all()
        return file

    def _deliver(self, key: str) -> Path:
        self.files += 1
        new = dict.fromkeys((COMMON, key), str(self.files))
        self.rows |= new
        return self.table.deliver(f"{self.files}.csv", new)

    async def holds_all(self) -> None:
        """The table has exactly the rows that it is to hold."""
        assert await self.table.rows() == sorted(self.rows.items())

    async def do(self, asked: Document) -> Document:
        """Have the operator killed while an operation is done; return its report, and see that it was done once."""
        place, before = self.table.arena, self._actions()
        self.asked += 1
        name = f"asked-{self.asked}"
        accepts = {"acceptOtherWriters": True} if self.shape.concurrency is OPTIMISTIC else {}
        seen = len(place.proxy.writes)
        place.proxy.rule = at_write(seen + self.write, self.fault)
        done = await ask(place, {"tableRef": {"name": self.table.name}, **accepts, **asked}, name=name)
        await place.transport.request("DELETE", f"{place.operations}/{name}")
        await gone(place, name)
        await self.table.works(lambda status: not status["operations"], what="the table is at rest")
        place.proxy.rule = none
        self.is_met |= any(write.fault for write in place.proxy.writes[seen:])
        after = self._actions()
        after.subtract(before)
        did = sorted((action, count) for action, count in after.items() if count)
        assert self.did.setdefault(next(iter(asked)), did) == did, "it is done once"
        report: Document = done["report"]
        assert report.get("verified") is (None if "runService" in asked else True), "a service alone compares nothing"
        return report

    def _actions(self) -> Counter[str]:
        """How many completed instants of each action the timeline has."""
        return Counter({action: len(self.table.timeline.completed(action)) for action in _ACTIONS})

    async def newest(self) -> str:
        """The newest completed commit that the status shows."""
        status = await self.table.works(lambda _: True, what="the table is at rest")
        instants = status["timeline"]["instants"]
        return max(str(one["time"]) for one in instants if one["action"] in {"commit", "deltacommit"})


OnTable: TypeAlias = Callable[[Bench], Awaitable[None]]


async def restores(bench: Bench) -> None:
    """What is removed is read again by the next run."""
    await _goes_back(bench, "restore")


async def rolls_back(bench: Bench) -> None:
    """The latest commit is removed, and its input is read again by the next run."""
    await _goes_back(bench, "rollback")


async def _goes_back(bench: Bench, what: str) -> None:
    kept, target = dict(bench.rows), await bench.newest()
    await bench.ingest(f"removed-{bench.files}")
    named = {"restore": target, "rollback": await bench.newest()}
    assert named["rollback"] > target
    removed, bench.rows = bench.rows, kept
    report = await bench.do({what: {"instant": named[what]}})
    assert report["rowsAfter"] == len(kept)
    await bench.holds_all()
    bench.rows = removed
    await bench.table.ingest()
    await bench.holds_all()


async def serves(bench: Bench) -> None:
    """A service that is disabled runs once."""
    await bench.ingest(f"served-{bench.files}")
    await bench.do({"runService": {"service": "Compaction" if bench.shape.is_merged else "Clustering"}})
    await bench.holds_all()


async def repairs(bench: Bench) -> None:
    """A file of no commit is removed."""
    file = orphan(bench.table)
    report = await bench.do({"repair": {"removeOrphanFiles": {"olderThan": "1h"}}})
    assert (report["count"], file.exists()) == (1, False)
    await bench.holds_all()


async def goes_to_another_version(bench: Bench) -> None:
    """It goes to the other version that is supported, and back."""
    made_with = bench.shape.version
    for version in ({6: 9, 9: 6}[made_with], made_with):
        what = "upgrade" if version == 9 else "downgrade"
        await bench.table.patch(tableVersion=version)
        await bench.do({what: {"tableVersion": version}})
        assert bench.table.timeline.version == version
        await bench.holds_all()


async def erases(bench: Bench) -> None:
    """No file holds the key any more."""
    key = f"erased-{bench.files}"
    (await bench.ingest(key)).unlink()
    del bench.rows[key]
    report = await bench.do({"erase": {"keys": [{"id": key}]}})
    assert report["erased"]["rows"] == 1
    assert bench.table.files_with(key) == []
    files = (path for path in bench.table.folder.rglob("*") if path.is_file())
    assert [str(path) for path in files if key.encode() in path.read_bytes()] == []
    await bench.holds_all()


ON_TABLES: Mapping[OperationKind, OnTable] = {
    OperationKind.RESTORE: restores,
    OperationKind.ROLLBACK: rolls_back,
    OperationKind.RUN_SERVICE: serves,
    OperationKind.REPAIR: repairs,
    OperationKind.UPGRADE: goes_to_another_version,
    OperationKind.DOWNGRADE: goes_to_another_version,
    OperationKind.ERASE: erases,
}
"""What is done on a table for each kind of operation."""
