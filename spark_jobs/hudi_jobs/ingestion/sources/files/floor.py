"""The checkpoint of release 0.1: everything up to a place in the order of files counts as read, whatever came late.

It names one source as the spec spelt it. A file above the floor has been read when its own fingerprint, which is not
that of the record, is among `recent`.
"""

import base64
import hashlib
from dataclasses import dataclass
from typing import Any

from hudi_jobs.ingestion.sources.files.record import Kind
from hudi_jobs.ingestion.sources.files.selection import Position, SourceFile

VERSION = 1


@dataclass(frozen=True)
class Floor:
    """How far one source had been read by release 0.1, and the commit's own document of it."""

    source: str
    floor: Position | None
    recent: frozenset[str]
    document: dict[str, Any]

    def kind_of(self, file: SourceFile, *, matched: bool) -> Kind | None:
        """Return what a file, by its path below the source, counts as; `matched` says that the pattern means it."""
        if self.floor is not None and file.position <= self.floor:
            return Kind.ASSUMED if matched else Kind.SKIPPED
        return Kind.READ if _fingerprint(file) in self.recent else None


def decode_floor(document: dict[str, Any]) -> Floor:
    """Read the document; raise `ValueError`, `KeyError` or `TypeError` for anything else."""
    if document["version"] != VERSION:
        raise ValueError(document["version"])
    floor = document["floor"]
    return Floor(
        source=str(document["source"]),
        floor=None if floor is None else Position(int(floor["time"]), str(floor["path"])),
        recent=frozenset(map(str, document["recent"])),
        document=document,
    )


def _fingerprint(file: SourceFile) -> str:
    digest = hashlib.sha256(f"{file.time} {file.path}".encode(errors="surrogatepass")).digest()
    return base64.urlsafe_b64encode(digest[:9]).decode()
