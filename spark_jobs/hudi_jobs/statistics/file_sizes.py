"""Sums up file slices, and remembers how many rows each base file has. Pure.

A base file never changes, and its commit says how many rows it has. The commit is archived long before the file is
replaced, so the rows of the newest base files are kept, each under a digest of its path.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from hudi_jobs.contract.statistics import Figures

MOST_FILES = 250_000
"""The most base files with known rows; with more, the rows of the table are unknown."""

_LARGEST = 2**53


@dataclass(frozen=True, slots=True)
class Slice:
    """A file slice: its base instant, its base file if it has one, and its log files. Sizes are bytes."""

    instant: str
    path: str | None
    base_bytes: int
    log_files: int
    log_bytes: int

    @property
    def total_bytes(self) -> int:
        """The size of all files."""
        return self.base_bytes + self.log_bytes


def read_slices(text: str) -> list[Slice]:
    """Read the slices of a partition from Hudi's own JSON of `FileSlice`."""
    return [_slice(each) for each in json.loads(text)]


def _slice(found: Mapping[str, Any]) -> Slice:
    base, logs = found["baseFile"] or {}, found["logFiles"]
    partition = str(found["fileGroupId"]["partitionPath"])
    return Slice(
        instant=str(found["baseInstantTime"]),
        path=path_of(partition, str(base["fileName"])) if base else None,
        base_bytes=max(0, int(base["fileSize"])) if base else 0,
        log_files=len(logs),
        log_bytes=sum(max(0, int(each["fileSize"])) for each in logs),
    )


def path_of(partition: str, name: str) -> str:
    """Return the path of a file below the table, as commits spell it."""
    return f"{partition}/{name}" if partition else name


def read_rows(text: str) -> dict[int, int]:
    """Read the rows of each file that a commit wrote from Hudi's own JSON of `HoodieWriteStat`, by digest."""
    return {digest(str(each["path"])): int(each["numWrites"]) for each in json.loads(text) if each.get("path")}


def digest(path: str) -> int:
    """Return the key of a file in the stored rows."""
    return int.from_bytes(blake2b(path.encode(errors="surrogatepass"), digest_size=8).digest())


@dataclass(slots=True)
class Sums:
    """The sums over partitions. `written` maps the digest of each base file to the instant that wrote it."""

    small_file_limit: int
    base_files: int = 0
    base_bytes: int = 0
    small_files: int = 0
    log_files: int = 0
    log_bytes: int = 0
    partitions: int = 0
    largest_partition: int = 0
    oldest: str | None = None
    written: dict[int, str] = field(default_factory=dict)

    def add(self, partition: Iterable[Slice]) -> None:
        """Add the slices of a partition; a partition without slices counts for nothing."""
        size, slices = 0, 0
        for each in partition:
            slices += 1
            size += each.total_bytes
            self.log_files += each.log_files
            self.log_bytes += each.log_bytes
            self.oldest = min(self.oldest or each.instant, each.instant)
            if each.path is not None:
                self.base_files += 1
                self.base_bytes += each.base_bytes
                self.small_files += each.base_bytes < self.small_file_limit
                if len(self.written) <= MOST_FILES:
                    self.written[digest(each.path)] = each.instant
        self.partitions += slices > 0
        self.largest_partition = max(self.largest_partition, size)

    def figures(self, rows: Mapping[int, int], newest: str | None) -> Figures:
        """Return the figures, with rows if those of each base file are known."""
        counts = [rows.get(each) for each in self.written]
        known = [each for each in counts if each is not None]
        is_known = len(known) == self.base_files and sum(known) <= _LARGEST
        return Figures(
            base_files=self.base_files,
            base_bytes=self.base_bytes,
            small_files=self.small_files,
            log_files=self.log_files,
            log_bytes=self.log_bytes,
            partitions=self.partitions,
            largest_partition=self.largest_partition,
            rows=sum(known) if is_known else None,
            oldest=self.oldest,
            newest=newest,
        )

    def unknown(self, rows: Mapping[int, int]) -> set[str]:
        """Return the instants that wrote base files with unknown rows."""
        return {instant for each, instant in self.written.items() if each not in rows}


def encode_rows(rows: Mapping[int, int]) -> bytes:
    """Write the rows of base files as JSON: numbers alone, which tell an erasure nothing."""
    pairs = [number for pair in sorted(rows.items()) for number in pair]
    return json.dumps({"version": 1, "rows": pairs}, separators=(",", ":")).encode()


def decode_rows(content: bytes) -> dict[int, int]:
    """Read the rows of base files; anything else has none."""
    try:
        found = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    if not isinstance(found, dict) or found.get("version") != 1 or not isinstance(found.get("rows"), list):
        return {}
    numbers = found["rows"]
    is_sound = len(numbers) <= 2 * MOST_FILES and all(type(each) is int and 0 <= each < 2**64 for each in numbers)
    return dict(zip(numbers[::2], numbers[1::2], strict=False)) if is_sound else {}
