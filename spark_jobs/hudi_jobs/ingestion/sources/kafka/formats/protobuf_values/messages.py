"""Reads a Protobuf message with Spark, through a descriptor file."""

import tempfile
from dataclasses import dataclass
from functools import lru_cache, reduce
from operator import or_
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures.classification import stage
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_values import descriptors
from hudi_jobs.ingestion.sources.kafka.formats.protocol import field
from hudi_jobs.jvm import from_protobuf

_ROW, _EMPTY = "row", "empty"
_KEPT = 128


@dataclass(frozen=True)
class Message:
    """The message made by `row_descriptor`, with the type of its rows."""

    file: Path
    type: StructType

    @classmethod
    def of(cls, messages: DataFrame, descriptor: bytes, otherwise: FailureReason) -> "Message":
        """Return Spark's reading of the message; raise `TaskFailed` with reason `otherwise` if it fails."""
        file = _file(descriptor)
        with stage("Values cannot be read as their message of Protobuf", otherwise=otherwise):
            rows = messages.select(from_protobuf(field("value"), descriptors.ROW, str(file)).alias(_ROW))
        kind = rows.schema[_ROW].dataType
        assert isinstance(kind, StructType), "a message is a struct"
        return cls(file, kind)

    def decoded(self, body: Column) -> Column:
        """Return the decoded value, as input for `row_of` and `is_row`."""
        row = from_protobuf(body, descriptors.ROW, str(self.file))
        return sf.struct(row.alias(_ROW), (sf.length(body) == 0).alias(_EMPTY))

    def is_row(self, decoded: Column) -> Column:
        """Tell whether a value was decoded; null without a value.

        An undecodable value becomes a row of nulls, as does an empty message, which has no bytes.
        """
        return reduce(or_, (decoded[_ROW][name].isNotNull() for name in self.type.fieldNames()), decoded[_EMPTY])


def row_of(decoded: Column) -> Column:
    """Return the row of a decoded value."""
    return decoded[_ROW]


@lru_cache(maxsize=_KEPT)
def _file(descriptor: bytes) -> Path:
    """Return a file with the descriptor, shared by all batches of a run."""
    file = Path(tempfile.mkdtemp(prefix="descriptor-"), "messages.desc")
    file.write_bytes(descriptor)
    return file
