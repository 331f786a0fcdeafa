"""What a restore or a rollback would have read again, and when that is not certain: told by values alone."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.spark_jobs.kafka.test_offsets import place, topic

from hudi_jobs.contract import CHECKPOINT_KEY, Checkpoint, HudiSource, IngestionTask, StartingCommit
from hudi_jobs.ingestion.batch import Undone
from hudi_jobs.ingestion.checkpoint import encode_checkpoint
from hudi_jobs.ingestion.sources.hudi.commits import Removal, removed_since
from hudi_jobs.ingestion.sources.hudi.hudi_source import Hudi
from hudi_jobs.ingestion.sources.kafka.offset_state import KafkaProgress, not_again
from hudi_jobs.ingestion.sources.kafka.offsets import TopicOffsets, TopicPartition, TopicProgress, standing
from hudi_jobs.operations.checkpoints import checkpoint_to_commit, checkpoints_undone, other_kind
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table import Commit, HudiTable

FIRST, SECOND, THIRD = (Checkpoint("files", number) for number in (1, 2, 3))


@dataclass(frozen=True)
class Table:
    """The commits of the active timeline, the newest first, each with its checkpoint, and that of the archive."""

    active: Mapping[str, Checkpoint | None]
    archived: Checkpoint | None = None
    version: int = 9

    def commits(self) -> Iterator[Commit]:
        for instant, one in self.active.items():
            yield Commit(instant, {} if one is None else {CHECKPOINT_KEY: encode_checkpoint(one)})

    def archived_note(self, key: str) -> str | None:
        assert key == CHECKPOINT_KEY
        return None if self.archived is None else encode_checkpoint(self.archived)


def undone(table: Table, *removed: str) -> Undone | None:
    found = checkpoints_undone(cast("HudiTable", table), removed)
    return None if found is None else replace(found, going=tuple(found.going))


def to_commit(table: Table, known: Undone | None, *removed: str, reingest: bool = True) -> Checkpoint | None:
    return checkpoint_to_commit(cast("HudiTable", table), removed, known, reingest=reingest)


def test_the_checkpoints_that_go_are_named_with_the_one_that_counts_then() -> None:
    table = Table({"4": THIRD, "3": SECOND, "2": FIRST, "1": None})
    assert undone(table, "4") == Undone(SECOND, THIRD, (THIRD,))
    assert undone(table, "4", "3") == Undone(FIRST, THIRD, (THIRD, SECOND))
    assert undone(table, "4", "3", "2") == Undone(None, THIRD, (THIRD, SECOND, FIRST))


def test_the_checkpoint_of_the_archive_counts_where_none_stays() -> None:
    assert undone(Table({"4": THIRD, "3": SECOND, "2": None}, FIRST), "4", "3") == Undone(FIRST, THIRD, (THIRD, SECOND))


def test_nothing_was_read_for_commits_that_carry_the_checkpoint_over_or_none() -> None:
    assert undone(Table({"4": FIRST, "3": FIRST, "2": None}), "4") is None
    assert undone(Table({"4": FIRST, "2": None}, FIRST), "4") is None
    assert undone(Table({"4": None, "2": None}), "4") is None


def test_a_compaction_that_stays_does_not_keep_the_checkpoint_of_what_is_undone() -> None:
    """It completed beside commits that go, and was requested before them."""
    newest, between = Table({"0": THIRD, "4": THIRD, "3": SECOND, "2": FIRST}), {"4": THIRD, "0": SECOND, "3": SECOND}
    for table in (newest, Table({**between, "2": FIRST})):
        known = undone(table, "4", "3")
        assert known == Undone(FIRST, THIRD, (THIRD, SECOND))
        assert to_commit(table, known, "4", "3") == replace(FIRST, sequence=4)
        assert to_commit(table, known, "4", "3", reingest=False) == THIRD
    known = undone(Table(between), "4", "3")
    assert known == Undone(None, THIRD, (THIRD, SECOND))
    with pytest.raises(TaskFailed, match=r"A remaining compaction carries the checkpoint .* set reingest: false"):
        to_commit(Table(between), known, "4", "3")


def test_a_compaction_from_before_what_is_undone_keeps_its_checkpoint() -> None:
    table = Table({"4": THIRD, "3": SECOND, "0": FIRST, "2": FIRST})
    known = undone(table, "4", "3")
    assert known == Undone(FIRST, THIRD, (THIRD, SECOND))
    assert to_commit(table, known, "4", "3") is None
    assert to_commit(table, None, "4", "3") is None


def test_rows_of_another_kind_of_source_are_not_read_again() -> None:
    known, other = Undone(FIRST, THIRD, (THIRD, SECOND)), Checkpoint("kafka", 7)
    assert other_kind(known, "files") == ""
    assert other_kind(replace(known, at=None), "files") == ""
    for strange in (replace(known, at=other), replace(known, newest=other)):
        assert "from a source of the kind 'kafka'" in other_kind(strange, "files")


@dataclass(frozen=True)
class Read:
    """How far topics were read, and what they hold now; `first` is where those begin that were read later."""

    newest: Mapping[str, TopicProgress]
    now: Mapping[str, TopicOffsets]
    at: Mapping[str, TopicProgress] = field(default_factory=dict)
    first: Mapping[TopicPartition, int] = field(default_factory=dict)
    going: Sequence[Mapping[str, TopicProgress]] = ()
    gone: Sequence[int] = ()
    """The progresses, 0 for `at`, by which the topics were gone."""

    def missed(self, *, matched: bool = False) -> str:
        past = [self.progress(number, one) for number, one in enumerate((self.at, *self.going, self.newest))]
        found = standing(self.at, self.now, self.first, matched=self.at if matched else (), gone=past[0].gone)
        return not_again(past[0], past[:0:-1], topics=self.now, starts=self.first, losses=found.losses)

    def progress(self, number: int, topics: Mapping[str, TopicProgress]) -> KafkaProgress:
        return KafkaProgress(number, topics=topics, gone=frozenset(topics if number in self.gone else ()))


def one(*offsets: int, identity: str = "one") -> dict[str, TopicProgress]:
    return {"orders": TopicProgress(identity, offsets)}


READ = one(900)


@pytest.mark.parametrize(
    ("beginning", "start", "said"),
    [
        (0, 0, ""),
        (0, 1000, "orders-0 before offset 900, because reading begins at 1,000"),
        (500, 500, "orders-0 before offset 500, because reading begins at 500"),
        (500, 100, "orders-0: 100..499"),
        (0, 700, "orders-0 before offset 700, because reading begins at 700"),
    ],
    ids=["earliest with all", "latest", "earliest with some expired", "an expired offset", "a time or an offset"],
)
def test_a_topic_without_a_checkpoint_is_read_again_where_reading_begins_at_its_first_message(
    beginning: int, start: int, said: str
) -> None:
    now = {"orders": topic((beginning, 1000))}
    missed = Read(READ, now, first={place(0): start}).missed()
    assert (said in missed, bool(missed)) == (True, bool(said)), missed


def test_a_topic_of_which_nothing_was_read_may_begin_anywhere() -> None:
    now = {"orders": topic((5, 10)), "new": topic((3, 9))}
    starts = {place(0): 10, place(0, "new"): 9}
    assert Read(one(0), now, first=starts).missed() == ""


def test_a_topic_that_was_first_read_after_the_target_is_no_more_certain_than_the_first_one() -> None:
    at, newest = one(5), {**one(9), "late": TopicProgress("l", (40, 0))}
    for beginning, said in ((0, False), (7, True)):
        now = {"orders": topic((0, 9)), "late": topic((beginning, 50), (beginning, 50), identity="l")}
        missed = Read(newest, now, at, {place(n, "late"): beginning for n in range(2)}).missed()
        assert ("late-0 before offset 7" in missed, "late-1" in missed) == (said, False)


def test_what_has_expired_counts_only_where_it_was_read() -> None:
    now = {"orders": topic((8, 20)), "idle": topic((8, 20), identity="i")}
    at = {**one(5), "idle": TopicProgress("i", (2,))}
    missed = Read({**at, **one(12)}, now, at).missed()
    assert "3 known offsets; orders-0: 5..7" in missed
    assert "idle" not in missed


@pytest.mark.parametrize("at", [{}, one(5)], ids=["without a checkpoint", "with one"])
def test_a_topic_that_is_not_read_now_another_or_cut_off_is_not_read_again(at: dict[str, TopicProgress]) -> None:
    starts = {place(0): 0}
    assert "all of the topic orders, which the source does not read now" in Read(READ, {}, at).missed()
    another = {"orders": topic((0, 1000), identity="two")}
    assert "orders" in Read(READ, another, at, starts).missed()
    cut = {"orders": topic((0, 899))}
    assert "orders-0 before offset 900, which is beyond" in Read(READ, cut, at, starts).missed()
    assert Read(READ, {"orders": topic((0, 900))}, at, starts).missed() == ""


@pytest.mark.parametrize(
    "past",
    [one(7, identity="zero"), one(901, identity=""), one(7, 0, identity="")],
    ids=["by its id", "by an offset", "by its partitions"],
)
def test_a_topic_that_was_replaced_between_two_removed_commits_is_not_read_again_as_a_whole(
    past: dict[str, TopicProgress],
) -> None:
    now, starts = {"orders": topic((0, 1000))}, {place(0): 0}
    assert Read(READ, now, {}, starts).missed() == ""
    assert Read(READ, now, {}, starts, [one(30)]).missed() == ""
    assert "all of the topic orders, which was cut off" in Read(READ, now, {}, starts, [past]).missed()


@pytest.mark.parametrize(
    ("at", "going", "said"),
    [
        (100, (20, 120), True),
        (100, (20, 100), True),
        (100, (20,), True),
        (50, (100, 20, 120), True),
        (50, (100, 120), False),
        (100, (100, 120), False),
    ],
    ids=["grown beyond", "grown as far", "and no more", "after the target", "grown alone", "no news first"],
)
@pytest.mark.parametrize("identity", ["one", "@cluster", ""])
def test_a_topic_that_was_cut_off_after_the_target_is_not_read_again_however_far_it_has_grown_since(
    at: int, going: tuple[int, ...], said: bool, identity: str
) -> None:
    now = {"orders": topic((0, 150), identity=identity)}
    past = [one(number, identity=identity) for number in going]
    missed = Read(past[-1], now, one(at, identity=identity), going=past[:-1]).missed()
    assert ("all of the topic orders, which was cut off" in missed, bool(missed)) == (said, said), missed


def test_an_upgrade_of_the_brokers_does_not_hide_that_a_topic_was_replaced() -> None:
    now = {"orders": topic((0, 1000), identity="two")}
    past = [one(20, identity="one"), one(30, identity="")]
    assert "cut off" in Read(one(40, identity="two"), now, one(10, identity=""), going=past).missed()
    assert Read(one(40, identity="two"), now, one(10, identity=""), going=past[1:]).missed() == ""


@pytest.mark.parametrize(
    ("identity", "gone", "newest", "said"),
    [
        ("@cluster", (1,), 120, True),
        ("", (1,), 120, True),
        ("@cluster", (1, 2), 100, True),
        ("one", (1,), 120, False),
        ("one", (1, 2), 100, False),
    ],
    ids=[
        "back as another",
        "back without any id",
        "back and not read",
        "the same",
        "the same and not read",
    ],
)
def test_a_topic_that_was_gone_after_the_target_is_not_read_again_unless_its_id_is_the_same(
    identity: str, gone: tuple[int, ...], newest: int, said: bool
) -> None:
    now = {"orders": topic((0, 150), identity=identity)}
    at, later = one(100, identity=identity), one(newest, identity=identity)
    missed = Read(later, now, at, going=[at if 1 in gone else later], gone=gone).missed()
    assert ("all of the topic orders" in missed, bool(missed)) == (said, said), missed


@pytest.mark.parametrize(
    ("before", "going", "said"),
    [("zero", one(90), False), ("zero", one(5), True), ("one", one(20), True), ("@cluster", one(20), True)],
    ids=["another", "another that was cut off", "the same, cut off", "not known"],
)
def test_a_topic_that_was_gone_by_the_target_is_read_again_where_it_is_certainly_another(
    before: str, going: dict[str, TopicProgress], said: bool
) -> None:
    now = {"orders": topic((0, 150))}
    at = one(100, identity=before)
    missed = Read(going, now, at, going=[one(7)] if before == "zero" else [], gone=(0,)).missed()
    assert bool(missed) is said, missed


def test_a_topic_that_was_not_read_since_may_have_been_replaced() -> None:
    assert Read(one(5), {"orders": topic((0, 9), identity="two")}, one(5)).missed() == ""


def test_a_topic_of_the_pattern_that_vanished_counts_where_it_was_read_since() -> None:
    assert "orders: any from 5 on" in Read(READ, {}, one(5), {}).missed(matched=True)
    assert Read(one(5), {}, one(5), {}).missed(matched=True) == ""


def test_no_row_is_read_again_by_an_upstream_source_that_would_begin_at_its_end() -> None:
    context: Any = SimpleNamespace(task=SimpleNamespace(table=SimpleNamespace(base_path="s3a://lake/table")))
    task = IngestionTask(source=HudiSource(path="s3a://lake/orders", starting_commit=StartingCommit.LATEST))
    said = Hudi(context, task).not_again(Undone(None, Checkpoint("hudi", 1), ()))
    assert "startingCommit: Latest" in said


def test_upstream_rows_that_were_removed_since_are_not_read_again() -> None:
    assert removed_since([], "s3a://lake/orders") == ""
    said = removed_since([Removal("7", "DELETE", 3)], "s3a://lake/orders")
    assert "1 commit of s3a://lake/orders removed rows since they were read (3 of them counted): 7" in said
