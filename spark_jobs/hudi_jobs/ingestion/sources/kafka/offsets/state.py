"""A Kafka source's checkpoint: each topic's id, and each partition's next offset."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hudi_jobs.contract import CHECKPOINT_LIMIT, Checkpoint, FailureReason
from hudi_jobs.contract.wording import counted
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.checkpoint import encode_checkpoint, understood
from hudi_jobs.ingestion.sources.kafka.offsets.ranges import TopicProgress

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
