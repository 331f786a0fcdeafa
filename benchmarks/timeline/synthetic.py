"""Merge-on-read timelines of any length, file by file like Hudi's, made from a real one.

Contents are copied from a real table of the same layout, so that readers that open files find real ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

_FOLDER = ".hoodie/timeline/"
_START = datetime(2026, 1, 1)  # noqa: DTZ001 - instant times carry no zone
_LATE = datetime(2027, 1, 1)  # noqa: DTZ001


@dataclass(frozen=True)
class Contents:
    """One real file of each kind."""

    properties: bytes
    delta_commit: bytes
    compaction_plan: bytes
    compaction: bytes
    clean_plan: bytes
    clean: bytes


def real_contents(table: Path) -> Contents:
    """Take the files of a real layout-2 table with a compaction and a clean."""
    timeline = table / ".hoodie" / "timeline"

    def newest(pattern: str) -> bytes:
        return sorted(timeline.glob(pattern))[-1].read_bytes()

    return Contents(
        properties=(table / ".hoodie" / "hoodie.properties").read_bytes(),
        delta_commit=newest("*_*.deltacommit"),
        compaction_plan=newest("*.compaction.requested"),
        compaction=newest("*_*.commit"),
        clean_plan=newest("*.clean.requested"),
        clean=newest("*_*.clean"),
    )


def synthetic_files(contents: Contents, count: int) -> dict[str, bytes]:
    """Return about `count` files of a timeline, by path below the base path.

    Delta commits with a compaction after every fifth and a clean after every tenth; the newest compaction is pending
    and the last write is in progress.
    """
    files: dict[str, bytes] = {".hoodie/hoodie.properties": contents.properties}
    moment = _START
    number = 0
    while len(files) < count - 5:
        number += 1
        moment += timedelta(seconds=61, milliseconds=137)
        if number % 11 == 10:
            files |= _instant(moment, ("clean", "clean"), contents.clean_plan, contents.clean)
        elif number % 6 == 5:
            files |= _instant(moment, ("compaction", "commit"), contents.compaction_plan, contents.compaction)
        else:
            files |= _instant(moment, ("deltacommit", "deltacommit"), b"", contents.delta_commit)
    moment += timedelta(seconds=61)
    files[f"{_FOLDER}{_stamp(moment)}.compaction.requested"] = contents.compaction_plan
    moment += timedelta(seconds=61)
    files |= _instant(moment, ("deltacommit", "deltacommit"), b"", contents.delta_commit)
    moment += timedelta(seconds=61)
    files[f"{_FOLDER}{_stamp(moment)}.deltacommit.requested"] = b""
    files[f"{_FOLDER}{_stamp(moment)}.deltacommit.inflight"] = contents.delta_commit
    return files


def late_delta_commit(number: int) -> dict[str, bytes]:
    """Return the files of a delta commit that is later than all others and those with smaller numbers."""
    return _instant(_LATE + timedelta(seconds=number), ("deltacommit", "deltacommit"), b"", b"")


def write_locally(files: dict[str, bytes], base: Path) -> None:
    """Put the files into a folder."""
    (base / ".hoodie" / "timeline" / "history").mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (base / name).write_bytes(content)


def _instant(moment: datetime, actions: tuple[str, str], plan: bytes, content: bytes) -> dict[str, bytes]:
    """Return the three files of a completed instant, by its actions before and after completion."""
    pending, completed = actions
    time = _stamp(moment)
    return {
        f"{_FOLDER}{time}.{pending}.requested": plan,
        f"{_FOLDER}{time}.{pending}.inflight": b"",
        f"{_FOLDER}{time}_{_stamp(moment + timedelta(seconds=20))}.{completed}": content,
    }


def _stamp(moment: datetime) -> str:
    return moment.strftime("%Y%m%d%H%M%S") + f"{moment.microsecond // 1000:03d}"
