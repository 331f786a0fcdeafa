"""Checks that messages read before will be read again from an older checkpoint. Pure."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise, zip_longest

from hudi_jobs.contract.wording import listed
from hudi_jobs.ingestion.sources.kafka.offsets.losses import NAMED_LOSSES, named
from hudi_jobs.ingestion.sources.kafka.offsets.ranges import (
    Loss,
    TopicOffsets,
    TopicPartition,
    TopicProgress,
    differ,
    is_another,
    is_same,
)
from hudi_jobs.ingestion.sources.kafka.offsets.state import KafkaProgress


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
