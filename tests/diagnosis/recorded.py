"""Timelines that five releases of Hudi wrote, in a store that lists files with their times, as S3 does."""

from __future__ import annotations

import tarfile
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from tempfile import mkdtemp

from hudi_jobs.contract.instants import wall_time
from hudi_operator.storage import LISTING_LIMIT, Listing
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import Timeline

TABLES = Path(__file__).parents[1] / "fixtures" / "timeline" / "tables"
NAMES = tuple(path.stem for path in sorted(TABLES.glob("*.json")))


class StoreLikeS3(LocalFileSystem):
    """The local file system, whose listings show the times of the files, and whose requests all count."""

    @property
    def identity(self) -> str:
        return "s3"

    def list_directory(
        self, path: str, *, start_after: str | None = None, before: str | None = None, limit: int = LISTING_LIMIT
    ) -> Listing:
        found = super().list_directory(path, start_after=start_after, before=before, limit=limit)
        times = {name: int((Path(path) / name).stat().st_mtime * 1000) for name in found.names}
        return Listing(names=found.names, modified=times)


@cache
def recorded(name: str) -> Path:
    """Return the base path of an unpacked table, which no test may change."""
    target = Path(mkdtemp()) / name
    with tarfile.open(TABLES / f"{name}.tar.gz") as archive:
        archive.extractall(target, filter="data")
    return target


def just_after(timeline: Timeline, offset: timedelta | None) -> datetime:
    """Return the moment of the newest instant of a table."""
    times = [wall for one in timeline.instants if (wall := wall_time(one.completion)) is not None]
    real = [one for one in times if one.year < 2099]
    return max(real, default=datetime(2026, 11, 21, tzinfo=UTC)) - (offset or timedelta(0))
