"""What a look at a source found before any run reads it, and the digest of the source's input."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
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


LOOK_PAUSE = timedelta(minutes=1)
"""The least time between two looks at the source of a table."""


class LookProblem(StrEnum):
    """Why a source was not looked at; the schedule then decides alone."""

    NOT_ALLOWED = "NotAllowed"
    """The store refuses the operator."""

    TOO_LARGE = "TooLarge"
    """The source has more pages than one look reads."""

    UNREACHABLE = "Unreachable"
    """The store did not answer, or the answer could not be read."""

    SWITCHED_OFF = "SwitchedOff"
    """The operator is configured not to look at sources."""


@dataclass(frozen=True, kw_only=True)
class SourceLook:
    """A look at a source: a digest of its input, or the problem.

    `at` is the API server's time before the listing began. `inputs` counts the selected files, or the commits of an
    upstream table, and `listed` all files at the path. Equal digests mean equal input, in any order.
    """

    at: datetime
    digest: str | None = None
    inputs: int | None = None
    listed: int | None = None
    problem: LookProblem | None = None
    message: str = ""
