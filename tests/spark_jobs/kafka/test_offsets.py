"""Which offsets a run reads: pure values."""

from itertools import pairwise
from types import SimpleNamespace
from typing import cast
from unittest.mock import MagicMock

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hudi_jobs.contract import CHECKPOINT_LIMIT, Checkpoint, FailureReason, Isolation, KafkaSource, StartingOffsets
from hudi_jobs.ingestion.checkpoint import decode_checkpoint, encode_checkpoint
from hudi_jobs.ingestion.sources.kafka.clients import Brokers
from hudi_jobs.ingestion.sources.kafka.offset_state import KafkaProgress, display
from hudi_jobs.ingestion.sources.kafka.offsets import (
    LOGGED_LOSSES,
    Cause,
    Loss,
    PartitionOffsets,
    TopicOffsets,
    TopicPartition,
    TopicProgress,
    after,
    log_losses,
    of_cluster,
    passed_over,
    ranges,
    refusal,
    shares,
    standing,
)
from hudi_jobs.ingestion.sources.kafka.topics import starting_points
from hudi_jobs.spark.failures import TaskFailed

PLACES = [TopicPartition("orders", number) for number in range(6)]
LAGS = st.dictionaries(st.sampled_from(PLACES), st.integers(1, 10**12), min_size=1)
OFFSETS = st.integers(0, 1000)


def topic(*partitions: tuple[int, int], identity: str = "one", open_from: int | None = None) -> TopicOffsets:
    return TopicOffsets(
        identity,
        tuple(
            PartitionOffsets(first, end if open_from is None else min(end, open_from), end) for first, end in partitions
        ),
    )


def place(number: int, name: str = "orders") -> TopicPartition:
    return TopicPartition(name, number)


@given(LAGS, st.none() | st.integers(0, 10**13))
def test_a_run_reads_as_much_as_it_may_and_one_offset_at_least(
    lags: dict[TopicPartition, int], most: int | None
) -> None:
    divided = shares(lags, most)
    total = sum(lags.values())
    assert divided.keys() == lags.keys()
    assert all(0 <= divided[one] <= lags[one] for one in lags)
    assert sum(divided.values()) == (total if most is None else min(max(most, 1), total))
    if most is None or most >= len(lags):
        assert all(divided.values()), "no partition starves"


@given(LAGS, st.integers(1, 10**6))
def test_shares_are_in_proportion_to_what_partitions_have_left(lags: dict[TopicPartition, int], most: int) -> None:
    divided = shares(lags, most)
    by_lag = [divided[one] for one in sorted(lags, key=lambda one: lags[one])]
    assert all(more >= less - 1 for less, more in pairwise(by_lag))


@st.composite
def histories(draw: st.DrawFn) -> tuple[TopicProgress | None, TopicOffsets, dict[TopicPartition, int]]:
    """A topic as it was read and as it is now, in any relation."""
    now = []
    for _ in range(draw(st.integers(1, 4))):
        beginning, end, high = sorted(draw(st.tuples(OFFSETS, OFFSETS, OFFSETS)))
        now.append(PartitionOffsets(beginning, end, high))
    found = TopicOffsets(draw(st.sampled_from(["one", "two", ""])), tuple(now))
    read = draw(st.none() | st.lists(OFFSETS, min_size=1, max_size=4))
    before = None if read is None else TopicProgress(draw(st.sampled_from(["one", ""])), tuple(read))
    return before, found, {place(number): draw(OFFSETS) for number in range(len(now))}


