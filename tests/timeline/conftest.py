"""Tables to read: real ones from the fixtures, small ones in memory, and an S3 server."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from hudi_jobs.contract import Location
from hudi_operator.storage import (
    LISTING_LIMIT,
    PAGE,
    PAGES_BELOW,
    FileStamp,
    Folders,
    Listing,
    S3Options,
    StorageError,
    StorageErrorKind,
    StoredFile,
)
from hudi_operator.storage.filesystem import too_large, too_many_below, too_many_files
from hudi_operator.storage.local import LocalFileSystem
from hudi_operator.timeline import TimelineReader, archivable
from hudi_operator.timeline.facts import read_metadata_table
from hudi_operator.timeline.rules.retention import earliest_to_retain

TABLES = Path(__file__).parents[1] / "fixtures" / "timeline" / "tables"


@dataclass
class MemoryFileSystem:
    """A file system of a few files in memory, which counts what is asked of it."""

    files: dict[str, bytes]
    offsets: bool = False
    lists: int = 0
    reads: list[str] = field(default_factory=list)
    stamps: list[str] = field(default_factory=list)
    times: dict[str, int] = field(default_factory=dict)
    broken: dict[str, StorageErrorKind] = field(default_factory=dict)

    @property
    def identity(self) -> str:
        return f"memory:{id(self)}"

    @property
    def lists_from_offset(self) -> bool:
        return self.offsets

    def list_directory(
        self, path: str, *, start_after: str | None = None, before: str | None = None, limit: int = LISTING_LIMIT
    ) -> Listing:
        del before
        self._check(path)
        self.lists += 1
        names = [
            name.removeprefix(f"{path}/")
            for name in self.files
            if name.startswith(f"{path}/") and "/" not in name.removeprefix(f"{path}/")
        ]
        if len(names) > limit:
            raise too_many_files(path, limit=limit)
        return Listing(names=[name for name in names if start_after is None or not self.offsets or name > start_after])

    def list_below(self, path: str, *, pages: int = PAGES_BELOW) -> Iterator[Sequence[StoredFile]]:
        self._check(path)
        if path in self.files:
            yield [StoredFile("", self.stamp(path))]
        names = [name for name in self.files if name.startswith(f"{path}/")]
        if len(names) > pages * PAGE:
            raise too_many_below(path, pages=pages, page=PAGE)
        yield [StoredFile(name.removeprefix(f"{path}/"), self.stamp(name)) for name in names]

    def list_folders(self, path: str, *, limit: int) -> Folders:
        self._check(path)
        inside = [name.removeprefix(f"{path}/") for name in self.files if name.startswith(f"{path}/")]
        names = sorted({name.partition("/")[0] for name in inside if "/" in name})
        return Folders(tuple(names[:limit]), complete=len(names) <= limit)

    def read_file(self, path: str, *, limit: int) -> bytes:
        self._check(path)
        if len(self.files.get(path, b"")) > limit:
            raise too_large(path, size=len(self.files[path]), limit=limit)
        self.reads.append(path)
        if path not in self.files:
            raise StorageError(StorageErrorKind.NOT_FOUND, f"{path} does not exist.")
        return self.files[path]

    def open_file(self, path: str) -> BinaryIO:
        return BytesIO(self.read_file(path, limit=2**30))

    def size(self, path: str) -> int:
        return len(self.files[path])

    def stamp(self, path: str) -> FileStamp:
        self._check(path)
        if path not in self.files:
            raise StorageError(StorageErrorKind.NOT_FOUND, f"{path} does not exist.")
        self.stamps.append(path)
        return FileStamp(len(self.files[path]), self.times.get(path, 0), str(hash(self.files[path])))

    def modified(self, path: str) -> int:
        return self.times.get(path, 0)

    def _check(self, path: str) -> None:
        for prefix, kind in self.broken.items():
            if path.startswith(prefix):
                raise StorageError(kind, f"{path}: {kind}.")


PROPERTIES = {
    "hoodie.table.name": "flights",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "9",
    "hoodie.timeline.layout.version": "2",
}

MakeTable = Callable[..., MemoryFileSystem]


@pytest.fixture
def make_table() -> MakeTable:
    """Make a table at `/t` from the names (or names and contents) of its timeline files."""

    def make(names: list[str] | Mapping[str, bytes], **properties: str) -> MemoryFileSystem:
        merged = {**PROPERTIES, **{f"hoodie.{key.replace('_', '.')}": value for key, value in properties.items()}}
        folder = "/t/.hoodie" if merged["hoodie.timeline.layout.version"] == "1" else "/t/.hoodie/timeline"
        contents = names if isinstance(names, Mapping) else dict.fromkeys(names, b"")
        files = {f"{folder}/{name}": content for name, content in contents.items()}
        lines = "".join(f"{key}={value}\n" for key, value in merged.items())
        return MemoryFileSystem({"/t/.hoodie/hoodie.properties": lines.encode(), **files})

    return make


@pytest.fixture(scope="session")
def real_table(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Unpack a fixture once and return its base path. Tests that change files must copy it first."""
    root = tmp_path_factory.mktemp("tables")

    def unpack(name: str) -> Path:
        target = root / name
        if not target.exists():
            with tarfile.open(TABLES / f"{name}.tar.gz") as archive:
                archive.extractall(target, filter="data")
        return target

    return unpack


