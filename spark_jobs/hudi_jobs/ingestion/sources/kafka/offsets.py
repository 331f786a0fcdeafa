"""Offsets as plain values: where reading stands, what has been lost since, and what a run reads."""

from collections.abc import Mapping, Sequence
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


@dataclass(frozen=True)
class Loss:
    """Offsets of a partition that can not be read any more; without `last` it is not known how many there were."""

    place: TopicPartition
    cause: Cause
    first: int
    last: int | None = None

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


@dataclass(frozen=True)
class Range:
    """What a run reads of a partition: from `start` up to, and without, `until`."""

    place: TopicPartition
    start: int
    until: int


@dataclass(frozen=True)
class Standing:
    """Where reading continues in every partition, and what was lost before that."""

    next: Mapping[TopicPartition, int]
    losses: tuple[Loss, ...] = ()


def standing(
    progress: Mapping[str, TopicProgress],
    topics: Mapping[str, TopicOffsets],
    starts: Mapping[TopicPartition, int],
) -> Standing:
    """Return where reading continues; `starts` are the beginnings of topics of which nothing has been read."""
    following: dict[TopicPartition, int] = {}
    losses: list[Loss] = []
    for name, topic in sorted(topics.items()):
        before = progress.get(name)
        again = before is not None and is_another(before, topic)
        for number, offsets in enumerate(topic.partitions):
            place = TopicPartition(name, number)
            if before is None:
                expected = starts[place]
            elif again or number >= len(before.next):
                expected = 0  # the partition is new, and nothing of it has been read
            else:
                expected = before.next[number]
            if expected > offsets.high:
                losses.append(Loss(place, Cause.TRUNCATED, expected))
                expected = offsets.beginning
            elif expected < offsets.beginning:
                losses.append(Loss(place, Cause.EXPIRED, expected, offsets.beginning - 1))
                expected = offsets.beginning
            following[place] = expected
        if before is not None and again:
            gone = [TopicPartition(name, number) for number in range(len(before.next))]
            losses += [Loss(place, Cause.RECREATED, before.next[place.partition]) for place in gone]
    return Standing(following, tuple(losses))


def is_another(before: TopicProgress, topic: TopicOffsets) -> bool:
    """Tell whether the topic is not the one that has been read; partitions are never taken from a topic."""
    return differ(before.id, topic.id) or len(topic.partitions) < len(before.next)


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
    if most is None or total <= most:
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
