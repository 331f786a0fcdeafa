"""Kafka as a source: reads the messages after the committed offsets, as a bounded batch."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from itertools import chain
from typing import Any

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    Checkpoint,
    DataLossPolicy,
    FailureReason,
    IngestionTableTask,
    IngestionTask,
    KafkaSource,
    OffsetReset,
)
from hudi_jobs.contract.wording import counted
from hudi_jobs.ingestion.batch import Figures, InputBatch, Limit, Undone, of_milliseconds, rfc3339
from hudi_jobs.ingestion.checkpoint import sweep_periodically
from hudi_jobs.ingestion.rows import SourceRows, nothing
from hudi_jobs.ingestion.sources.kafka.clients import Brokers, asking, require_files
from hudi_jobs.ingestion.sources.kafka.formats.format_registry import unwrapper_of
from hudi_jobs.ingestion.sources.kafka.formats.protocol import Unwrapper
from hudi_jobs.ingestion.sources.kafka.message_rows import read_rows
from hudi_jobs.ingestion.sources.kafka.offset_state import KIND, KafkaProgress, not_again, require_growing_offsets
from hudi_jobs.ingestion.sources.kafka.offsets import (
    NAMED_LOSSES,
    PartitionOffsets,
    Range,
    Standing,
    TopicOffsets,
    TopicPartition,
    after,
    differ,
    log_losses,
    passed_over,
    ranges,
    refusal,
    standing,
)
from hudi_jobs.ingestion.sources.kafka.request import matching, require_request, with_table_columns
from hudi_jobs.ingestion.sources.kafka.topics import average_size, oldest_time, require_deletes_kept, starting_points
from hudi_jobs.phases import Phase, reach
from hudi_jobs.spark.failures import TaskFailed


class Kafka:
    """The topics of a task."""

    def __init__(self, context: TaskContext, task: IngestionTask) -> None:
        if not isinstance(task.source, KafkaSource):
            raise TypeError(task.source.kind)
        self._context = context
        self._task = task
        self._source: KafkaSource = with_table_columns(task.source, task, context.task.table)
        require_request(task, self._source, context.task.table)

    def _reading(self) -> TaskContext[IngestionTableTask]:
        """Return the context of the ingestion; an operation only asks what can still be read."""
        task = self._context.task
        if not isinstance(task, IngestionTableTask):
            raise TypeError(task.service)
        return self._context.of(task)

    def fetch_next(self, checkpoint: Checkpoint | None, limit: Limit) -> InputBatch:
        """Return the messages after the checkpoint, within the limit and up to the current ends."""
        before = KafkaProgress.of(checkpoint)
        require_files(self._source)
        asked_at = datetime.now(UTC)
        with Brokers.reached(self._context.spark, self._source) as brokers:
            topics = brokers.topics(self._names(brokers))
            starts = starting_points(brokers, self._source, topics, before)
            cluster = brokers.cluster()
            require_deletes_kept(brokers, self._source, topics)
        found = self._standing(before, topics, starts)
        log_losses(self._context, found.losses)
        self._require_whole(found)
        require_growing_offsets(self._task, self._context.task.table, before.topics, topics, found.losses)
        read, rows = self._read(found, topics, limit, before.events)
        reach(Phase.LISTED)
        reached = after(before.topics, topics, found.next, read)
        figures = self._figures(found, topics, read, asked_at)
        pins = self._pins(before, topics)
        # Record a returning topic at once: if it vanishes again, its content by then is another loss.
        if not read and not found.losses and not pins and found.gone == before.gone:
            remark = f"No new messages in {counted(len(topics), 'topic')}."
            return InputBatch(None, checkpoint, figures=figures, contents="0 messages", remark=remark)
        name = f"kafka {cluster}: {', '.join(sorted(topics))}"
        if rows is None and pins:
            rows = read_rows(self._reading(), self._of(topics), (), before.events)
        events, remark = (before.events, "") if rows is None else (rows.events, rows.remark)
        write = nothing if rows is None else rows.before_commit
        progress = before.advanced(source=name, topics=reached, events=events, gone=found.gone)
        following = progress.checkpoint({one: reached[one] for one in topics})
        return InputBatch(
            rows=rows,
            checkpoint=following,
            has_backlog=figures["backlog_records"] > 0,
            must_be_kept=pins,
            figures=figures,
            contents=_contents(read),
            remark=" ".join(filter(None, (passed_over(found.losses), remark))),
            before_commit=partial(self._record, topics, write),
            after_commit=partial(self._sweep, following),
        )

    def not_again(self, undone: Undone) -> str:
        """Return a sentence on read messages that are gone, or may not be read again."""
        at = KafkaProgress.of(undone.at)
        require_files(self._source)
        with Brokers.reached(self._context.spark, self._source) as brokers:
            topics = brokers.topics(self._names(brokers))
            starts = starting_points(brokers, self._source, topics, at)
        losses = self._standing(at, topics, starts).losses
        log_losses(self._context, losses)
        # The progresses may be many, and their event states large.
        going = (replace(KafkaProgress.of(one), events={}) for one in chain((undone.newest,), undone.going))
        return not_again(at, going, topics=topics, starts=starts, losses=losses)

    def _standing(
        self, before: KafkaProgress, topics: Mapping[str, TopicOffsets], starts: Mapping[TopicPartition, int]
    ) -> Standing:
        pattern = self._source.topic_pattern
        matched = () if pattern is None else matching(pattern, list(before.topics))
        return standing(before.topics, topics, starts, matched=matched, gone=before.gone)

    def _names(self, brokers: Brokers) -> list[str]:
        if self._source.topic_pattern is None:
            return sorted(self._source.topics)
        names = matching(self._source.topic_pattern, brokers.names())
        if not names:
            raise TaskFailed(
                FailureReason.SOURCE_NOT_FOUND,
                f"No topic visible to the job matches the pattern {self._source.topic_pattern}.",
            )
        return names

    def _of(self, topics: Iterable[str]) -> KafkaSource:
        """Return the source with the topics matched by its pattern."""
        return self._source.copy_with(topics=tuple(sorted(topics)), topic_pattern=None)

    def _require_whole(self, found: Standing) -> None:
        if found.losses and self._source.on_data_loss is DataLossPolicy.FAIL:
            raise TaskFailed(FailureReason.INPUT_LOST, refusal(found.losses))

    def _read(
        self, found: Standing, topics: Mapping[str, TopicOffsets], limit: Limit, events: Mapping[str, Any]
    ) -> tuple[tuple[Range, ...], SourceRows | None]:
        """Return the ranges to read, and their rows.

        Ranges may hold only transaction markers and tombstones. If the rows then have no columns, more is read, because
        a table without columns could not store the checkpoint.
        """
        ends = {place: _of(topics, place).end for place in found.next}
        most = self._most(found, ends, limit)
        while True:
            read = ranges(found.next, ends, most)
            if not read:
                return (), None
            size = sum(one.until - one.start for one in read)
            self._context.log("reading", partitions=len(read), offsets=size)
            rows = read_rows(self._reading(), self._of(topics), read, events)
            whole = most is None or all(ends[one.place] == one.until for one in read)
            if rows.columns or whole:
                return read, rows
            with rows.reading():
                if not rows.with_content.isEmpty():
                    return read, rows
            most = size * 4

    def _most(self, found: Standing, ends: Mapping[TopicPartition, int], limit: Limit) -> int | None:
        """Return the most offsets for a run; a byte limit is estimated from sampled messages."""
        following = {place: start for place, start in found.next.items() if ends[place] > start}
        bounds = [] if limit.items is None else [limit.items]
        if limit.size is not None and following:
            bounds.append(limit.size // average_size(self._context.spark, self._source, following, ends))
        return max(min(bounds), 1) if bounds else None

    def _figures(
        self, found: Standing, topics: Mapping[str, TopicOffsets], read: tuple[Range, ...], asked_at: datetime
    ) -> Figures:
        reached = {**found.next, **{one.place: one.until for one in read}}
        backlog = sum(max(_of(topics, place).end - offset, 0) for place, offset in reached.items())
        waiting = {place: offset for place, offset in reached.items() if _of(topics, place).high > offset}
        figures = Figures(
            backlog_records=backlog,
            records_skipped=sum(loss.count for loss in found.losses),
            skipped=tuple(str(loss) for loss in found.losses[:NAMED_LOSSES]),
        )
        oldest = oldest_time(self._context.spark, self._source, waiting) if waiting else None
        if not waiting:
            figures["complete_up_to"] = rfc3339(asked_at)
        elif oldest is not None:
            figures["complete_up_to"] = rfc3339(min(asked_at, of_milliseconds(oldest)))
        return figures

    def _pins(self, before: KafkaProgress, topics: Mapping[str, TopicOffsets]) -> bool:
        """Tell whether a topic begins at its current end, which must be stored so that no later message is missed."""
        start = self._source.starting_offsets
        latest = start.reset is OffsetReset.LATEST and start.timestamp is None
        return latest and any(name not in before.topics for name in topics)

    def _record(self, topics: Mapping[str, TopicOffsets], write: Callable[[], None]) -> None:
        self._require_same(topics)
        write()

    def _sweep(self, checkpoint: Checkpoint) -> None:
        unwrapper = unwrapper_of(self._source)
        if unwrapper is not None:
            sweep_periodically(self._context, checkpoint, "records of change events", partial(self._remove, unwrapper))

    def _remove(self, unwrapper: Unwrapper, checkpoints: Iterable[Checkpoint]) -> int:
        ours = (each for each in checkpoints if each.kind == KIND)
        return unwrapper.remove_unnamed(self._context, [KafkaProgress.of(each).events for each in ours])

    def _require_same(self, topics: Mapping[str, TopicOffsets]) -> None:
        """Raise `TaskFailed` if a topic was replaced while it was read."""
        with (
            asking("The topics cannot be checked again before the commit"),
            Brokers.reached(self._context.spark, self._source) as brokers,
        ):
            now = brokers.ids(sorted(topics))
        changed = [name for name, topic in topics.items() if differ(now[name], topic.id)]
        if changed:
            raise TaskFailed(
                FailureReason.INPUT_LOST,
                f"The topic {changed[0]} was deleted and created again while it was read; nothing was written.",
            )


def _of(topics: Mapping[str, TopicOffsets], place: TopicPartition) -> PartitionOffsets:
    return topics[place.topic].partitions[place.partition]


def _contents(read: tuple[Range, ...]) -> str:
    return f"{counted(len(read), 'partition')} with {counted(sum(one.until - one.start for one in read), 'offset')}"