@given(histories(), st.none() | st.integers(0, 500))
@example((None, TopicOffsets("one", (PartitionOffsets(0, 1, 1),)), {TopicPartition("orders", 0): 0}), 0)
def test_no_offset_is_passed_over_without_being_read_before_read_now_or_reported(
    history: tuple[TopicProgress | None, TopicOffsets, dict[TopicPartition, int]], most: int | None
) -> None:
    before, now, starts = history
    progress = {} if before is None else {"orders": before}
    found = standing(progress, {"orders": now}, starts)
    ends = {one: now.partitions[one.partition].end for one in found.next}
    read = ranges(found.next, ends, most)
    reached = after(progress, {"orders": now}, found.next, read)["orders"]
    assert len(reached.next) == len(now.partitions)
    replaced = any(loss.cause is Cause.RECREATED for loss in found.losses)
    taken = {one.place: one for one in read}
    for number, offsets in enumerate(now.partitions):
        here = place(number)
        known = before.next[number] if before is not None and number < len(before.next) and not replaced else None
        expected = known if known is not None else 0 if before is not None else starts[here]
        lost = [loss for loss in found.losses if loss.place == here and loss.cause is not Cause.RECREATED]
        if expected > offsets.high:
            assert [loss.cause for loss in lost] == [Cause.TRUNCATED]
            expected = offsets.beginning
        elif expected < offsets.beginning:
            assert [(loss.cause, loss.first, loss.last) for loss in lost] == [
                (Cause.EXPIRED, expected, offsets.beginning - 1)
            ]
            expected = offsets.beginning
        else:
            assert not lost
        one = taken.get(here)
        assert reached.next[number] == (expected if one is None else one.until)
        assert one is None or (one.start == expected < one.until <= offsets.end)
    if any(ends[one] > found.next[one] for one in ends):
        assert read, "progress"


def test_expired_offsets_are_named() -> None:
    found = standing({"orders": TopicProgress("one", (100, 5))}, {"orders": topic((200, 300), (0, 9))}, {})
    assert found.next == {place(0): 200, place(1): 5}
    assert [(str(loss), loss.count) for loss in found.losses] == [("orders-0: 100..199", 100)]


@pytest.mark.parametrize(
    "now", [topic((0, 10), (0, 10), identity="two"), topic((0, 10), (0, 10), (0, 10), identity="two")]
)
def test_another_topic_of_the_name_is_read_from_its_earliest(now: TopicOffsets) -> None:
    found = standing({"orders": TopicProgress("one", (5, 6))}, {"orders": now}, {})
    assert set(found.next.values()) == {0}
    assert [loss.cause for loss in found.losses] == [Cause.RECREATED] * 2


def test_fewer_partitions_mean_another_topic_even_where_brokers_give_no_ids() -> None:
    found = standing({"orders": TopicProgress("", (5, 6))}, {"orders": topic((0, 10), identity="")}, {})
    assert found.next == {place(0): 0}
    assert {loss.cause for loss in found.losses} == {Cause.RECREATED}


def test_an_end_before_what_was_read_is_a_loss_and_an_open_transaction_is_none() -> None:
    before = {"orders": TopicProgress("one", (50,))}
    assert standing(before, {"orders": topic((0, 60), open_from=40)}, {}).losses == ()
    cut = standing(before, {"orders": topic((10, 40))}, {})
    assert (cut.next, [loss.cause for loss in cut.losses]) == ({place(0): 10}, [Cause.TRUNCATED])


def test_new_partitions_begin_at_their_earliest_and_what_they_have_lost_is_reported() -> None:
    found = standing({"orders": TopicProgress("one", (5,))}, {"orders": topic((0, 5), (0, 7), (3, 9))}, {})
    assert found.next == {place(0): 5, place(1): 0, place(2): 3}
    assert [str(loss) for loss in found.losses] == ["orders-2: 0..2"]


def test_the_checkpoint_keeps_topics_that_are_not_declared_now() -> None:
    before = {"returns": TopicProgress("r", (7,))}
    found = standing(before, {"orders": topic((0, 5))}, {place(0): 0})
    read = ranges(found.next, {place(0): 5}, None)
    progress = KafkaProgress(4, None, before).advanced(
        source="kafka", topics=after(before, {"orders": topic((0, 5))}, found.next, read)
    )
    written = encode_checkpoint(progress.checkpoint({"orders": progress.topics["orders"]}))
    again = KafkaProgress.of(decode_checkpoint(written))
    assert (again.sequence, again.topics) == (
        5,
        {"orders": TopicProgress("one", (5,)), "returns": TopicProgress("r", (7,))},
    )


def test_thousands_of_partitions_fit_and_too_many_are_refused_in_a_sentence() -> None:
    def written(partitions: int) -> str:
        offsets = {"orders": TopicProgress("x" * 22, (10**11,) * partitions)}
        return encode_checkpoint(KafkaProgress(1, "kafka", offsets).checkpoint(offsets))

    assert len(written(30_000)) < CHECKPOINT_LIMIT
    with pytest.raises(TaskFailed, match=r"50,000 partitions do not fit") as refused:
        written(50_000)
    assert refused.value.reason is FailureReason.INVALID_REQUEST


