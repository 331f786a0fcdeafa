"""Decodes a batch's Protobuf values to columns, and checks the request for them."""

import binascii
import re
from base64 import b64decode

from pyspark.sql import DataFrame
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, KafkaSource
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, NO_COLUMN
from hudi_jobs.ingestion.rules.record_text import corrupt_text
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_values import registered
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_values.descriptors import NoDescriptor, parsed, row_descriptor
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_values.messages import Message, row_of
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
    field,
    require_unreserved,
)

_NAME = re.compile(r"\.?[A-Za-z_]\w{0,200}(\.[A-Za-z_]\w{0,200}){0,20}", re.ASCII)
_DECODED = "_decoded"


def require(source: KafkaSource) -> None:
    """Raise `TaskFailed` unless exactly one of registry and descriptor is given."""
    value = source.value
    if (source.registry is None) == (value.descriptor is None):
        raise _invalid("Values in Protobuf need either a registry or a descriptor")
    if value.schema_ddl is not None:
        raise _invalid("The columns of Protobuf values come from their message; remove the declared columns")
    if value.message_type is not None and not _NAME.fullmatch(value.message_type):
        raise _invalid(f"{value.message_type[:100]!a} is not the name of a message, such as shop.Order")
    if source.registry is None:
        _declared(source)


def decode(context: TaskContext, source: KafkaSource, messages: DataFrame) -> Decoded:
    """Decode every value by the declared descriptor, or by its registry schema."""
    if not str(context.spark.sparkContext.master).startswith("local"):
        raise _invalid("Protobuf values can be read only in mode Local, because executors do not have the descriptor")
    if source.registry is not None:
        return registered.decode(source, messages)
    return _decode_declared(source, messages)


def _decode_declared(source: KafkaSource, messages: DataFrame) -> Decoded:
    message = Message.of(messages, _declared(source), FailureReason.INVALID_REQUEST)
    names = message.type.fieldNames()
    require_unreserved(names)
    value, decoded = field("value"), sf.col(_DECODED)
    columns = [row_of(decoded)[one].alias(one) for one in names] or [sf.lit(None).cast("string").alias(NO_COLUMN)]
    corrupt = sf.when(~message.is_row(decoded), corrupt_text(value)).alias(CORRUPT_RECORD)
    return Decoded(messages.select(MESSAGE, message.decoded(value).alias(_DECODED)).select(MESSAGE, *columns, corrupt))


def _declared(source: KafkaSource) -> bytes:
    """Return the request's descriptor set, prepared for Spark to read its message."""
    text, name = source.value.descriptor, source.value.message_type
    if text is None or name is None:
        raise _invalid("A descriptor needs the type of the message in it")
    try:
        return row_descriptor(parsed(b64decode(text, validate=True)), name.removeprefix("."))
    except binascii.Error as error:
        raise _invalid("The descriptor is not base64") from error
    except NoDescriptor as error:
        raise _invalid(f"The descriptor {error}") from error


def _invalid(message: str) -> TaskFailed:
    return TaskFailed(FailureReason.INVALID_REQUEST, f"{message}.")
