"""Offsets as plain values: where reading stands, what has been lost since, and what a run reads."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

_CLUSTER = "@"


@dataclass(frozen=True, order=True)
class TopicPartition:
    """One partition of a topic."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(frozen=True)
class TopicProgress:
    """The topic's id when it was read, as `TopicOffsets` has it, and the next offset of each partition."""

    id: str
    next: tuple[int, ...]


@dataclass(frozen=True)
class PartitionOffsets:
    """What the brokers have of a partition: from `beginning` up to `end`, which a reader with this isolation may reach.

    `high` is the end whatever the isolation is: messages of open transactions are between `end` and `high`.
    """

    beginning: int
    end: int
    high: int


@dataclass(frozen=True)
class TopicOffsets:
    """A topic as it is now: its id, and its partitions by number.

    Where brokers give topics none (before 2.8, and some that only speak Kafka's protocol), the id is `of_cluster`.
    """

    id: str
    partitions: tuple[PartitionOffsets, ...]


class Cause(StrEnum):
    """Why messages that have not been read are gone."""

    EXPIRED = "expired"
    """They were deleted, by retention or by request."""

    RECREATED = "recreated"
    """The topic was deleted, and one of its name was created."""

    TRUNCATED = "truncated"
    """The partition ends before what has been read."""

    VANISHED = "vanished"
    """A topic of a pattern is not there: brokers do not tell one that is deleted from one that is hidden."""


@dataclass(frozen=True)
class Loss:
    """Offsets of a partition that can not be read any more; without `last` it is not known how many there were.

    Of a topic that vanished the place is the topic, and `first` the lowest of its partitions.
    """

    place: TopicPartition | str
    cause: Cause
    first: int
    last: int | None = None

    @property
    def topic(self) -> str:
        """The topic that they are of."""
        return self.place if isinstance(self.place, str) else self.place.topic

    @property
    def count(self) -> int:
        """How many offsets are known to be lost."""
        return 0 if self.last is None else self.last - self.first + 1

    def __str__(self) -> str:
        match self.cause:
            case Cause.EXPIRED:
                return f"{self.place}: {self.first}..{self.last}"
            case Cause.RECREATED:
                return f"{self.place}: from {self.first} on, of the topic that was deleted"
            case Cause.TRUNCATED:
                return f"{self.place}: some before {self.first}, which is beyond the partition's end"
            case Cause.VANISHED:
                return f"{self.place}: any from {self.first} on, of the topic that is deleted or hidden"


@dataclass(frozen=True)
class Range:
    """What a run reads of a partition: from `start` up to, and without, `until`."""

    place: TopicPartition
    start: int
    until: int


@dataclass(frozen=True)
class Standing:
    """Where reading continues in every partition, what was lost before that, and which topics are gone then."""

    next: Mapping[TopicPartition, int]
    losses: tuple[Loss, ...] = ()
    gone: frozenset[str] = frozenset()


def standing(
    progress: Mapping[str, TopicProgress],
    topics: Mapping[str, TopicOffsets],
    starts: Mapping[TopicPartition, int],
    *,
    matched: Collection[str] = (),
    gone: Collection[str] = (),
) -> Standing:
    """Return where reading continues; `starts` are the beginnings of topics of which nothing has been read.

    Topics that have been read and are `matched` by a pattern are lost where they are not there, unless they have been
    reported as `gone`. One that is back continues where it was if its id says that it is the same, and else from its
    beginning; its loss is then reported once more only where it may have been read in part.
    """
    missing = {name for name in matched if name not in topics}
    losses = [Loss(name, Cause.VANISHED, min(progress[name].next, default=0)) for name in sorted(missing - set(gone))]
    following: dict[TopicPartition, int] = {}
    for name, topic in sorted(topics.items()):
        before = progress.get(name)
        other = before is not None and is_another(before, topic)
        again = other or (before is not None and name in gone and not is_same(before, topic))
        for number, offsets in enumerate(topic.partitions):
            place = TopicPartition(name, number)
            if before is None:
                expected = starts[place]
            elif again or number >= len(before.next):
                expected = 0  # the partition is new, and nothing of it has been read
            else:
                expected = before.next[number]
            lost = _lost(place, expected, offsets)
            losses += lost
            following[place] = offsets.beginning if lost else expected
        if before is not None and again and not (other and name in gone):
            losses += [
                Loss(TopicPartition(name, number), Cause.RECREATED, offset) for number, offset in enumerate(before.next)
            ]
    return Standing(following, tuple(losses), frozenset(gone) - topics.keys() | missing)


