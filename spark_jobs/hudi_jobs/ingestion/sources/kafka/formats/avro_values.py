"""Decodes the Avro values of a batch to columns, whatever mixture of schemas wrote them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame
from pyspark.sql.avro.functions import from_avro
from pyspark.sql.types import IntegerType, LongType, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import Envelope, FailureReason, KafkaSource
from hudi_jobs.ingestion.sources.kafka.formats import registered_values
from hudi_jobs.ingestion.sources.kafka.formats.avro_schemas import (
    WRAPPED,
    means_the_same,
    require_readable,
    with_short_decimals,
    with_times,
    wrapped,
)
from hudi_jobs.ingestion.sources.kafka.formats.protocol import Decoded, field, taken_names
from hudi_jobs.ingestion.sources.kafka.formats.registered_values import Writer, rows_of
from hudi_jobs.ingestion.sources.kafka.formats.schema_registry.client import Registry
from hudi_jobs.ingestion.sources.kafka.formats.schema_registry.schemas import AVRO, Schema
from hudi_jobs.ingestion.sources.kafka.formats.shapes import (
    agree,
    as_written,
    extended,
    holds,
    left_out,
    merged,
    newest_of,
    possible,
)
from hudi_jobs.schemas.columns import declared_columns
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.jvm import JavaObject, classes

_COMPATIBLE = "COMPATIBLE"


def require(source: KafkaSource) -> None:
    """Raise `TaskFailed` without a registry: values do not contain their schema."""
    if source.registry is None:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST, "Avro values refer to their schema by id, so the source needs a registry."
        )
    if source.value.schema_ddl is not None and source.value.envelope is Envelope.NONE:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            "The columns of Avro values come from their schema; remove the declared columns.",
        )


@dataclass(frozen=True)
class _Known:
    """A schema of the batch's values, in Spark's form, with the type of its rows.

    `own` is the schema's own type, whatever type the values are read as.
    """

    writer: str
    reader: str
    type: StructType
    own: StructType

    def as_written(self) -> "_Known":
        """Return the reading without another schema."""
        return _Known(self.writer, self.writer, self.own, self.own)


def decode(context: TaskContext, source: KafkaSource, messages: DataFrame) -> Decoded:
    """Decode every value by its named schema, as rows of a common type."""
    assert source.registry is not None, "see require"
    schemas = _Schemas(context, source, messages)
    named = registered_values.schemas_named(messages)
    known = schemas.known(named)
    read = _in_agreement(known)
    batch = _type_of(read)
    registered = schemas.newest_type(named)
    newest = possible(registered, batch, taken_names(source))

    def by_own_schemas(besides: StructType) -> Decoded:
        own = _as_written(known)
        return rows_of(messages, _writers(own), as_written(newest, _type_of(own), besides))

    wanted = extended(newest, batch)
    needs_newest = wanted != batch or any(each.reader != each.writer for each in read.values())
    decoded = rows_of(messages, _writers(read), wanted)
    remark = left_out(registered, newest)
    return replace(decoded, remark=remark, as_written=by_own_schemas if needs_newest else None)


def _type_of(known: Mapping[int, _Known]) -> StructType:
    return reduce(merged, [each.type for each in known.values()], StructType())


def _writers(known: Mapping[int, _Known]) -> list[Writer]:
    return [_writer(number, each) for number, each in known.items()]


def _as_written(known: Mapping[int, _Known]) -> dict[int, _Known]:
    return {number: each.as_written() for number, each in known.items()}


def _in_agreement(known: dict[int, _Known]) -> dict[int, _Known]:
    """Read values as the newest schema, unless it brings a column that other values contradict."""
    if agree(each.type for each in known.values()):
        return known
    return _as_written(known)


def _writer(number: int, known: _Known) -> Writer:
    options = {"mode": "PERMISSIVE", "avroSchema": wrapped(known.reader)}
    return Writer(
        headers=(registered_values.header(number),),
        type=known.type,
        decoded=lambda body: from_avro(body, wrapped(known.writer), options),
        row=lambda decoded: decoded[WRAPPED][WRAPPED],
        is_row=lambda decoded: decoded[WRAPPED].isNotNull(),
    )


class _Schemas:
    """The schemas of a batch, from the registry and the JVM."""

    def __init__(self, context: TaskContext, source: KafkaSource, messages: DataFrame) -> None:
        assert source.registry is not None, "see require"
        self._source = source
        self._subject = source.registry.subject
        self._registry = Registry(source.registry)
        self._jvm = classes(context.spark)
        self._messages = messages
        declared = declared_columns(context.spark, source.value.schema_ddl) or StructType()
        self._numbers = frozenset(f.name for f in declared.fields if isinstance(f.dataType, (IntegerType, LongType)))

    def known(self, named: dict[int, tuple[str, ...]]) -> dict[int, _Known]:
        """Return the reading of each id's values; ids unknown to the registry are left out."""
        found: dict[int, _Known] = {}
        for number, topics in named.items():
            schema = self._registry.by_id(number)
            if schema is None:
                continue
            if schema.language != AVRO:
                raise TaskFailed(
                    FailureReason.SCHEMA_INCOMPATIBLE,
                    f"The schema {number} of the registry is {schema.language[:40]!a}, not Avro; declare the format "
                    "of the values.",
                )
            found[number] = self._reading(self._text(schema, number), topics)
        return found

    def newest_type(self, named: dict[int, tuple[str, ...]]) -> StructType:
        """Return the type of the topics' newest schemas, so that columns do not come and go.

        Topics without a message in this batch count as well: the table has their columns, or is created with them.
        """
        heard, quiet = registered_values.subjects_that_count(named, self._source.topics, self._subject)
        texts = [text for subject in (*heard, *quiet) if (text := self._newest(subject))]
        return newest_of(map(self._type, texts), has_messages=bool(named))

    def _reading(self, writer: str, topics: tuple[str, ...]) -> _Known:
        """Read as the newest schema, with its defaults, if it contains all of this schema with the same meaning."""
        own = self._type(writer)
        subject = self._subject or (registered_values.subject_of(topics[0]) if len(topics) == 1 else None)
        newest = self._newest(subject) if subject else None
        if newest is not None and self._can_read(newest, writer) and means_the_same(writer, newest):
            kind = self._type(newest)
            if holds(kind, own) and possible(kind, own, taken_names(self._source)) == kind:
                return _Known(writer, newest, kind, own)
        return _Known(writer, writer, own, own)

    def _newest(self, subject: str) -> str | None:
        schema = self._registry.latest(subject)
        return None if schema is None or schema.language != AVRO else self._text(schema, 0)

    def _text(self, schema: Schema, number: int) -> str:
        """Return the schema as a text without references."""
        try:
            parser = self._jvm.org.apache.avro.Schema.Parser()
            for other in self._registry.referred(schema).values():
                parser.parse(other.text)
            text = str(parser.parse(schema.text).toString())
        except Py4JJavaError as error:
            raise TaskFailed(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"The schema {number or 'that is the newest'} of the registry is not an Avro schema.",
            ) from error
        require_readable(text, number)
        text = with_short_decimals(text)
        return with_times(text, self._numbers) if self._source.value.envelope is Envelope.DEBEZIUM else text

    def _type(self, text: str) -> StructType:
        with stage("A schema of the registry cannot be read by Spark", otherwise=FailureReason.SCHEMA_INCOMPATIBLE):
            value = from_avro(field("value"), wrapped(text))
            found = self._messages.select(value[WRAPPED][WRAPPED].alias(WRAPPED)).schema
        kind = found[WRAPPED].dataType
        assert isinstance(kind, StructType), "see require_readable"
        return kind

    def _can_read(self, reader: str, writer: str) -> bool:
        compatibility = self._jvm.org.apache.avro.SchemaCompatibility
        found = compatibility.checkReaderWriterCompatibility(self._parsed(reader), self._parsed(writer))
        return str(found.getType().name()) == _COMPATIBLE

    def _parsed(self, text: str) -> JavaObject:
        return self._jvm.org.apache.avro.Schema.Parser().parse(text)
