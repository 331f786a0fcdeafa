"""How the value of a message becomes columns, and what every module of a format or of an envelope offers for that.

A module of a format has two functions, which `registry.py` names in one line of `FORMATS`:

- `require(source)` looks at the request alone, before any broker is asked, and raises `TaskFailed(INVALID_REQUEST)`
  where the format lacks something (Avro without a registry).
- `decode(context, source, messages) -> Decoded`. `messages` has the one column `MESSAGE`, a struct of what the broker
  gives: `key` and `value` BINARY, `topic` STRING, `partition` INT, `offset` BIGINT, `timestamp` BIGINT (milliseconds,
  which may be any number), `timestampType` INT, `headers` ARRAY<STRUCT<key: STRING, value: BINARY>>. The result keeps
  every row and has `MESSAGE` as it was, the columns of the value beside it, and `CORRUPT_RECORD`
  (`ingestion/rows.py`). The frame may be a union of frames, and rows may come in any order: what came later is told by
  the offset inside of `MESSAGE`, and every row of the result must still have it.

What a decoder keeps to:

- A value that is null is a tombstone: all columns are null, `CORRUPT_RECORD` too. Whether tombstones are rows at all
  is the source's business; they are filtered out before where they are not.
- A value that cannot be decoded is a row with null columns and a text in `CORRUPT_RECORD`: the value as text, or as
  base64 behind `base64:` where it is no UTF-8 (`corrupt_text`). It is counted and quarantined with topic, partition and
  offset; it never ends the run in an executor, and is never left out.
- The messages are read lazily, and more than once where a decoder looks at them first (ids of schemas, inference): the
  offsets are fixed, so Spark reads the same ones. What a decoder needs from elsewhere, such as a registry of schemas,
  it asks for in the driver, with bounded timeouts, and raises `TaskFailed` with `SOURCE_UNAVAILABLE` or
  `SOURCE_ACCESS_DENIED`.
- Nothing secret goes into options or expressions: they are in Spark's plan, its logs and its event log.
- Columns of the value come from outside. Names in `RESERVED` are refused by `require_unreserved`, which a decoder calls
  before it makes columns of them; those that message columns have are refused by the caller (`require_free_names`).

A module of an envelope has `require(source)` as well, and `unwrap(context, source, decoded) -> Decoded` gets what the
format has decoded, with the envelope's fields as columns (of Debezium: `before`, `after`, `op`, `source`, ...), and
returns it with the columns of the row instead. One that knows deletes adds the column `IS_DELETED`, true for them and
false for all others, and says so in `deletes`; a deleted row needs its record key, partition and ordering columns.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as field_of
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, IngestionTableTask, KafkaSource
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, IS_DELETED, SEQUENCE, nothing
from hudi_jobs.schemas.columns import require_distinct
from hudi_jobs.spark.failures import TaskFailed

MESSAGE = "_message"
"""The whole message as received from the broker."""

RESERVED = frozenset({MESSAGE, CORRUPT_RECORD, FAULT, IS_DELETED, SEQUENCE})
"""Names that a value's columns must not have."""

MESSAGE_TYPE = (
    "struct<key: binary, value: binary, topic: string, partition: int, offset: bigint, timestamp: bigint, "
    "timestampType: int, headers: array<struct<key: string, value: binary>>>"
)
"""The type of `MESSAGE`."""


@dataclass(frozen=True)
class Decoded:
    """Messages with the columns of their values.

    `deletes` means that the frame has the column `IS_DELETED`. `remark` is a sentence for people, or empty. `events` is
    the envelope's JSON state in the checkpoint, given as it is and returned as it will be; `before_commit` writes the
    files it refers to. `as_written` decodes the messages again, only by their own schemas, if others are registered: it
    takes the columns known otherwise, and is None if nothing would differ.
    """

    frame: DataFrame
    deletes: bool = False
    remark: str = ""
    events: Mapping[str, Any] = field_of(default_factory=dict)
    before_commit: Callable[[], None] = nothing
    as_written: "Callable[[StructType], Decoded] | None" = None

    @property
    def columns(self) -> list[str]:
        """The columns of the value."""
        return [name for name in self.frame.columns if name not in RESERVED]


Require = Callable[[KafkaSource], None]
Decode = Callable[[TaskContext[IngestionTableTask], KafkaSource, DataFrame], Decoded]
Unwrap = Callable[[TaskContext[IngestionTableTask], KafkaSource, Decoded], Decoded]


@dataclass(frozen=True)
class Format:
    """The functions of a format's module."""

    require: Require
    decode: Decode


@dataclass(frozen=True)
class Unwrapper:
    """The functions of an envelope's module."""

    require: Require
    unwrap: Unwrap
    wrapped: Callable[[StructType], StructType]
    """The event type that holds a table's columns."""

    remove_unnamed: Callable[[TaskContext, Sequence[Mapping[str, Any]]], int]
    """Remove old files that none of these `events` refers to; pass those of all checkpoints a restore may use."""


def taken_names(source: KafkaSource) -> frozenset[str]:
    """Return the lower-case names that a value's columns must not have."""
    columns = {name for name in source.columns.model_dump().values() if name is not None}
    return frozenset(name.lower() for name in RESERVED | columns)


def require_unreserved(names: Iterable[str]) -> None:
    """Raise `TaskFailed` if a value's column has a reserved name: it would be lost or taken for a mark."""
    names = list(names)
    require_distinct(names)
    taken = next((name for name in names if name in RESERVED), None)
    if taken == IS_DELETED:
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The messages have a column {taken}, by which Hudi deletes rows. This source deletes rows by tombstones "
            "or the envelope Debezium; without these, declare the columns of JSON values and leave this column out, "
            "or rename it in the producer.",
        )
    if taken is not None:
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The messages have a column {taken}, which the driver uses itself; declare the columns of JSON values "
            "and leave this column out, or rename it in the producer.",
        )


def field(name: str) -> Column:
    """Return a field of the message, such as `value` or `offset`."""
    return sf.col(MESSAGE)[name]
