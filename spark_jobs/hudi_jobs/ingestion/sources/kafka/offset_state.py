"""A Kafka source's checkpoint, and the checks of what an older checkpoint reads again.

Of two rows with the same key Hudi keeps the one with the higher offset. Offsets of two partitions do not tell which
message is newer, so a key must stay in one partition of one topic for good.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, pairwise, zip_longest
from typing import Any

from hudi_jobs.contract import (
    CHECKPOINT_LIMIT,
    Checkpoint,
    FailureReason,
    IngestionTask,
    KafkaSource,
    TableDefinition,
    WriteOperation,
)
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.ingestion.checkpoint import encode_checkpoint, understood
from hudi_jobs.ingestion.sources.kafka.offsets import (
    NAMED_LOSSES,
    Cause,
    Loss,
    TopicOffsets,
    TopicPartition,
    TopicProgress,
    differ,
    is_another,
    is_same,
    named,
)
from hudi_jobs.spark.failures import TaskFailed

KIND = "kafka"

_SHOWN_TOPICS = 3
_SHOWN = 400
_LARGEST_OFFSET = 2**63 - 1


@dataclass(frozen=True)
class KafkaProgress:
    """The topics' progress; `source` names the cluster and the topics read last.

    `events` is the envelope's state for change events: log names and deletes. `gone` are the topics already reported as
    missing.
    """

    sequence: int = 0
    source: str | None = None
    topics: Mapping[str, TopicProgress] = field(default_factory=dict)
    events: Mapping[str, Any] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()

    @classmethod
    def of(cls, checkpoint: Checkpoint | None) -> "KafkaProgress":
        """Parse a checkpoint's state; raise `TaskFailed` for a state that this release has not written."""
        if checkpoint is None:
            return cls()
        with understood():
            topics = {str(name): _topic(entry) for name, entry in checkpoint.state["topics"].items()}
            events = dict(checkpoint.state.get("events", {}))
            gone = frozenset(checkpoint.state.get("gone", []))
            if not gone <= topics.keys():
                raise ValueError("a topic that is gone and was never read")
        return cls(checkpoint.sequence, checkpoint.source, topics, events, gone)

    def advanced(
        self,
        *,
        source: str,
        topics: Mapping[str, TopicProgress],
        events: Mapping[str, Any] | None = None,
        gone: frozenset[str] | None = None,
    ) -> "KafkaProgress":
        """Return the progress after these topics have been read."""
        return KafkaProgress(
            self.sequence + 1,
            source[:_SHOWN],
            topics,
            self.events if events is None else events,
            self.gone if gone is None else gone,
        )

    def checkpoint(self, shown: Mapping[str, TopicProgress]) -> Checkpoint:
        """Return the checkpoint with this state, and a summary of some topics for people.

        Raises `TaskFailed` if it exceeds a commit's limit: without the state of events, a late event could restore a
        deleted row.
        """
        topics = {name: [one.id, list(one.next)] for name, one in sorted(self.topics.items())}
        state: dict[str, Any] = {"topics": topics}
        if self.events:
            state["events"] = dict(self.events)
        if self.gone:
            state["gone"] = sorted(self.gone)
        checkpoint = Checkpoint(KIND, self.sequence, self.source, display(shown), state)
        if len(encode_checkpoint(checkpoint)) > CHECKPOINT_LIMIT:
            partitions = sum(len(one.next) for one in self.topics.values())
            kept = ", and what is kept of change events," if self.events else ""
            raise TaskFailed(
                FailureReason.INVALID_REQUEST,
                f"The offsets of {counted(len(self.topics), 'topic')} with {counted(partitions, 'partition')}{kept} do "
                f"not fit into a checkpoint of {CHECKPOINT_LIMIT:,} characters; spread the topics over several tables.",
            )
        return checkpoint


def display(topics: Mapping[str, TopicProgress]) -> str:
    """Return the topics' progress for people: the lowest and highest next offsets."""
    names = sorted(topics)
    shown = [f"{name}: {_partitions(topics[name])}" for name in names[:_SHOWN_TOPICS]]
    more = [f"and {counted(len(names) - _SHOWN_TOPICS, 'topic')} more"] if len(names) > _SHOWN_TOPICS else []
    return "; ".join([*shown, *more])[:_SHOWN]


def _partitions(topic: TopicProgress) -> str:
    lowest, highest = min(topic.next, default=0), max(topic.next, default=0)
    return f"{counted(len(topic.next), 'partition')}, offsets {lowest:,}..{highest:,}"


def _topic(entry: Any) -> TopicProgress:  # noqa: ANN401 - JSON
    identity, following = entry
    offsets = tuple(following)
    if not all(type(offset) is int and 0 <= offset <= _LARGEST_OFFSET for offset in offsets):
        raise ValueError("an offset")
    return TopicProgress(str(identity), offsets)


