"""Values in Protobuf, by a descriptor that the request holds.

A registry keeps schemas of Protobuf as text, which takes a compiler to read; there is none here, so the combination is
refused.
"""

import binascii
import re
import tempfile
from base64 import b64decode
from functools import cache, reduce
from operator import and_
from pathlib import Path

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.classification import stage
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, KafkaSource
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, NO_COLUMN
from hudi_jobs.ingestion.sources.kafka.formats.descriptors import NoDescriptor, require_countable
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
    corrupt_text,
    field,
    require_unreserved,
)
from hudi_jobs.jvm import from_protobuf

_LARGEST = 1024 * 1024
_NAME = re.compile(r"\.?[A-Za-z_]\w{0,200}(\.[A-Za-z_]\w{0,200}){0,20}", re.ASCII)
_ROW = "_row"


def require(source: KafkaSource) -> None:
    """Raise `TaskFailed` where the descriptor or the name of the message is missing, or a registry is named."""
    value = source.value
    if source.registry is not None:
        raise _invalid(
            "Schemas of Protobuf in a registry are text that takes a compiler, and are not read; declare the "
            "descriptor and the type of the message, and leave the registry out. What serializers of a registry put "
            "before each value is not read either"
        )
    if value.descriptor is None or value.message_type is None:
        raise _invalid("Values in Protobuf need a descriptor and the type of the message in it")
    if value.schema_ddl is not None:
        raise _invalid("The columns of values in Protobuf are those of their message; leave the declared ones out")
    if not _NAME.fullmatch(value.message_type):
        raise _invalid(f"{value.message_type[:100]!a} is no name of a message, such as shop.Order")
    try:
        require_countable(descriptor_of(value.descriptor), value.message_type.removeprefix("."))
    except NoDescriptor as error:
        raise _invalid(f"The descriptor {error}") from error


def descriptor_of(text: str) -> bytes:
    """Return the file descriptor set in the request; raise `TaskFailed` where it is none by its looks."""
    try:
        found = b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise _invalid("The descriptor is not base64") from error
    if not found or len(found) > _LARGEST:
        raise _invalid(f"The descriptor has {len(found):,} bytes; it may have up to {_LARGEST:,}, and not none")
    return found


def decode(context: TaskContext, source: KafkaSource, messages: DataFrame) -> Decoded:
    """Decode every value as a message of the declared type."""
    assert source.value.descriptor is not None, "see require"
    assert source.value.message_type is not None, "see require"
    if not str(context.spark.sparkContext.master).startswith("local"):
        raise _invalid(
            "Values in Protobuf are read by jobs of the mode Local only, because executors do not have the descriptor"
        )
    file = _descriptor_file(descriptor_of(source.value.descriptor))
    value, name = field("value"), source.value.message_type.removeprefix(".")
    with stage(f"Values cannot be read as the message {name} of Protobuf", otherwise=FailureReason.INVALID_REQUEST):
        rows = messages.select(MESSAGE, from_protobuf(value, name, str(file)).alias(_ROW))
    kind = rows.schema[_ROW].dataType
    assert isinstance(kind, StructType), "a message is a struct"
    names = kind.fieldNames()
    require_unreserved(names)
    columns = [sf.col(_ROW)[one].alias(one) for one in names] or [sf.lit(None).cast("string").alias(NO_COLUMN)]
    # What cannot be decoded is a row of nulls, as is a message that is empty, and so has no bytes.
    nothing = reduce(and_, [sf.col(_ROW)[one].isNull() for one in kind.fieldNames()], sf.length(value) > 0)
    corrupt = sf.when(nothing, corrupt_text(value)).alias(CORRUPT_RECORD)
    return Decoded(rows.select(MESSAGE, *columns, corrupt))


@cache
def _descriptor_file(descriptor: bytes) -> Path:
    """Return a file with the descriptor, one for all batches of a run."""
    file = Path(tempfile.mkdtemp(prefix="descriptor-"), "messages.desc")
    file.write_bytes(descriptor)
    return file


def _invalid(message: str) -> TaskFailed:
    return TaskFailed(FailureReason.INVALID_REQUEST, f"{message}.")
