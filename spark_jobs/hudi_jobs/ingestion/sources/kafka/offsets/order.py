"""Checks tables ordered by message offset: correct only while each key's offsets grow.

Of two rows with the same key Hudi keeps the one with the higher offset. Offsets of two partitions do not tell which
message is newer, so a key must stay in one partition of one topic for good.
"""

from collections.abc import Mapping, Sequence

from hudi_jobs.contract import FailureReason, IngestionTask, KafkaSource, TableDefinition, WriteOperation
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.kafka.offsets.ranges import Cause, Loss, TopicOffsets, TopicProgress

ADVICE = "leave orderingFields out, so that the later message wins, or name a column of the messages"


def offset_that_orders(task: IngestionTask, source: KafkaSource, table: TableDefinition) -> str | None:
    """Return the ordering field that is the message's offset, or None.

    With the offset in the record key, rows of the same key share an offset. Operations other than Upsert compare
    nothing.
    """
    name = source.columns.offset
    if name is None or task.operation is not WriteOperation.UPSERT:
        return None
    return name if _among(name, table.ordering_fields) and not _among(name, table.record_key) else None


def mixes_topics(source: KafkaSource, table: TableDefinition) -> bool:
    """Tell whether messages of several topics may share a record key."""
    several = source.topic_pattern is not None or len(source.topics) > 1
    return several and not _has_topic_in_key(source, table)


def require_growing_offsets(
    ingestion: IngestionTask,
    table: TableDefinition,
    before: Mapping[str, TopicProgress],
    topics: Mapping[str, TopicOffsets],
    losses: Sequence[Loss],
) -> None:
    """Raise `TaskFailed` if offsets restart in a table ordered by them: newer rows would be lost."""
    if not isinstance(ingestion.source, KafkaSource):
        return
    name = offset_that_orders(ingestion, ingestion.source, table)
    if name is None:
        return
    among = () if _has_topic_in_key(ingestion.source, table) else sorted(set(before) - set(topics))
    found = _replaced(before, losses) or _grown(before, topics) or (_left(among[0]) if among else "")
    if found:
        raise TaskFailed(
            FailureReason.TABLE_MISMATCH,
            f"The table {table.name} is ordered by the offset of the message ({name}), and {found}. Newer messages "
            "can have lower offsets than rows of the same key that the table has, and Hudi would drop them. Nothing "
            f"was written. Read the messages into a new table, with another basePath; there {ADVICE}.",
        )


def _replaced(before: Mapping[str, TopicProgress], losses: Sequence[Loss]) -> str:
    for loss in losses:
        if loss.topic not in before:
            continue
        if loss.cause is Cause.RECREATED:
            return f"the topic {loss.topic} was deleted and created again, or is in another cluster now"
        if loss.cause is Cause.TRUNCATED:
            return f"the partition {loss.place} ends before the offset {loss.first:,}, up to which it was read"
    return ""


def _grown(before: Mapping[str, TopicProgress], topics: Mapping[str, TopicOffsets]) -> str:
    for name, topic in sorted(topics.items()):
        known, now = len(before[name].next) if name in before else None, len(topic.partitions)
        if known is not None and now > known:
            return f"the topic {name} has {now:,} partitions instead of {known:,}, so keys move between partitions"
    return ""


def _left(topic: str) -> str:
    return f"has rows of another topic, {topic}, which the source does not name now"


def _has_topic_in_key(source: KafkaSource, table: TableDefinition) -> bool:
    return source.columns.topic is not None and _among(source.columns.topic, table.record_key)


def _among(name: str, columns: Sequence[str]) -> bool:
    """Tell whether a column is among others, by Spark's name comparison."""
    return name.lower() in {column.lower() for column in columns}