def test_state_of_change_events_is_not_dropped_for_partitions() -> None:
    offsets = {"orders": TopicProgress("x" * 22, (10**11,) * 30_000)}
    deleted = {f"{number:032x}": [number, 0] for number in range(4_000)}
    assert len(encode_checkpoint(KafkaProgress(1, "kafka", offsets).checkpoint(offsets))) < CHECKPOINT_LIMIT
    with pytest.raises(TaskFailed, match="change events, do not fit into a checkpoint"):
        KafkaProgress(1, "kafka", offsets, {"deleted": deleted}).checkpoint(offsets)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"topics": []},
        {"topics": {"a": []}},
        {"topics": {"a": ["x", [-1]]}},
        {"topics": {"a": ["x", ["1"]]}},
        {"topics": {"a": ["x", [2**70]]}},
        {"topics": {"a": ["x", [1]]}, "gone": ["b"]},
        {"topics": {"a": ["x", [1]]}, "gone": 1},
    ],
)
def test_a_state_that_this_release_does_not_write_is_refused(state: dict[str, object]) -> None:
    with pytest.raises(TaskFailed) as refused:
        KafkaProgress.of(Checkpoint("kafka", 1, state=state))
    assert refused.value.reason is FailureReason.TABLE_MISMATCH


def test_display_of_offsets_is_short() -> None:
    assert display({"orders": TopicProgress("x", (1204, 1310, 1300))}) == "orders: 3 partitions, offsets 1,204..1,310"
    many = {f"topic-{number}": TopicProgress("x", (number,)) for number in range(9)}
    assert display(many).endswith("topic-2: 1 partition, offsets 2..2; and 6 topics more")


@pytest.mark.parametrize(
    ("read", "now", "another"),
    [
        (of_cluster("a"), of_cluster("b"), True),
        (of_cluster("a"), of_cluster("a"), False),
        (of_cluster("a"), of_cluster(""), False),
        (of_cluster("a"), "id-since-an-upgrade", False),
        ("", of_cluster("a"), False),
        ("id-of-a-topic", "id-of-another", True),
    ],
)
def test_a_topic_without_an_id_is_told_by_its_cluster(read: str, now: str, another: bool) -> None:
    found = standing({"orders": TopicProgress(read, (5,))}, {"orders": topic((0, 10), identity=now)}, {})
    assert found.next == {place(0): 0 if another else 5}
    assert [loss.cause for loss in found.losses] == ([Cause.RECREATED] if another else [])


def test_a_message_that_comes_while_the_start_is_asked_for_is_no_loss() -> None:
    now = {"orders": topic((0, 10), (0, 10), (0, 10))}
    source = KafkaSource(
        bootstrap_servers="b:1", topics=("orders",), starting_offsets=StartingOffsets(timestamp="2026-11-01T00:00:00Z")
    )
    brokers = cast("Brokers", SimpleNamespace(at_time=lambda *_: {place(0): 12, place(1): 4, place(2): -1}))
    starts = starting_points(brokers, source, now, KafkaProgress())
    assert starts == {place(0): 10, place(1): 4, place(2): 10}
    assert standing({}, now, starts).losses == ()


