"""What a run asks of topics before it reads them: first offsets, compaction, and a sample of messages.

Log compaction keeps the newest message of each key, and Debezium sends a tombstone after each delete. No offset then
reveals the delete, so its row would stay in the table without any failure. Kafka does not compact messages younger than
`min.compaction.lag.ms`, which defaults to 0.
"""

import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession

from hudi_jobs.contract import DataLossPolicy, Envelope, FailureReason, KafkaSource, OffsetReset
from hudi_jobs.ingestion.sources.kafka.clients import Brokers, asking, client_options, isolation_level
from hudi_jobs.ingestion.sources.kafka.message_rows import LAST_TIME
from hudi_jobs.ingestion.sources.kafka.offset_state import KafkaProgress
from hudi_jobs.ingestion.sources.kafka.offsets import TopicOffsets, TopicPartition
from hudi_jobs.ingestion.sources.kafka.request import moment
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import JavaObject, classes, iterated, java_map


def starting_points(
    brokers: Brokers, source: KafkaSource, topics: Mapping[str, TopicOffsets], before: KafkaProgress
) -> dict[TopicPartition, int]:
    """Return the first offset of each partition of a new topic; a pattern's later topic begins at earliest.

    A message between two runs would be lost if a later topic began at its end.
    """
    later = source.topic_pattern is not None and bool(before.topics)
    new = {
        TopicPartition(name, number): offsets
        for name, topic in topics.items()
        if name not in before.topics
        for number, offsets in enumerate(topic.partitions)
    }
    start = source.starting_offsets
    if later or (start.reset is OffsetReset.EARLIEST and start.timestamp is None):
        found = {place: offsets.beginning for place, offsets in new.items()}
    elif start.timestamp is None:
        found = {place: offsets.end for place, offsets in new.items()}
    else:
        times = brokers.at_time(list(new), moment(start.timestamp))
        # Offsets beyond the end arrived after the ends were queried.
        found = {
            place: new[place].end if offset < 0 else min(offset, new[place].high) for place, offset in times.items()
        }
    for named in start.partitions:
        place = TopicPartition(named.topic, named.partition)
        if place.topic in topics and place.partition >= len(topics[place.topic].partitions):
            raise TaskFailed(
                FailureReason.INVALID_REQUEST, f"The partition {place}, which has a starting offset, does not exist."
            )
        if place not in new:
            continue
        if named.offset > new[place].high:
            raise TaskFailed(
                FailureReason.INVALID_REQUEST,
                f"The starting offset of {place} is {named.offset:,}, but the partition ends at {new[place].high:,}.",
            )
        found[place] = named.offset
    return found


def require_deletes_kept(brokers: Brokers, source: KafkaSource, topics: Iterable[str]) -> None:
    """Raise `TaskFailed` if deletes may vanish before they are read, unless losses are accepted.

    Topics with settings that the job may not read are not checked.
    """
    if source.value.envelope is not Envelope.NONE and source.on_data_loss is DataLossPolicy.FAIL:
        refuse(brokers.compacted(topics))


def refuse(lags: Mapping[str, int]) -> None:
    """Raise `TaskFailed` for a topic compacted without a lag; `lags` maps compacted topics to milliseconds."""
    at_once = sorted(name for name, lag in lags.items() if lag <= 0)
    if at_once:
        raise TaskFailed(
            FailureReason.INPUT_LOST,
            f"The topic {at_once[0]} has change events and is compacted, which removes a delete as soon as its "
            "tombstone follows, so nothing was read. Set cleanup.policy=delete for the topic, or min.compaction.lag.ms "
            "longer than the table is ever behind; onDataLoss: Skip reads it as it is.",
        )


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
