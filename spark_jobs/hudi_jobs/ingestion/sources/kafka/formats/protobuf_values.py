"""Decodes a batch's Protobuf values to columns, by a descriptor in the request or by registry schemas."""

import binascii
import re
import tempfile
from base64 import b64decode
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from itertools import islice
from operator import or_
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, KafkaSource
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, NO_COLUMN, corrupt_text
from hudi_jobs.ingestion.sources.kafka.formats import protobuf_descriptors, registered_values
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_compiler import MAIN, compiled
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_descriptors import (
    NoDescriptor,
    arrays_of,
    first_message,
    parsed,
    row_descriptor,
)
from hudi_jobs.ingestion.sources.kafka.formats.protocol import (
    MESSAGE,
    Decoded,
    field,
    require_unreserved,
    taken_names,
)
from hudi_jobs.ingestion.sources.kafka.formats.registered_values import Writer, rows_of
from hudi_jobs.ingestion.sources.kafka.formats.schema_registry.client import Registry
from hudi_jobs.ingestion.sources.kafka.formats.schema_registry.schemas import PROTOBUF, Schema
from hudi_jobs.ingestion.sources.kafka.formats.shapes import (
    as_written,
    extended,
    left_out,
    merged,
    newest_of,
    possible,
)
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.jvm import from_protobuf

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
            rows = messages.select(from_protobuf(field("value"), protobuf_descriptors.ROW, str(file)).alias(_ROW))
        kind = rows.schema[_ROW].dataType
        assert isinstance(kind, StructType), "a message is a struct"
        return cls(file, kind)

    def decoded(self, body: Column) -> Column:
        """Return the decoded value, as input for `row_of` and `is_row`."""
        row = from_protobuf(body, protobuf_descriptors.ROW, str(self.file))
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


def _decode_registered(source: KafkaSource, messages: DataFrame) -> Decoded:
    """Decode every value by its named schema, as rows of a common type."""
    schemas = _Schemas(source, messages)
    named = registered_values.schemas_named(messages)
    newest = schemas.newest(named)
    every = (writer for number in named for writer in schemas.writers(number, newest))
    writers = list(islice(every, registered_values.MOST_SCHEMAS + 1))
    if len(writers) > registered_values.MOST_SCHEMAS:
        raise _incompatible(
            f"The values of one batch name more than {registered_values.MOST_SCHEMAS} messages of their schemas; "
            "declare protobuf.messageType."
        )
    batch = reduce(merged, [each.type for each in writers], StructType())
    registered = newest_of(newest.values(), has_messages=bool(named))
    columns = possible(registered, batch, taken_names(source))

    def by_own_schemas(besides: StructType) -> Decoded:
        return rows_of(messages, writers, as_written(columns, batch, besides))

    wanted = extended(columns, batch)
    again = by_own_schemas if wanted != batch else None
    return replace(rows_of(messages, writers, wanted), remark=left_out(registered, columns), as_written=again)


class _Schemas:
    """The schemas of a batch, from the registry, protoc and Spark."""

    def __init__(self, source: KafkaSource, messages: DataFrame) -> None:
        assert source.registry is not None, "see require"
        self._registry = Registry(source.registry)
        self._subject = source.registry.subject
        self._topics = source.topics
        self._messages = messages
        declared = source.value.message_type
        self._declared = None if declared is None else declared.removeprefix(".")

    def newest(self, named: dict[int, tuple[str, ...]]) -> dict[str, StructType]:
        """Return the rows' messages, with their types in the topics' newest schemas.

        These are the declared message, or the first messages. Topics without a value in this batch count too if the
        registry has their schema: the table has their columns, or is created with them.
        """
        heard, quiet = registered_values.subjects_that_count(named, self._topics, self._subject)
        needed = heard or quiet
        found = {} if self._declared is None else {self._declared: StructType()}
        for subject in sorted((*heard, *quiet)):
            schema = self._registry.latest(subject)
            if schema is not None and schema.language == PROTOBUF:
                label = f"newest schema of the subject {subject[:200]!a}"
                name, kind = self._newest(schema, label)
                found[name] = newest_of((found.get(name, StructType()), kind), has_messages=bool(named))
            elif self._declared is None and subject in needed:
                raise _incompatible(
                    f"The schema registry has no Protobuf schema of the subject {subject[:200]!a}, whose first "
                    "message would define the rows; declare registry.subject or protobuf.messageType."
                )
        return found

    def writers(self, number: int, names: Iterable[str]) -> Iterator[Writer]:
        """Yield how to read an id's values, per message; nothing for an unknown id."""
        schema = self._registry.by_id(number)
        if schema is None:
            return
        if schema.language != PROTOBUF:
            raise _incompatible(
                f"The schema {number} of the registry is {schema.language[:40]!a}, not Protobuf; declare the format "
                "of the values."
            )
        label = f"schema {number}"
        files, main = self._compiled(schema, label)
        for name in names:
            arrays = arrays_of(main, name)
            if arrays:
                message = self._message(files, name, label)
                yield Writer(
                    headers=tuple(registered_values.header(number) + array for array in arrays),
                    type=message.type,
                    decoded=message.decoded,
                    row=row_of,
                    is_row=message.is_row,
                )

    def _newest(self, schema: Schema, label: str) -> tuple[str, StructType]:
        files, main = self._compiled(schema, label)
        name = self._declared or first_message(main)
        if name is None or not arrays_of(main, name):
            raise _incompatible(
                f"The {label} has no message {name or 'at all'} to read the values with; correct protobuf.messageType "
                "or registry.subject."
            )
        return name, self._message(files, name, label).type

    def _compiled(self, schema: Schema, label: str) -> tuple[FileDescriptorSet, FileDescriptorProto]:
        """Return a schema's files, and the file with the values' messages."""
        texts = {name: each.text for name, each in self._registry.referred(schema).items()}
        try:
            files = parsed(compiled(schema.text, texts))
        except NoDescriptor as error:
            raise _incompatible(f"The {label} of the registry {error}.") from error
        return files, next(file for file in files.file if file.name == MAIN)

    def _message(self, files: FileDescriptorSet, name: str, label: str) -> Message:
        try:
            descriptor = row_descriptor(files, name)
        except NoDescriptor as error:
            raise _incompatible(f"The {label} of the registry {error}.") from error
        return Message.of(self._messages, descriptor, FailureReason.SCHEMA_INCOMPATIBLE)


def _incompatible(message: str) -> TaskFailed:
    return TaskFailed(FailureReason.SCHEMA_INCOMPATIBLE, message)


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
        return _decode_registered(source, messages)
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
