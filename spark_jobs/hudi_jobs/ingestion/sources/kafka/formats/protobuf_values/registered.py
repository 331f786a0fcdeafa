"""Decodes Protobuf values that name their registry schema and their message's place in it."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import reduce
from itertools import islice

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from hudi_jobs.contract import FailureReason, KafkaSource
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.kafka.formats import wire
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_values.compiler import MAIN, compiled
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_values.descriptors import NoDescriptor, parsed, row_descriptor
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_values.indexes import arrays_of, first_message
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_values.messages import Message, row_of
from hudi_jobs.ingestion.sources.kafka.formats.protocol import Decoded, taken_names
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
from hudi_jobs.ingestion.sources.kafka.formats.writers import Writer, rows_of


def decode(source: KafkaSource, messages: DataFrame) -> Decoded:
    """Decode every value by its named schema, as rows of a common type."""
    schemas = _Schemas(source, messages)
    named = wire.schemas_named(messages)
    newest = schemas.newest(named)
    every = (writer for number in named for writer in schemas.writers(number, newest))
    writers = list(islice(every, wire.MOST_SCHEMAS + 1))
    if len(writers) > wire.MOST_SCHEMAS:
        raise _incompatible(
            f"The values of one batch name more than {wire.MOST_SCHEMAS} messages of their schemas; "
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
        heard, quiet = wire.subjects_that_count(named, self._topics, self._subject)
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
                    headers=tuple(wire.header(number) + array for array in arrays),
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
