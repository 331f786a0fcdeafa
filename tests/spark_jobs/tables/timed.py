"""MergeOnRead tables of version 6 whose files have other times than their instants: what each has to read."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from hudi_jobs.contract import Service
from hudi_jobs.spark.jvm import scala_map

OPTIONS = {
    "hoodie.write.table.version": "6",
    "hoodie.write.auto.upgrade": "false",
    "hoodie.metadata.enable": "false",
    "hoodie.datasource.write.operation": "upsert",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
}
HOUR = 3600.0
TOKYO = 9 * HOUR

Times = dict[str, float]
"""When each file of a timeline was written, in seconds since the epoch."""


@dataclass(frozen=True)
class History:
    """A table that another tool wrote: its folder, its instants by their names here, and its rows."""

    folder: Path
    instants: dict[str, str]
    rows: dict[str, int]


def at(instant: str) -> float:
    """The moment that an instant names, in seconds since the epoch."""
    moment = datetime.strptime(instant[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC)
    return moment.timestamp() + int(instant[14:17]) / 1000


def upsert(lake: Any, rows: dict[str, int], **options: str) -> None:
    """Write rows as another tool does that has no metadata table."""
    frame = lake.spark.createDataFrame(sorted(rows.items()), "id string, v int").coalesce(1)
    given = {**lake.hudi_options(Service.INGESTION), **OPTIONS, **options}
    frame.write.format("hudi").options(**given).mode("append").save(lake.base_path)


def compaction(lake: Any, planned: str | None = None) -> str:
    """Plan a compaction by Hudi's own client, as another tool does; or execute a planned one."""
    jvm, none = lake.spark._jvm, lake.spark._jvm.org.apache.hudi.common.util.Option.empty()
    options = {**lake.hudi_options(Service.COMPACTION), **OPTIONS, "hoodie.compact.inline.max.delta.commits": "1"}
    client = jvm.org.apache.hudi.HoodieCLIUtils.createHoodieWriteClient(
        lake.spark._jsparkSession, lake.base_path, scala_map(lake.spark, options), jvm.scala.Option.apply(None)
    )
    instant = planned or str(client.scheduleCompaction(none).get())
    if planned is not None:
        client.commitCompaction(instant, client.compact(instant), none)
    client.close()
    return instant


def histories(lake: Any) -> dict[str, History]:
    """Make the tables: rows, an update in a log file, a compaction, and another update in a log or in a base file.

    Hudi writes an update to a new base file where it comes with a new row, and the newest one has no log file yet.
    """
    rows = {f"k{number:02}": 0 for number in range(20)}
    upsert(lake, rows)
    rows |= {f"k{number:02}": 1 for number in range(10)}
    upsert(lake, {key: value for key, value in rows.items() if value})
    planned = compaction(lake)
    found = {"planned": _kept(lake, "planned", rows)}
    compaction(lake, planned)
    found["compacted"] = _kept(lake, "compacted", rows)
    for name, new in (("updated in a log", {}), ("updated in a base file", {"k90": 2})):
        shutil.rmtree(lake.base_path)
        shutil.copytree(found["compacted"].folder, lake.base_path)
        second = {f"k{number:02}": 2 for number in range(6)} | new
        upsert(lake, second)
        found[name] = _kept(lake, name, rows | second)
    shutil.rmtree(lake.base_path)
    return found


def _kept(lake: Any, name: str, rows: dict[str, int]) -> History:
    folder = lake.folder / name
    shutil.copytree(lake.base_path, folder)
    times = sorted({path.name.partition(".")[0] for path in (folder / ".hoodie").glob("*.requested")})
    named = ("insert", "update", "compaction", "second update")
    return History(folder, dict(zip(named, times, strict=False)), dict(rows))


def placed(history: History, lake: Any, change: Callable[[Times, History], None]) -> None:
    """Put a copy of the table where a lake has its own, with files of the timeline of other times."""
    table = Path(lake.base_path)
    shutil.rmtree(table, ignore_errors=True)
    shutil.copytree(history.folder, table)
    found = timed(history, change)
    for path in [*(table / ".hoodie").iterdir()]:
        if path.name in found:
            os.utime(path, (found[path.name], found[path.name]))
        elif path.name[0].isdigit():
            path.unlink()


def timed(history: History, change: Callable[[Times, History], None]) -> Times:
    """The files of a timeline with their times after a change of them."""
    found = {path.name: path.stat().st_mtime for path in (history.folder / ".hoodie").glob("2*")}
    change(found, history)
    return found