def not_again(
    at: KafkaProgress,
    going: Iterable[KafkaProgress],
    *,
    topics: Mapping[str, TopicOffsets],
    starts: Mapping[TopicPartition, int],
    losses: Sequence[Loss],
) -> str:
    """Return a sentence on messages that resuming from an older progress may miss, or an empty text.

    `going` are all later progresses, in any order. `starts` are the current beginnings of topics missing in the older
    progress, `losses` what resuming from it has lost.
    """
    past = [at, *sorted(going, key=lambda one: one.sequence)]
    newest = {name: progress for one in past for name, progress in one.topics.items()}
    reached = ((name, progress) for one in past for name, progress in one.topics.items())
    moved = {name for name, progress in reached if progress != at.topics.get(name)}
    back = {name for name in at.topics.keys() & topics.keys() if _is_back(name, past, topics[name])}
    replaced = back | {name for name in moved if _is_replaced(name, past, topics.get(name))}
    read = {name: newest[name] for name in sorted(moved | back)}
    lost = [loss for loss in losses if loss.topic in read]
    places = {loss.place for loss in lost}
    unsure = [said for place, said in _unsure(at.topics, read, replaced, topics, starts) if place not in places]
    gone = f"Messages that would have to be read again are no longer in the topic ({named(lost)})." if lost else ""
    more = f"These messages may not be read again: {listed(unsure, NAMED_LOSSES)}." if unsure else ""
    return f"{gone} {more}".strip()


def _is_replaced(name: str, past: Sequence[KafkaProgress], topic: TopicOffsets | None) -> bool:
    """Tell whether a topic was replaced or truncated between the oldest of these progresses and now.

    Each is compared with its successor: the offsets may since have grown beyond the earlier offsets. If a topic was
    gone by the first progress and is another now, all of it is read again (`standing`).
    """
    known = [one.topics[name] for one in past if name in one.topics]
    if name in past[0].gone and topic is not None and is_another(past[0].topics[name], topic):
        known = known[1:]
    ids = {one.id for one in known} | ({topic.id} if topic is not None else set())
    if any(differ(one, other) for one, other in combinations(ids, 2)):
        return True
    if any(_is_lower(one, later) for one, later in pairwise(known)):
        return True
    return _has_vanished(name, past) and not (topic is not None and all(is_same(one, topic) for one in known))


def _is_back(name: str, past: Sequence[KafkaProgress], topic: TopicOffsets) -> bool:
    """Tell whether resuming from the first progress mistakes a new topic for a topic that vanished meanwhile."""
    at = past[0].topics[name]
    return _has_vanished(name, past) and not is_same(at, topic) and not is_another(at, topic)


def _has_vanished(name: str, past: Sequence[KafkaProgress]) -> bool:
    return any(name in later.gone and name not in earlier.gone for earlier, later in pairwise(past))


def _is_lower(past: TopicProgress, later: TopicProgress) -> bool:
    """Tell whether reading went back between two progresses: the only sign of a new topic without an id."""
    fewer = len(later.next) < len(past.next)
    return fewer or any(one > other for one, other in zip_longest(past.next, later.next, fillvalue=0))


def _unsure(
    at: Mapping[str, TopicProgress],
    read: Mapping[str, TopicProgress],
    replaced: Collection[str],
    topics: Mapping[str, TopicOffsets],
    starts: Mapping[TopicPartition, int],
) -> Iterator[tuple[TopicPartition | str, str]]:
    for name, progress in read.items():
        topic = topics.get(name)
        if topic is None:
            yield name, f"all of the topic {name}, which the source does not read now"
        elif name in replaced or is_another(progress, topic):
            yield (
                name,
                f"all of the topic {name}, which was cut off, or deleted and created again, or is in another cluster",
            )
        else:
            yield from _of_topic(name, progress.next, topic, {} if name in at else starts)


def _of_topic(
    name: str, reached: Iterable[int], topic: TopicOffsets, starts: Mapping[TopicPartition, int]
) -> Iterator[tuple[TopicPartition, str]]:
    """Yield the partitions with possibly missed messages.

    No checkpoint records where a topic's first read began, and `startingOffsets` may have changed since. So only a
    start at offset 0 is certainly early enough.
    """
    for number, until in enumerate(reached):
        place = TopicPartition(name, number)
        start, high = starts.get(place, 0), topic.partitions[number].high
        if until > high:
            yield place, f"{place} before offset {until:,}, which is beyond the partition's end"
        elif start > 0 and until > 0:
            yield place, f"{place} before offset {min(start, until):,}, because reading begins at {start:,}"


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
