"""Finds the first offsets of topics not read before."""

from collections.abc import Mapping

from hudi_jobs.contract import FailureReason, KafkaSource, OffsetReset
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.kafka.clients.broker import Brokers
from hudi_jobs.ingestion.sources.kafka.offsets.ranges import TopicOffsets, TopicPartition
from hudi_jobs.ingestion.sources.kafka.offsets.state import KafkaProgress
from hudi_jobs.ingestion.sources.kafka.request import moment


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