@pytest.mark.parametrize("isolation", list(Isolation))
def test_a_time_is_looked_for_among_the_messages_that_are_read(
    isolation: Isolation, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[bool] = []

    def offsets(*_: object, committed: bool = False) -> dict[TopicPartition, int]:
        asked.append(committed)
        return {}

    monkeypatch.setattr(Brokers, "_offsets", offsets)
    source = KafkaSource(bootstrap_servers="b:1", topics=("orders",), isolation=isolation)
    Brokers(MagicMock(), source, MagicMock()).at_time([place(0)], 1)
    assert asked == [isolation is Isolation.READ_COMMITTED]


def test_a_topic_of_a_pattern_that_vanished_is_a_loss_until_it_has_been_reported() -> None:
    read = {"orders": TopicProgress("one", (5,)), "returns": TopicProgress("r", (7, 3))}
    now = {"orders": topic((0, 5))}
    found = standing(read, now, {}, matched=read)
    assert [(str(loss), loss.cause, loss.count) for loss in found.losses] == [
        ("returns: any from 3 on, of the topic that is deleted or hidden", Cause.VANISHED, 0)
    ]
    assert (found.next, found.gone) == ({place(0): 5}, frozenset({"returns"}))
    again = standing(read, now, {}, matched=read, gone=found.gone)
    assert (again.losses, again.gone) == ((), frozenset({"returns"}))
    assert standing(read, now, {}, matched=["orders"]) == standing(read, now, {}), "one that no pattern names"
    assert standing(read, now, {}, matched=["orders"], gone={"returns"}).gone == {"returns"}


OF_CLUSTER = of_cluster("a")


@pytest.mark.parametrize(
    ("read", "now", "continues_at", "causes"),
    [
        ("one", topic((0, 10), (0, 9)), 5, []),
        ("one", topic((6, 10), (0, 9)), 6, [Cause.EXPIRED]),
        ("one", topic((0, 10), (0, 9), identity="two"), 0, []),
        ("one", topic((2, 10), (0, 9), identity="two"), 2, [Cause.EXPIRED]),
        (of_cluster("b"), topic((0, 10), (0, 9), identity=OF_CLUSTER), 0, []),
        (OF_CLUSTER, topic((0, 10), (0, 9), identity=OF_CLUSTER), 0, [Cause.RECREATED] * 2),
        ("", topic((0, 10), (0, 9), identity=""), 0, [Cause.RECREATED] * 2),
        (OF_CLUSTER, topic((0, 10), (0, 9), identity="one"), 0, [Cause.RECREATED] * 2),
        (OF_CLUSTER, topic((0, 10), identity=OF_CLUSTER), 0, []),
    ],
)
def test_a_reported_topic_that_is_back_continues_only_where_its_id_says_that_it_is_the_same(
    read: str, now: TopicOffsets, continues_at: int, causes: list[Cause]
) -> None:
    before = {"orders": TopicProgress(read, (5, 6))}
    found = standing(before, {"orders": now}, {}, matched=before, gone={"orders"})
    assert found.next[place(0)] == continues_at
    assert [loss.cause for loss in found.losses] == causes
    assert not found.gone, "it is reported again when it vanishes again"


def test_the_checkpoint_remembers_which_topics_were_reported_and_where_they_were() -> None:
    topics = {"orders": TopicProgress("one", (5,)), "returns": TopicProgress("r", (7,))}
    progress = KafkaProgress(4, None, topics).advanced(source="kafka", topics=topics, gone=frozenset({"returns"}))
    again = KafkaProgress.of(decode_checkpoint(encode_checkpoint(progress.checkpoint(topics))))
    assert (again.gone, again.topics) == (frozenset({"returns"}), topics)
    assert "gone" not in KafkaProgress(4, None, topics).checkpoint(topics).state


def test_the_sentences_say_which_topics_vanished_and_what_to_do() -> None:
    vanished = [Loss(f"{name}.orders", Cause.VANISHED, 3) for name in "abcdefg"]
    text = refusal(vanished)
    assert text.startswith("Messages that have not been read may be gone with their topic (0 known offsets; a.orders: ")
    assert "e.orders: any from 3 on, of the topic that is deleted or hidden, and 2 more)" in text
    assert "how many of its messages were not read is not known" in text
    assert "let the job describe it" in text
    assert "set onDataLoss to Skip; the next run reports it once" in text
    both = refusal([*vanished, Loss(place(0), Cause.EXPIRED, 3, 7)])
    assert both.startswith("Messages that have not been read are no longer in the topic (5 known offsets; a.orders: ")
    assert "retention" in both
    assert "a.orders: any" in passed_over(vanished)
    assert "onDataLoss" not in passed_over(vanished)
    assert not passed_over([])


def test_every_range_that_is_gone_is_in_the_log_within_a_bound() -> None:
    losses = [Loss(TopicPartition("orders", number), Cause.EXPIRED, 3, 7) for number in range(LOGGED_LOSSES + 2)]
    for gone, more in ((losses[:7], []), (losses, [2])):
        context = MagicMock()
        log_losses(context, gone)
        fields = [call.kwargs for call in context.log.call_args_list]
        named = [each["lost"] for each in fields if "lost" in each]
        assert named == [f"orders-{number}: 3..7" for number in range(min(len(gone), LOGGED_LOSSES))]
        assert [each["ranges"] for each in fields if "ranges" in each] == more