def data_files(lake: Any) -> set[tuple[str, int]]:
    """The files that hold rows, and their sizes."""
    kept = {".hoodie", ".hudi-operator"}
    files = Path(lake.base_path).rglob("*")
    return {(path.name, path.stat().st_size) for path in files if path.is_file() and kept.isdisjoint(path.parts)}


# What the stores and tools of the inputs do to the times. Completed files are those that Hudi 1.2.0 asks.


def truncated(times: Times, history: History) -> None:
    """S3 gives whole seconds (apache/hudi#5916 lists a timeline so), and the compaction took less than one."""
    compaction = history.instants["compaction"]
    for name in times:
        times[name] = float(int(times[name]))
    times[f"{compaction}.commit"] = float(int(at(compaction)))


def whole_seconds(times: Times, history: History) -> None:
    """S3 gives whole seconds, and the compaction ended in a later one than it began."""
    truncated(times, history)
    times[f"{history.instants['compaction']}.commit"] = float(int(at(history.instants["compaction"])) + 1)


def behind_for_a_moment(times: Times, history: History) -> None:
    """The clock of the store was set right while the compaction ran, by half a second."""
    times[f"{history.instants['compaction']}.commit"] = at(history.instants["compaction"]) - 0.5


def behind(times: Times, history: History) -> None:  # noqa: ARG001 - as the others
    """The clock of the store is an hour behind: every file is older than every instant."""
    for name in times:
        times[name] -= HOUR


def ahead(times: Times, history: History) -> None:  # noqa: ARG001 - as the others
    """The clock of the store is ten minutes ahead."""
    for name in times:
        times[name] += HOUR / 6


def copied(times: Times, history: History) -> None:
    """The table was copied within a second (`aws s3 sync`, `hadoop distcp` without -pt)."""
    newest = max(map(at, history.instants.values()))
    for name in times:
        times[name] = newest + 1


def copied_in_any_order(times: Times, history: History) -> None:
    """A copy by several threads gives files new times in any order."""
    newest = max(map(at, history.instants.values()))
    for number, name in enumerate(sorted(times, key=lambda name: name[::-1])):
        times[name] = newest + 1 + 7 * number % 11


def without_times(times: Times, history: History) -> None:  # noqa: ARG001 - as the others
    """An archive without times was unpacked."""
    for name in times:
        times[name] = 0.0


def first_restored(times: Times, history: History) -> None:
    """The file of the first commit was deleted by mistake and brought back from its older version on S3."""
    times[f"{history.instants['insert']}.deltacommit"] = max(map(at, history.instants.values())) + 1


def compaction_restored(times: Times, history: History) -> None:
    """The file of the compaction was brought back from its older version on S3."""
    times[f"{history.instants['compaction']}.commit"] = max(map(at, history.instants.values())) + 1


def truncated_and_archived(times: Times, history: History) -> None:
    """The compaction within one second is archived: Hudi takes its request for its completion (apache/hudi#19286)."""
    truncated(times, history)
    for name in [*times]:
        if not name.startswith(history.instants["second update"]):
            del times[name]


def rewritten_within_a_second(times: Times, history: History) -> None:
    """A write that made a new base file completed in the second in which it began."""
    write = history.instants["second update"]
    times[f"{write}.deltacommit"] = float(int(at(write)))


def unchanged(times: Times, history: History) -> None:
    """The store is a local disk, with milliseconds."""


@dataclass(frozen=True)
class Input:
    """A history, what befalls its times, and whether Hudi 1.2.0 may work on it."""

    change: Callable[[Times, History], None]
    history: str
    is_refused: bool

    def __str__(self) -> str:
        return f"{self.change.__name__}-{self.history}"


INPUTS = (
    Input(truncated, "updated in a log", is_refused=True),
    Input(copied, "updated in a base file", is_refused=True),
    Input(copied, "updated in a log", is_refused=False),
    Input(truncated, "compacted", is_refused=True),
    Input(whole_seconds, "updated in a log", is_refused=False),
    Input(behind_for_a_moment, "updated in a log", is_refused=True),
    Input(behind, "updated in a log", is_refused=False),
    Input(ahead, "updated in a base file", is_refused=True),
    Input(copied_in_any_order, "updated in a base file", is_refused=True),
    Input(without_times, "updated in a base file", is_refused=False),
    Input(first_restored, "updated in a base file", is_refused=True),
    Input(compaction_restored, "updated in a log", is_refused=False),
    Input(truncated_and_archived, "updated in a log", is_refused=False),
    Input(rewritten_within_a_second, "updated in a base file", is_refused=True),
    Input(copied, "planned", is_refused=False),
    Input(unchanged, "updated in a base file", is_refused=False),
    Input(unchanged, "planned", is_refused=False),
)
