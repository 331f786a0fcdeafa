"""Offsets as plain values: positions, the ranges of a run, and the messages that vanished before they could be read."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from hudi_jobs.context import TaskContext

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
    """A topic's id when it was read, as in `TopicOffsets`, and each partition's next offset."""

    id: str
    next: tuple[int, ...]


@dataclass(frozen=True)
class PartitionOffsets:
    """A partition's offsets: from `beginning` to `end`, the limit for readers with this isolation.

    `high` is the end regardless of isolation: messages of open transactions lie between `end` and `high`.
    """

    beginning: int
    end: int
    high: int


@dataclass(frozen=True)
class TopicOffsets:
    """A topic's current id, and its partitions by number.

    If brokers give topics no id (before 2.8, and some that only speak Kafka's protocol), the id is `of_cluster`.
    """

    id: str
    partitions: tuple[PartitionOffsets, ...]


class Cause(StrEnum):
    """Why unread messages are gone."""

    EXPIRED = "expired"
    """Deleted by retention or by request."""

    RECREATED = "recreated"
    """The topic was deleted and recreated."""

    TRUNCATED = "truncated"
    """The partition ends before the offset already read."""

    VANISHED = "vanished"
    """A pattern's topic is missing: brokers do not tell a deleted topic from a hidden one."""


@dataclass(frozen=True)
class Loss:
    """Offsets of a partition that can no longer be read; without `last`, their number is unknown.

    For a vanished topic, the place is the topic, and `first` the lowest offset of its partitions.
    """

    place: TopicPartition | str
    cause: Cause
    first: int
    last: int | None = None

    @property
    def topic(self) -> str:
        """The topic of the offsets."""
        return self.place if isinstance(self.place, str) else self.place.topic

    @property
    def count(self) -> int:
        """The number of offsets known to be lost."""
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
    """A run's range in a partition: from `start` up to, excluding, `until`."""

    place: TopicPartition
    start: int
    until: int


@dataclass(frozen=True)
class Standing:
    """The next offset of every partition, the losses before it, and the vanished topics."""

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
    """Return where reading continues; `starts` are the beginnings of topics not read before.

    Read topics that are `matched` by a pattern but missing are lost, unless already reported as `gone`. A returning
    topic continues at its old position if its id proves it the same, and otherwise from its beginning; its loss is
    reported again only if it may have been read in part.
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
                expected = 0  # the partition is new and unread
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
    """Tell whether the topic differs from the topic read before; a topic never loses partitions."""
    return differ(before.id, topic.id) or len(topic.partitions) < len(before.next)


def is_same(before: TopicProgress, topic: TopicOffsets) -> bool:
    """Tell whether the topic is certainly the topic read before, which only its own id can prove."""
    return bool(topic.id) and topic.id == before.id and not topic.id.startswith(_CLUSTER)


def of_cluster(cluster: str) -> str:
    """Return a substitute id for a topic without an id: its cluster, or an empty text if unknown.

    So its offsets are not mistaken for those of a topic with the same name in another cluster.
    """
    return f"{_CLUSTER}{cluster}" if cluster else ""


def differ(one: str, other: str) -> bool:
    """Tell whether two ids denote different topics; brokers with ids since an upgrade do not prove that."""
    return bool(one and other) and one != other and one.startswith(_CLUSTER) == other.startswith(_CLUSTER)


def ranges(
    following: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int], most: int | None
) -> tuple[Range, ...]:
    """Return a run's ranges: everything, or `most` offsets (at least 1), spread by the partitions' backlogs."""
    left = {place: ends[place] - start for place, start in sorted(following.items()) if ends[place] > start}
    return tuple(
        Range(place, following[place], following[place] + share) for place, share in shares(left, most).items() if share
    )


def shares(left: Mapping[TopicPartition, int], most: int | None) -> dict[TopicPartition, int]:
    """Divide `most` among partitions by backlog; each gets at least 1 if it suffices."""
    total = sum(left.values())
    if most is None or total <= max(most, 1):
        return dict(left)
    most = max(most, 1)
    if most < len(left):
        first = sorted(left, key=lambda place: (-left[place], place))[:most]
        return {place: int(place in set(first)) for place in left}
    # One each, and the rest in proportion to the remaining backlog.
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
    """Return the topics' progress after the ranges; topics that the source no longer names stay unchanged."""
    reached = {**following, **{one.place: one.until for one in read}}
    return {
        **progress,
        **{
            name: TopicProgress(topic.id, tuple(reached[TopicPartition(name, n)] for n in range(len(topic.partitions))))
            for name, topic in topics.items()
        },
    }


NAMED_LOSSES = 5
LOGGED_LOSSES = 1_000
"""The most losses to log per check of the topics; results and status name a few of them."""

_EXPLAINED = {
    Cause.EXPIRED: "They were deleted by the retention of the topic or by request.",
    Cause.RECREATED: "A topic was deleted and created again, or the brokers belong to another cluster, so the "
    "offsets are those of another topic.",
    Cause.TRUNCATED: "A partition ends before what has been read, as after the election of an unclean leader.",
    Cause.VANISHED: "A topic of the pattern that has been read is deleted, or hidden from the job: how many of its "
    "messages were not read is not known.",
}


def log_losses(context: TaskContext, losses: Sequence[Loss]) -> None:
    """Log every loss, whether the run skips it or is refused: only the log names them all."""
    for loss in losses[:LOGGED_LOSSES]:
        context.log("messages are gone before they could be read", lost=str(loss), cause=loss.cause.value)
    if len(losses) > LOGGED_LOSSES:
        context.log("more messages are gone than the log names", ranges=len(losses) - LOGGED_LOSSES)


def named(losses: Sequence[Loss]) -> str:
    """Return the number of offsets known to be lost, and the first losses."""
    shown = ", ".join(str(loss) for loss in losses[:NAMED_LOSSES])
    more = f", and {len(losses) - NAMED_LOSSES:,} more" if len(losses) > NAMED_LOSSES else ""
    return f"{sum(loss.count for loss in losses):,} known offsets; {shown}{more}"


def refusal(losses: Sequence[Loss]) -> str:
    """Return why a run that may lose nothing ends, and the remedy."""
    causes = {loss.cause for loss in losses}
    lead = "Messages that have not been read are no longer in the topic"
    advice = "Nothing was written; to continue without them, set onDataLoss to Skip."
    if Cause.VANISHED in causes:
        advice = (
            "Nothing was written. If the topic is only hidden, let the job describe it. To continue without what is "
            "gone, set onDataLoss to Skip; the next run reports it once, and after that Fail can be set again."
        )
    if causes == {Cause.VANISHED}:
        lead = "Messages that have not been read may be gone with their topic"
    return f"{lead} ({named(losses)}). {_explained(losses)} {advice}"


def passed_over(losses: Sequence[Loss]) -> str:
    """Return the message of a run that continues without these messages; empty without losses."""
    if not losses:
        return ""
    return f"Gone before they could be read: {named(losses)}. {_explained(losses)}"


def _explained(losses: Sequence[Loss]) -> str:
    causes = {loss.cause for loss in losses}
    return " ".join(text for cause, text in _EXPLAINED.items() if cause in causes)
