"""Whether messages that were read are certain to be read again, once an older checkpoint counts: pure values."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import zip_longest

from hudi_jobs.contract.wording import listed
from hudi_jobs.ingestion.sources.kafka.offsets.losses import NAMED_LOSSES, named
from hudi_jobs.ingestion.sources.kafka.offsets.ranges import (
    Loss,
    TopicOffsets,
    TopicPartition,
    TopicProgress,
    differ,
    is_another,
)


def not_again(
    at: Mapping[str, TopicProgress],
    newest: Mapping[str, TopicProgress],
    going: Iterable[Mapping[str, TopicProgress]],
    *,
    topics: Mapping[str, TopicOffsets],
    starts: Mapping[TopicPartition, int],
    losses: Sequence[Loss],
) -> str:
    """Return a sentence on messages read between two progresses that reading from the older one may miss, or nothing.

    `going` are those between them. `starts` are where topics begin now that the older one does not have, `losses` what
    reading from it has lost.
    """
    between = ((name, past) for one in going for name, past in one.items() if past != at.get(name) and name in newest)
    replaced = {name for name, past in between if _is_replaced(past, newest[name])}
    read = {name: progress for name, progress in sorted(newest.items()) if progress != at.get(name)}
    lost = [loss for loss in losses if loss.topic in read]
    places = {loss.place for loss in lost}
    unsure = [said for place, said in _unsure(at, read, replaced, topics, starts) if place not in places]
    gone = f"Messages that would have to be read again are no longer in the topic ({named(lost)})." if lost else ""
    more = f"These messages may not be read again: {listed(unsure, NAMED_LOSSES)}." if unsure else ""
    return f"{gone} {more}".strip()


def _is_replaced(past: TopicProgress, newest: TopicProgress) -> bool:
    """Tell whether a topic was replaced between two progresses, which lower offsets show too where it has no id."""
    is_lower = any(one > other for one, other in zip_longest(past.next, newest.next, fillvalue=0))
    return differ(past.id, newest.id) or is_lower or len(newest.next) < len(past.next)


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
            yield name, f"all of the topic {name}, which was deleted and created again, or is in another cluster now"
        else:
            yield from _of_topic(name, progress.next, topic, {} if name in at else starts)


def _of_topic(
    name: str, reached: Iterable[int], topic: TopicOffsets, starts: Mapping[TopicPartition, int]
) -> Iterator[tuple[TopicPartition, str]]:
    """Yield the partitions of which something may be missed.

    No checkpoint says where the first reading of a topic began, and `startingOffsets` may have changed since. So only
    a start at offset 0 is certain to be none after it.
    """
    for number, until in enumerate(reached):
        place = TopicPartition(name, number)
        start, high = starts.get(place, 0), topic.partitions[number].high
        if until > high:
            yield place, f"{place} before offset {until:,}, which is beyond the partition's end"
        elif start > 0 and until > 0:
            yield place, f"{place} before offset {min(start, until):,}, because reading begins at {start:,}"
