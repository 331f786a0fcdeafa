"""Which rows a run erases, and what it says of that: never a key, only how many there were and a digest over them."""

from typing import Annotated

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant

MOST_KEYS = 1_000
"""Keys that a spec lists."""

MOST_ERASED = 100_000
"""Records that one operation erases: the driver looks for each of them in every byte."""

LONGEST_VALUE = 1_024
"""Characters of the value of a key field."""

LONGEST_PREDICATE = 8_192
"""Characters of a SQL predicate."""

MOST_LEFT = 5
"""Files that a report lists by their paths: it has to fit into an outcome."""

MOST_READERS = 10
"""Tables that read another one, which a report names."""

MOST_CASCADED = 20
"""Tables that an erasure goes on to, those behind others counted."""

LONGEST_REQUESTER = 256
"""Characters of the name of a person or service account."""

DIGEST = r"^[0-9a-f]{64}$"
"""A SHA-256 in hexadecimal digits."""

UID = r"^[0-9a-zA-Z-]{1,64}$"

KeyValue = Annotated[str, Field(min_length=1, max_length=LONGEST_VALUE)]


class Requester(Document):
    """Who has asked for an erasure; `verified` says that the API server accepts no other name than the caller's own."""

    name: str = Field(max_length=LONGEST_REQUESTER)
    verified: bool = False


class EraseTask(Document):
    """What is erased: exactly one of `keys`, `keys_from` and `where`.

    A key has the value of each record key field by its name. `keys_from` is a file of JSON lines, each such a key, or
    a text where the table has one record key field, and
    `keys_digest` the digest of the keys that it has to hold. `where` is a predicate on the columns of the table.
    `quarantines` are folders of bad records, which are searched too. `report_file` is where the report is written.
    `read_by` are tables of the namespace that read this one, directly or through others, whose rows are not erased: the
    report names them. There are `read_by_count` of them, and `read_elsewhere` in other namespaces, whose names nobody
    is told. `requested_by` is who asks, for the report. `cascaded_from` is the uid of the operation that erases the
    same keys from the table that this one reads. That lies at `upstream`, where an erasure of the same keys may be.
    """

    keys: tuple[dict[str, KeyValue], ...] = Field(default=(), max_length=MOST_KEYS)
    keys_from: str | None = Field(default=None, max_length=1_024)
    keys_digest: str | None = Field(default=None, pattern=DIGEST)
    where: str | None = Field(default=None, max_length=LONGEST_PREDICATE)
    release_savepoints: bool = False
    quarantines: tuple[str, ...] = Field(default=(), max_length=8)
    report_file: str | None = Field(default=None, max_length=2_048)
    read_by: tuple[str, ...] = Field(default=(), max_length=MOST_READERS)
    read_by_count: int | None = None
    read_elsewhere: int | None = None
    requested_by: Requester | None = None
    cascaded_from: str | None = Field(default=None, pattern=UID)
    upstream: str | None = Field(default=None, max_length=1_024)


class EraseReport(Document):
    """What was erased, or would be, and how that was seen.

    `keys` is their number, and `digest` one over them and the uid of the operation; `keys_digest` is one
    over those of a file alone. `rows` are the rows that had them,
    `commit` the commit that deleted those, and `holding_files` the files that held keys before. `files_removed` are
    those that its cleans have deleted, also in runs that were ended, `quarantined` the records of the quarantine that
    had the keys and are removed.

    Then the proof: `files_searched`, `bytes_searched` and `bytes_decoded` are what was searched, the latter of
    compressed parts. `keys_in_bytes` of the keys are long enough to be looked for in bytes; all of them were compared
    with the record keys of Parquet files. `left_in` are files that still hold some, by their paths. `read_by` are
    tables of the namespace that read this one, directly or through others, and may hold keys as well, nearest first;
    `read_by_count` is their number, and `read_elsewhere` that of tables of other namespaces.
    """

    keys: int | None = None
    digest: str | None = Field(default=None, max_length=64)
    keys_digest: str | None = Field(default=None, max_length=64)
    rows: int | None = None
    commit: Instant | None = None
    holding_files: int | None = None
    files_removed: int | None = None
    quarantined: int | None = None
    files_searched: int | None = None
    bytes_searched: int | None = None
    bytes_decoded: int | None = None
    keys_in_bytes: int | None = None
    left_in: tuple[str, ...] = Field(default=(), max_length=MOST_LEFT)
    report_file: str | None = None
    read_by: tuple[str, ...] = Field(default=(), max_length=MOST_READERS)
    read_by_count: int | None = None
    read_elsewhere: int | None = None
