"""Digests of a source's input, independent of the order of a listing and in constant memory."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from hudi_operator.storage import StoredFile
from hudi_operator.timeline import Timeline

_BITS = 256


@dataclass(frozen=True, slots=True)
class InputDigest:
    """The input of a source as one value: equal digests mean equal input.

    `inputs` counts the selected files, or commits of an upstream table; `listed` counts what else was found too.
    """

    digest: str
    inputs: int
    listed: int


class InputReader(Protocol):
    """Reads the store of a source by the operator's own identity. Errors are `StorageError`, or of the timeline."""

    def files_below(self, path: str) -> Iterator[Sequence[StoredFile]]:
        """Yield every file at or below a path in pages; nothing for a path that does not exist."""
        ...

    def timeline(self, base_path: str) -> Timeline | None:
        """Return the timeline of a table, or None if no table exists."""
        ...


def digest_of(items: Iterable[bytes | None]) -> InputDigest:
    """Return the sum of the items' hashes; an item that occurs twice counts twice, None is no input."""
    total = inputs = listed = 0
    for item in items:
        listed += 1
        if item is not None:
            total += int.from_bytes(hashlib.sha256(item).digest())
            inputs += 1
    return InputDigest(f"{total % 2**_BITS:0{_BITS // 4}x}", inputs, listed)


def file_item(file: StoredFile) -> bytes:
    """Return the bytes that identify a version of a file: no two versions have the same bytes."""
    size, modified, tag = file.stamp
    # Names may hold halves of characters, which have no bytes in UTF-8.
    return f"{size} {modified} {len(tag or '')} {tag or ''} {file.path}".encode(errors="surrogatepass")