@pytest.fixture
def would_do() -> Callable[[str, dict[str, int]], dict[str, object]]:
    """Say what cleaning and archival would do to a local table, as the fixtures' verdicts of Hudi say it."""

    def ask(base: str, settings: dict[str, int]) -> dict[str, object]:
        reader = TimelineReader(LocalFileSystem())
        timeline = reader.read(Location.parse(base))
        metadata = read_metadata_table(reader, Location.parse(base), timeline)
        taken = archivable(
            timeline,
            min_commits=settings["minCommits"],
            max_commits=settings["maxCommits"],
            retain_commits=settings["retainCommits"],
            compaction_delta_commits=settings["deltaCommits"],
            metadata=metadata,
        )
        return {
            **settings,
            "earliestToRetain": earliest_to_retain(timeline, retain_commits=settings["retainCommits"]),
            "archivable": taken.commits + taken.others if taken else None,
        }

    return ask


@dataclass(frozen=True)
class S3Server:
    """An S3 endpoint and a bucket on it."""

    options: S3Options
    bucket: str

    def upload(self, folder: Path, prefix: str) -> str:
        """Copy a folder's files below a prefix and return its URL."""
        client = self.client()
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                client.put_object(
                    Bucket=self.bucket, Key=f"{prefix}/{path.relative_to(folder)}", Body=path.read_bytes()
                )
        return f"s3a://{self.bucket}/{prefix}"

    def client(self) -> Any:  # boto3 makes its classes at run time
        import boto3  # noqa: PLC0415

        return boto3.client(
            "s3",
            endpoint_url=self.options.endpoint,
            aws_access_key_id=self.options.access_key,
            aws_secret_access_key=self.options.secret_key,
            region_name="us-east-1",
        )


@pytest.fixture(scope="session")
def s3_server() -> Iterator[S3Server]:
    """An S3 server: the one named by HUDI_OPERATOR_TEST_S3_ENDPOINT (keys from AWS_*), else moto in a process."""
    endpoint = os.environ.get("HUDI_OPERATOR_TEST_S3_ENDPOINT")
    if endpoint:
        options = S3Options(
            endpoint=endpoint,
            access_key=os.environ["AWS_ACCESS_KEY_ID"],
            secret_key=os.environ["AWS_SECRET_ACCESS_KEY"],
        )
        yield _with_bucket(options)
        return
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _wait_for(port, process)
        yield _with_bucket(S3Options(endpoint=f"http://127.0.0.1:{port}", access_key="test", secret_key="test"))
    finally:
        process.terminate()
        process.wait(timeout=10)


def _with_bucket(options: S3Options) -> S3Server:
    server = S3Server(options, f"timeline-{os.getpid()}-{time.time_ns()}")
    server.client().create_bucket(Bucket=server.bucket)
    return server


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError(f"the S3 server ended with exit code {process.returncode}")
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    raise RuntimeError("the S3 server did not start within 30 seconds")
