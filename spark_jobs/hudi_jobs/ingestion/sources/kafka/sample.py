"""Samples messages in the driver: their average size, and the age of the oldest unread message."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from hudi_jobs.contract import KafkaSource
from hudi_jobs.ingestion.sources.kafka.clients.errors import asking
from hudi_jobs.ingestion.sources.kafka.clients.options import client_options, isolation_level
from hudi_jobs.ingestion.sources.kafka.messages import LAST_TIME
from hudi_jobs.ingestion.sources.kafka.offsets.ranges import TopicPartition
from hudi_jobs.jvm import JavaObject, classes, iterated, java_map

_DESERIALIZER = "org.apache.kafka.common.serialization.ByteArrayDeserializer"
_SAMPLE = 100
_MOST_PARTITIONS = 200
_SECONDS = 15.0
_POLL_MILLISECONDS = 2000
_CLOSING_SECONDS = 5
_ASSUMED_SIZE = 1024
_PLACES = (0.0, 0.5, 0.9)
"""Sample positions, as shares of the backlog."""


def average_size(
    spark: SparkSession,
    source: KafkaSource,
    following: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> int:
    """Return the average bytes of messages, key and value, sampled near the start, middle and end.

    The greatest of the three counts: a topic may begin with tombstones, and continue with much larger values.
    """
    with _consumer(spark, source, isolation_level(source), most=_SAMPLE) as consumer:
        deadline = time.monotonic() + _SECONDS
        looked_at = [
            {place: start + int((ends[place] - start) * share) for place, start in following.items()}
            for share in _PLACES
        ]
        averages = [_average(spark, consumer, places, deadline) for places in looked_at]
    return max((one for one in averages if one is not None), default=_ASSUMED_SIZE)


def _average(
    spark: SparkSession, consumer: JavaObject, places: Mapping[TopicPartition, int], deadline: float
) -> int | None:
    _begin_at(spark, consumer, places)
    sizes: list[int] = []
    while not sizes and time.monotonic() < deadline:
        sizes = [
            max(int(record.serializedKeySize()), 0) + max(int(record.serializedValueSize()), 0)
            for record in _polled(spark, consumer)
        ]
    return max(sum(sizes) // len(sizes), 1) if sizes else None


def oldest_time(spark: SparkSession, source: KafkaSource, following: Mapping[TopicPartition, int]) -> int | None:
    """Return the least timestamp among the partitions' next messages, in milliseconds, or None.

    Messages of open transactions count: they are not in the table either. An invalid time, such as -1 or nanoseconds,
    counts as unknown.
    """
    if len(following) > _MOST_PARTITIONS:
        return None
    times: dict[TopicPartition, int] = {}
    with _consumer(spark, source, "read_uncommitted", most=1) as consumer:
        _begin_at(spark, consumer, following)
        deadline = time.monotonic() + _SECONDS
        while len(times) < len(following) and time.monotonic() < deadline:
            for record in _polled(spark, consumer):
                place = TopicPartition(str(record.topic()), int(record.partition()))
                times.setdefault(place, int(record.timestamp()))
                consumer.pause(_java_partitions(spark, [place]))
    known = len(times) == len(following) and all(0 <= one <= LAST_TIME for one in times.values())
    return min(times.values()) if known and times else None


@contextmanager
def _consumer(spark: SparkSession, source: KafkaSource, isolation: str, *, most: int) -> Iterator[JavaObject]:
    options = {
        **client_options(source),
        "isolation.level": isolation,
        "enable.auto.commit": "false",
        "auto.offset.reset": "none",
        "max.poll.records": str(most),
        "max.partition.fetch.bytes": "65536",
        "fetch.max.bytes": "4194304",
        "key.deserializer": _DESERIALIZER,
        "value.deserializer": _DESERIALIZER,
    }
    with asking("The unread messages cannot be inspected"):
        jvm = classes(spark)
        consumer = jvm.org.apache.kafka.clients.consumer.KafkaConsumer(java_map(spark, options))
        try:
            yield consumer
        finally:
            consumer.close(jvm.java.time.Duration.ofSeconds(_CLOSING_SECONDS))


def _begin_at(spark: SparkSession, consumer: JavaObject, following: Mapping[TopicPartition, int]) -> None:
    consumer.assign(_java_partitions(spark, following))
    for place, offset in following.items():
        consumer.seek(_java_partition(spark, place), offset)


def _polled(spark: SparkSession, consumer: JavaObject) -> Iterator[JavaObject]:
    return iterated(consumer.poll(classes(spark).java.time.Duration.ofMillis(_POLL_MILLISECONDS)).iterator())


def _java_partition(spark: SparkSession, place: TopicPartition) -> JavaObject:
    return classes(spark).org.apache.kafka.common.TopicPartition(place.topic, place.partition)


def _java_partitions(spark: SparkSession, places: Mapping[TopicPartition, int] | list[TopicPartition]) -> JavaObject:
    found = classes(spark).java.util.ArrayList()
    for place in places:
        found.add(_java_partition(spark, place))
    return found
