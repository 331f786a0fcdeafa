"""A message of Protobuf as Spark reads it: by a file with its descriptor."""

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
    """The message of a set that `row_descriptor` has made, and the type of its rows."""

    file: Path
    type: StructType

    @classmethod
    def of(cls, messages: DataFrame, descriptor: bytes, otherwise: FailureReason) -> "Message":
        """Return how Spark reads the message; raise `TaskFailed` where it does not, which is no other failure."""
        file = _file(descriptor)
        with stage("Values cannot be read as their message of Protobuf", otherwise=otherwise):
            rows = messages.select(from_protobuf(field("value"), descriptors.ROW, str(file)).alias(_ROW))
        kind = rows.schema[_ROW].dataType
        assert isinstance(kind, StructType), "a message is a struct"
        return cls(file, kind)

    def decoded(self, body: Column) -> Column:
        """Return what Spark makes of a value, which `row_of` and `is_row` are asked for."""
        row = from_protobuf(body, descriptors.ROW, str(self.file))
        return sf.struct(row.alias(_ROW), (sf.length(body) == 0).alias(_EMPTY))

    def is_row(self, decoded: Column) -> Column:
        """Tell whether a value could be decoded; null where there was none.

        What cannot be decoded is a row of nulls, as is a message that is empty, and so has no bytes.
        """
        return reduce(or_, (decoded[_ROW][name].isNotNull() for name in self.type.fieldNames()), decoded[_EMPTY])


def row_of(decoded: Column) -> Column:
    """Return the row of a value that could be decoded."""
    return decoded[_ROW]


@lru_cache(maxsize=_KEPT)
def _file(descriptor: bytes) -> Path:
    """Return a file with the descriptor, one for all batches of a run."""
    file = Path(tempfile.mkdtemp(prefix="descriptor-"), "messages.desc")
    file.write_bytes(descriptor)
    return file
