"""Which rows a run erases, and its report: never a key, only their number and a digest over them."""

from typing import Annotated

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.instants import Instant

MOST_KEYS = 1_000
"""The most keys that a spec lists."""

MOST_ERASED = 100_000
"""The most records that an operation erases: the driver looks for each of them in every byte."""

LONGEST_VALUE = 1_024
"""The most characters of the value of a key field."""

LONGEST_PREDICATE = 8_192
"""The most characters of a SQL predicate."""

MOST_LEFT = 5
"""The most files that a report lists by their paths: the report has to fit into an outcome."""

MOST_READERS = 10
"""The most tables that a report names as readers of a table."""

MOST_CASCADED = 20
"""The most tables that an erasure continues on, including the readers of readers."""

LONGEST_REQUESTER = 256
"""The most characters of the name of a person or service account."""

DIGEST = r"^[0-9a-f]{64}$"
"""A SHA-256 in hexadecimal digits."""

UID = r"^[0-9a-zA-Z-]{1,64}$"

KeyValue = Annotated[str, Field(min_length=1, max_length=LONGEST_VALUE)]


class Requester(Document):
    """Who asks for an erasure; `verified` says that the API server accepts only the caller's own name."""

    name: str = Field(max_length=LONGEST_REQUESTER)
    verified: bool = False


class EraseTask(Document):
    """The rows to erase: exactly one of `keys`, `keys_from` and `where`.

    A key holds the value of each record key field by its name. `keys_from` is a file of JSON lines, each of them a key,
    or a text if the table has one record key field; `keys_digest` is the expected digest of its keys. `where` is a
    predicate on the columns of the table. `quarantines` are folders of bad records, which are searched too.
    `report_file` is the path of the report. `read_by` are the tables of the namespace that read this table, directly or
    through others; their rows are not erased, and the report names them. `read_by_count` is their number, and
    `read_elsewhere` the number of readers in other namespaces, whose names stay secret. `requested_by` is the
    requester, for the report. `cascaded_from` is the uid of the operation that erases the same keys from the upstream
    table. `upstream` is the path of that table, where an erasure of the same keys may run.
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
    """What was erased, or would be, with the proof.

    `keys` is the number of keys, and `digest` the digest over them and the uid of the operation; `keys_digest` is the
    digest over the keys of a file alone. `rows` is the number of rows with these keys, `commit` the commit that deleted
    the rows, and `holding_files` the number of files that held keys before. `files_removed` counts the files that the
    run's cleans have deleted, including earlier runs of the operation. `quarantined` counts the removed records of the
    quarantine that held keys.

    The proof: `files_searched`, `bytes_searched` and `bytes_decoded` say how much was searched; the decoded bytes are
    of compressed parts. `keys_in_bytes` counts the keys that are long enough for a search in bytes; all keys were
    compared with the record keys of Parquet files. `left_in` are the paths of files that still hold keys. `read_by` are
    the tables of the namespace that read this table, directly or through others, and may hold keys as well, nearest
    first; `read_by_count` is their number, and `read_elsewhere` the number of readers in other namespaces.
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
