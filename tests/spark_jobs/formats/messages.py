"""Messages of Kafka as a decoder gets them, without a broker, and values as serializers of a registry write them."""

import io
import json
import struct
from base64 import b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import fastavro
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.json_format import ParseDict
from google.protobuf.message_factory import GetMessageClass
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import IngestionTableTask, IngestionTask, KafkaSource, TableDefinition
from hudi_jobs.frames import local_frame
from hudi_jobs.ingestion.sources.kafka.formats.format_registry import format_of, unwrapper_of
from hudi_jobs.ingestion.sources.kafka.formats.protobuf_compiler import compiled
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE, MESSAGE_TYPE, Decoded

_COLUMNS = "key string, value string, topic string, partition int, offset bigint"


@dataclass
class Topic:
    """What was produced, in its order."""

    spark: SparkSession
    name: str = "events"
    values: list[tuple[bytes | None, bytes | None, str]] = field(default_factory=list)

    def put(self, *values: Any, key: bytes | None = None, topic: str | None = None) -> None:
        """Produce values: bytes as they are, everything else as JSON."""
        for value in values:
            raw = value if isinstance(value, bytes) or value is None else json.dumps(value).encode()
            self.values.append((key, raw, topic or self.name))

    def frame(self) -> DataFrame:
        """The messages as the source hands them to a decoder."""
        rows = [(_base64(key), _base64(value), topic, 0, at) for at, (key, value, topic) in enumerate(self.values)]
        # What follows is computed in a job, with generated code, and not while it is planned.
        texts = local_frame(self.spark, rows, _COLUMNS).coalesce(1)
        frame = texts.withColumns({name: sf.unbase64(name) for name in ("key", "value")})
        nothing = ("timestamp", "timestampType", "headers")
        message = sf.struct(*frame.columns, *(sf.lit(None).alias(name) for name in nothing)).cast(MESSAGE_TYPE)
        return frame.select(message.alias(MESSAGE))


def _base64(value: bytes | None) -> str | None:
    return None if value is None else b64encode(value).decode()


def avro_value(number: int, schema: dict[str, Any], record: Any) -> bytes:
    """Return what a serializer of a registry writes."""
    body = io.BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), record)
    return struct.pack(">bI", 0, number) + body.getvalue()


def protobuf_value(number: int, array: bytes, text: str, name: str, record: Any, **imports: str) -> bytes:
    """Return what a serializer of a registry writes; `array` says where in the text the message is."""
    files = FileDescriptorSet.FromString(compiled(text, {f"{each}.proto": imports[each] for each in imports}))
    pool = DescriptorPool()
    for file in files.file:
        pool.Add(file)
    message = GetMessageClass(pool.FindMessageTypeByName(name))()
    return struct.pack(">bI", 0, number) + array + ParseDict(record, message).SerializeToString()


def context_of(
    spark: SparkSession, source: dict[str, Any], **table: Any
) -> tuple[TaskContext[IngestionTableTask], KafkaSource]:
    """Return what a decoder is given for a source."""
    kafka = KafkaSource.model_validate({"bootstrap_servers": "none:9092", "topics": ["events"], **source})
    ingestion = {name: table.pop(name) for name in ("transform_sql", "operation", "bad_records") if name in table}
    definition = {"name": "t", "base_path": "/nowhere/t", "type": "CopyOnWrite", "record_key": ("id",), **table}
    task = IngestionTableTask(
        id="t",
        table=TableDefinition.model_validate(definition),
        ingestion=IngestionTask(source=kafka, **ingestion),
    )
    return TaskContext(spark, "run", task), kafka


def rows_of(decoded: Decoded) -> list[Row]:
    """Return the rows in the order of their messages."""
    return decoded.frame.orderBy(f"{MESSAGE}.offset").collect()


def table(rows: list[Row], *names: str) -> list[tuple[Any, ...]]:
    return [tuple(row[name] for name in names) for row in rows]


def unwrapped(
    topic: Topic,
    *,
    ddl: str | None = "id BIGINT, note STRING",
    events: Mapping[str, Any] | None = None,
    **table: Any,
) -> Decoded:
    value = {"schema_ddl": ddl, "source_tables": table.pop("source_tables", "One")}
    source = {"value": {"format": "Json", "envelope": "Debezium", **value}}
    context, kafka = context_of(topic.spark, source, **{"ordering_fields": ("_event_lsn",), **table})
    unwrapper = unwrapper_of(kafka)
    assert unwrapper is not None
    decoded = replace(format_of(kafka).decode(context, kafka, topic.frame()), events=events or {})
    return unwrapper.unwrap(context, kafka, decoded)
