"""A store in a folder of this machine, under any URL, which notes what is listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from hudi_jobs.contract import Location
from hudi_operator.control.snapshots.pool import StorePool
from hudi_operator.control.snapshots.reader import SnapshotReader
from hudi_operator.storage import FileStamp, FileSystem, Listing, S3Options, StoredFile
from hudi_operator.storage.local import LocalFileSystem


class Lake(LocalFileSystem):
    """The store; `fails` is what every listing of a source raises."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.listed: list[str] = []
        self.fails: Exception | None = None

    def list_below(self, path: str, **bounds: Any) -> Iterator[Sequence[StoredFile]]:
        self.listed.append(path)
        if self.fails is not None:
            raise self.fails
        yield from super().list_below(str(self.root / path), **bounds)

    def list_directory(self, path: str, **bounds: Any) -> Listing:
        return super().list_directory(str(self.root / path), **bounds)

    def read_file(self, path: str, *, limit: int) -> bytes:
        return super().read_file(str(self.root / path), limit=limit)

    def stamp(self, path: str) -> FileStamp:
        return super().stamp(str(self.root / path))

    def deliver(self, name: str, *, content: str = "1") -> Path:
        """Put a file at a key."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
        return path


def snapshots_of(lake: Lake, **limits: Any) -> SnapshotReader:
    """Return a reader that finds every bucket in the lake."""

    def opener(_location: Location, _options: S3Options | None) -> FileSystem:
        return lake

    return SnapshotReader(StorePool(opener=opener, **limits))