def _lost(place: TopicPartition, expected: int, offsets: PartitionOffsets) -> list[Loss]:
    if expected > offsets.high:
        return [Loss(place, Cause.TRUNCATED, expected)]
    if expected < offsets.beginning:
        return [Loss(place, Cause.EXPIRED, expected, offsets.beginning - 1)]
    return []


def is_another(before: TopicProgress, topic: TopicOffsets) -> bool:
    """Tell whether the topic is not the one that has been read; partitions are never taken from a topic."""
    return differ(before.id, topic.id) or len(topic.partitions) < len(before.next)


def is_same(before: TopicProgress, topic: TopicOffsets) -> bool:
    """Tell whether the topic is certainly the one that has been read, which only an id of its own can say."""
    return bool(topic.id) and topic.id == before.id and not topic.id.startswith(_CLUSTER)


def of_cluster(cluster: str) -> str:
    """Return what stands for the id of a topic that has none: which cluster it is in, or nothing where that is unknown.

    So the offsets of a topic are not taken for those of one with the same name in another cluster.
    """
    return f"{_CLUSTER}{cluster}" if cluster else ""


def differ(one: str, other: str) -> bool:
    """Tell whether two ids are of different topics; brokers that give ids since an upgrade do not say so."""
    return bool(one and other) and one != other and one.startswith(_CLUSTER) == other.startswith(_CLUSTER)


def ranges(
    following: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: int | None
) -> tuple[Range, ...]:
    """Return what a run reads: everything, or `most` offsets, and one at least, spread by what partitions have left."""
    left = {place: ends[place] - start for place, start in sorted(following.items()) if ends[place] > start}
    return tuple(
        Range(place, following[place], following[place] + share) for place, share in shares(left, most).items() if share
    )


def shares(left: Mapping[TopicPartition, int], most: int | None) -> dict[TopicPartition, int]:
    """Divide `most` among partitions in proportion to what they have left; where it suffices, each has one at least."""
    total = sum(left.values())
    if most is None or total <= max(most, 1):
        return dict(left)
    most = max(most, 1)
    if most < len(left):
        first = sorted(left, key=lambda place: (-left[place], place))[:most]
        return {place: int(place in set(first)) for place in left}
    # One each, and the rest in proportion to what is left then.
    rest, whole = most - len(left), total - len(left)
    parts = {place: (lag - 1) * rest // whole for place, lag in left.items()}
    missing = rest - sum(parts.values())
    by_remainder = sorted(left, key=lambda place: (-((left[place] - 1) * rest % whole), place))
    for place in by_remainder[:missing]:
        parts[place] += 1
    return {place: part + 1 for place, part in parts.items()}


def after(
    progress: Mapping[str, TopicProgress],
    topics: Mapping[str, TopicOffsets],
    following: Mapping[TopicPartition, int],
    read: Sequence[Range],
) -> dict[str, TopicProgress]:
    """Return how far topics are read once the ranges are; those that the source does not name now stay as they were."""
    reached = {**following, **{one.place: one.until for one in read}}
    return {
        **progress,
        **{
            name: TopicProgress(topic.id, tuple(reached[TopicPartition(name, n)] for n in range(len(topic.partitions))))
            for name, topic in topics.items()
        },
    }
