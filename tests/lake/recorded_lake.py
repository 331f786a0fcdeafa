"""A lake of sixty tables of five tenants: recorded timelines of five releases of Hudi, and twelve broken tables."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.diagnosis.recorded import NAMES, recorded

FIXTURES = Path(__file__).parents[1] / "fixtures" / "lake" / "tables"
TENANTS = ("finance", "logistics", "marketing", "research", "sales")

_BREAKS = ("-with-", "-killed-", "-clustering", "-compaction", "-in-progress", "mor-archived-upgraded-by-1.0.2")
_REFUSED = ("-schema-evolution",)
_SOUND = tuple(name for name in NAMES if not any(part in name for part in (*_BREAKS, *_REFUSED)))
HEALTHY: Mapping[str, str] = {
    **{name: name for name in _SOUND},
    **{f"{name}-again": name for name in _SOUND[-(48 - len(_SOUND)) :]},
}
"""The recorded timeline of each healthy table: no instant is pending, and the operator can manage the table."""


@dataclass(frozen=True)
class Break:
    """What a status and the doctor say of a broken table."""

    in_status: frozenset[str]
    by_doctor: frozenset[str]


def _both(*codes: str) -> Break:
    return Break(frozenset(codes), frozenset(codes))


BROKEN: Mapping[str, Break] = {
    "killed-compaction": _both("PendingInstantOverdue"),
    "killed-write": Break(frozenset({"PendingInstantOverdue"}), frozenset({"WriterStopped"})),
    "killed-clustering": _both("PendingInstantOverdue", "PlanPinsHistory"),
    "clustering-that-loses": _both("ClusteringFails"),
    "failing-writes": _both("WritesFail"),
    "pinning-savepoint": _both("SavepointPinsHistory"),
    "archival-stands-still": Break(
        frozenset({"ArchivalBehind", "TimelineTooLong"}),
        frozenset({"ArchivalBehind", "CleaningBehind", "TimelineTooLong"}),
    ),
    "metadata-table-behind": _both("MetadataTableBehind"),
    "metadata-table-not-compacted": _both("MetadataCompactionBehind"),
    "plans-not-executed": _both("PendingInstantOverdue", "PlansNotExecuted"),
    "compaction-behind": _both("CompactionBehind"),
    "damaged-instant": _both("TimelineCorrupt"),
}
"""The broken tables of the lake, each made by Hudi 1.2.0."""

MORE_BREAKS: Mapping[str, frozenset[str]] = {
    "killed-restore": frozenset({"RestorePending"}),
    "rollback-of-savepoint": frozenset({"RollbackOfSavepoint"}),
    "killed-downgrade": frozenset({"UpgradeUnfinished"}),
    "unsupported-version": frozenset({"TableVersionUnsupported"}),
    "uncertain-slices": frozenset({"FileSlicesUncertain", "TableVersionBehind"}),
    "clock-behind": frozenset({"ClocksDiffer"}),
    "overlapping-writers": frozenset({"WritersOverlap"}),
    "cleaning-removes-nothing": frozenset({"CleaningRemovesNothing", "PendingInstantOverdue", "PlanPinsHistory"}),
}
"""Breaks that only the doctor names, or that an observed table does not show, with the doctor's codes."""


def tenant_of(name: str) -> str:
    """Return the tenant of a table; each has some of the broken ones."""
    names = (*HEALTHY, *BROKEN)
    return TENANTS[names.index(name) % len(TENANTS)]


def unpack_break(name: str, target: Path) -> None:
    """Unpack a broken table into a folder."""
    with tarfile.open(FIXTURES / f"{name}.tar.gz") as archive:
        archive.extractall(target, filter="data")


def make_lake(folder: Path) -> None:
    """Lay out the sixty tables, a folder for each tenant."""
    for name in HEALTHY:
        shutil.copytree(recorded(HEALTHY[name]), folder / tenant_of(name) / name)
    for name in BROKEN:
        unpack_break(name, folder / tenant_of(name) / name)
