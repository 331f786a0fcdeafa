"""The catalog of a task, and the record that the last sync leaves in the operator's folder of the table.

The driver with the table's lease writes the record, and the operator reads it. The record decides whether a run
connects to the catalog, and when a failed sync is tried again.
"""

import hashlib
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from hudi_jobs.contract.catalogs.hive import HiveCatalog
from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant
from hudi_jobs.contract.operator_folder import read_document, write_document

AnyCatalog: TypeAlias = HiveCatalog
"""The document of any kind of catalog; with a second kind, a union that `kind` tells apart."""

CATALOG_FILE = "catalog.json"
"""The file with the record of the last sync."""

LOOKS_EVERY = timedelta(days=1)
"""How long a run trusts the catalog to hold what was synced; then the next run compares the two again."""

_FIRST_WAIT = timedelta(minutes=1)
_LONGEST_WAIT = timedelta(hours=1)
_MOST_DOUBLINGS = 6
_Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


SYNC_MESSAGE_LIMIT = 512
"""The most characters of the message of a failed sync."""

SyncTime = Annotated[str, Field(pattern=r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$")]
"""A time in UTC, to the second."""


class SyncTrouble(StrEnum):
    """Why a catalog does not show the table as it is."""

    UNAVAILABLE = "Unavailable"
    """The catalog did not answer in time."""

    TAKEN = "Taken"
    """The entry belongs to somebody else."""

    REFUSED = "Refused"
    """The catalog, or Hudi's sync, refused."""


class CatalogRecord(Document):
    """The record of the last sync; `behind_since` is None if the entry shows the table as of `instant`.

    `target` stands for the settings of the catalog, and `content` for the schema and partitions that the catalog shows.
    `instant` was the newest commit then. `trouble`, `message`, `tried_at` and `attempts` are those of the failed syncs
    since.
    """

    version: Literal[1] = 1
    entry: str = Field(max_length=256)
    instant: Instant | None = None
    behind_since: SyncTime | None = None
    trouble: SyncTrouble | None = None
    message: str = Field(default="", max_length=SYNC_MESSAGE_LIMIT)
    target: _Digest
    content: _Digest | None = None
    synced_at: SyncTime | None = None
    tried_at: SyncTime | None = None
    attempts: int = Field(default=0, ge=0, le=1_000_000)


def target_of(catalog: AnyCatalog, table_uid: str) -> str:
    """Return the digest of the settings of a catalog: with other settings the entry is written anew."""
    text = f"{table_uid}\0{catalog.model_dump_json()}"
    return hashlib.sha256(text.encode()).hexdigest()


def next_sync(record: CatalogRecord, now: datetime) -> datetime | None:
    """Return when a failed sync is tried again, or None if the last sync succeeded.

    An attempt in the future, by another clock, asks for no wait.
    """
    tried = parse_sync_time(record.tried_at)
    if record.behind_since is None:
        return None
    if tried is None or tried > now + _FIRST_WAIT:
        return now
    doublings = min(max(record.attempts - 1, 0), _MOST_DOUBLINGS)
    return tried + min(_FIRST_WAIT * (1 << doublings), _LONGEST_WAIT)


def is_look_due(record: CatalogRecord, now: datetime) -> bool:
    """Tell whether the entry was last compared so long ago that a run compares it again."""
    synced = parse_sync_time(record.synced_at)
    return synced is None or not timedelta() <= now - synced < LOOKS_EVERY


def sync_time(moment: datetime) -> str:
    """Return a time as the record holds it."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_sync_time(text: str | None) -> datetime | None:
    """Return the moment of a time in the record; None for an absent or impossible time."""
    try:
        return None if text is None else datetime.fromisoformat(text).astimezone(UTC)
    except ValueError:
        return None


def decode_catalog(content: bytes) -> CatalogRecord | None:
    """Read the record; return None for anything that this release cannot read."""
    return read_document(CatalogRecord, content)


def encode_catalog(record: CatalogRecord) -> bytes:
    """Write the record as JSON."""
    return write_document(record)
