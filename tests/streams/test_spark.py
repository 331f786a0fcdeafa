"""What the Spark image brings for streams, beside Hudi: it reads each listener, and decodes Avro and Protobuf."""

import uuid
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.avro.functions import from_avro

from localcluster.settings import SOURCE
from toolkit.streams import KafkaBroker, Listener
from toolkit.streams.downloads import class_path

pytestmark = [pytest.mark.streams, pytest.mark.spark, pytest.mark.slow]

AVRO = (
    '{"type": "record", "name": "row", "fields": [{"name": "id", "type": "long"}, {"name": "word", "type": "string"}]}'
)
ENCODED = bytes([84, 4]) + b"hi"  # 42 and "hi" as Avro writes them


@pytest.fixture
def topic(kafka: KafkaBroker) -> str:
    name = f"topic-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, 2)
    return name


def _read(spark: SparkSession, kafka: KafkaBroker, topic: str, listener: Listener, **settings: str) -> DataFrame:
    settings |= kafka.credentials.java(listener) | {"bootstrap.servers": kafka.address(listener)}
    options = {f"kafka.{key}": value for key, value in settings.items()}
    return spark.read.format("kafka").options(subscribe=topic, includeHeaders="true", **options).load()


@pytest.mark.parametrize("listener", Listener)
def test_spark_reads_each_listener(spark: SparkSession, kafka: KafkaBroker, topic: str, listener: Listener) -> None:
    kafka.produce(topic, [(b"k", b"%d" % number, [("h", b"x")], None, number % 2) for number in range(10)])

    rows = _read(spark, kafka, topic, listener).collect()

    assert sorted((row.partition, row.offset, int(row.value)) for row in rows) == [
        (partition, offset, 2 * offset + partition) for partition in (0, 1) for offset in range(5)
    ]
    assert {(row.headers[0].key, bytes(row.headers[0].value)) for row in rows} == {("h", b"x")}


def test_rows_of_committed_transactions_go_into_a_hudi_table(
    spark: SparkSession, kafka: KafkaBroker, topic: str, tmp_path: Path
) -> None:
    kafka.begin(topic, [(b"k", b"aborted")]).abort()
    kafka.begin(topic, [(b"k", ENCODED)]).commit()
    options = {"hoodie.table.name": "words", "hoodie.datasource.write.recordkey.field": "id"}

    messages = _read(spark, kafka, topic, Listener.PLAINTEXT, **{"isolation.level": "read_committed"})
    decoded = messages.select(from_avro("value", AVRO).alias("row")).select("row.*")
    decoded.write.format("hudi").options(**options).mode("append").save(str(tmp_path / "table"))

    read = spark.read.format("hudi").load(str(tmp_path / "table")).select("id", "word")
    assert [tuple(row) for row in read.collect()] == [(42, "hi")]


def test_spark_decodes_protobuf(spark: SparkSession, tmp_path: Path) -> None:
    descriptor = tmp_path / "event.desc"
    descriptor.write_bytes(_descriptor())
    encoded = bytes([8, 42]) + _delimited(2, b"hi")
    frame = spark.createDataFrame([(bytearray(encoded),), (bytearray(b"\xff"),)], "value BINARY")

    functions: Any = spark._jvm.org.apache.spark.sql.protobuf.functions
    column = functions.from_protobuf(sf.col("value")._jc, "Event", str(descriptor), {"mode": "PERMISSIVE"})
    rows = frame.select(Column(column).alias("event")).collect()

    # A value that is not the message is a row of nulls, and not null as with Avro.
    assert [tuple(row.event) for row in rows] == [(42, "hi"), (None, None)]


def test_no_jar_of_a_server_is_in_the_image() -> None:
    listed = (SOURCE / "image" / "jars.txt").read_text()

    servers = {Path(jar).name for name in ("kafka", "connect") for jar in class_path(name).split(":")}

    assert not {name for name in servers if f"/{name}\n" in listed}


def _descriptor() -> bytes:
    """What `protoc --descriptor_set_out` writes for `message Event { int64 id = 1; string word = 2; }`."""
    fields = (_field(b"id", 1, 3), _field(b"word", 2, 9))
    message = _delimited(1, b"Event") + b"".join(_delimited(2, field) for field in fields)
    file = _delimited(1, b"event.proto") + _delimited(4, message) + _delimited(12, b"proto3")
    return _delimited(1, file)


def _field(name: bytes, number: int, kind: int) -> bytes:
    return _delimited(1, name) + bytes([3 << 3, number, 4 << 3, 1, 5 << 3, kind])


def _delimited(number: int, content: bytes) -> bytes:
    return bytes([number << 3 | 2, len(content)]) + content
