"""Deletes that a checkpoint has no room for: they are in files, and older events bring nothing back all the same."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.formats.events import postgres
from tests.spark_jobs.formats.messages import Topic, rows_of, table, unwrapped
from tests.spark_jobs.trials import ALL, IN_FULL

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns import deleted, spilled
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns.deleted import KEPT_DELETED, MOST_DELETED
from hudi_jobs.ingestion.sources.kafka.formats.protocol import Decoded
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark


class Followed:
    """A table that is fed batch by batch: of each one the files are written, and the checkpoint is kept as JSON."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.base_path, self.events = spark, folder / "t", dict[str, Any]()

    def decoded(self, *events: Mapping[str, Any]) -> Decoded:
        topic = Topic(self.spark)
        topic.put(*events)
        return unwrapped(topic, events=self.events, base_path=str(self.base_path))

    def batch(self, *events: Mapping[str, Any]) -> list[tuple[Any, ...]]:
        """Return the rows that a batch writes, deletes among them as a key and a place."""
        result = self.decoded(*events)
        rows = table(rows_of(result), "id", "note", "_event_lsn")
        result.before_commit()
        self.events = json.loads(json.dumps(result.events))
        return rows

    @property
    def files(self) -> dict[str, int]:
        return dict(self.events.get("spilled", {}).get("files", {}))


@pytest.fixture
def followed(spark: SparkSession, tmp_path: Path) -> Followed:
    return Followed(spark, tmp_path)


def gone(number: int, lsn: int) -> dict[str, Any]:
    return postgres("d", {"id": number, "note": None}, lsn=lsn)


def came(number: int, lsn: int, note: str = "late") -> dict[str, Any]:
    return postgres("u", {"id": number, "note": note}, lsn=lsn)


def test_the_checkpoint_holds_the_newest_deletes_and_a_file_the_others(followed: Followed) -> None:
    followed.batch(*(gone(number, 1_000 + number) for number in range(MOST_DELETED)))
    assert (len(followed.events["deleted"]), followed.files) == (MOST_DELETED, {})
    assert not (followed.base_path / spilled.FOLDER).exists()

    followed.batch(gone(MOST_DELETED, 9_000))
    places = sorted(place for (place,) in followed.events["deleted"].values())
    assert places == [*range(2_001 - KEPT_DELETED, 2_000), 9_000]
    assert sum(followed.files.values()) == MOST_DELETED + 1 - KEPT_DELETED
    assert [one.name for one in (followed.base_path / spilled.FOLDER).iterdir()] == list(followed.files)

    assert followed.batch(came(0, 999), came(999, 1_998), came(5, 1_006, "new"), came(7_777, 5, "other")) == [
        (5, "new", 1_006),
        (7_777, "other", 5),
    ]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """As many deletes and files as make every few batches spill and merge."""
    monkeypatch.setattr(deleted, "MOST_DELETED", 4)
    monkeypatch.setattr(deleted, "KEPT_DELETED", 2)
    monkeypatch.setattr(spilled, "MOST_FILES", 4)


@pytest.mark.usefixtures("small")
def test_every_delete_wins_over_every_older_event(followed: Followed) -> None:
    """Compared with a database whose deletes are all remembered; events come in any order, and again."""
    chance, last = random.Random(7), dict[int, int]()
    for batch in range(14 if ALL else 4):
        events = list[dict[str, Any]]()
        for _ in range(8):
            number, lsn = chance.randrange(30), chance.randrange(1, 100 * (batch + 1))
            events.append(gone(number, lsn) if chance.random() < 0.6 else came(number, lsn))
        wanted = [
            (one["after"]["id"], one["source"]["lsn"])
            for one in events
            if one["op"] == "u" and one["source"]["lsn"] >= last.get(one["after"]["id"], 0)
        ]
        assert [(one, lsn) for one, note, lsn in followed.batch(*events) if note] == wanted, batch
        for one in events:
            if one["op"] == "d":
                last[one["before"]["id"]] = max(one["source"]["lsn"], last.get(one["before"]["id"], 0))
        assert len(followed.files) <= 4
        assert len(followed.events.get("deleted", {})) <= 4
    assert len(set(followed.files.values())) > 1, "files were merged"


@pytest.mark.usefixtures("small")
def test_deletes_of_a_run_that_died_before_its_commit_are_ignored(followed: Followed) -> None:
    followed.batch(*(gone(number, number) for number in range(1, 4)))
    followed.decoded(*(gone(number, 100) for number in range(10, 19))).before_commit()
    assert followed.files == {}
    assert followed.batch(came(10, 50), came(1, 0)) == [(10, "late", 50)]


@IN_FULL
@pytest.mark.usefixtures("small")
def test_an_older_checkpoint_still_finds_the_files_that_were_merged_since(followed: Followed) -> None:
    followed.batch(*(gone(number, number) for number in range(1, 6)))
    older = followed.events
    for batch in range(2, 6):
        followed.batch(*(gone(10 * batch + number, 10 * batch + number) for number in range(5)))
    assert not older["spilled"]["files"].keys() & followed.files.keys()
    followed.events = older
    assert followed.batch(came(1, 0), came(25, 3)) == [(25, "late", 3)]


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("lost", ["folder", "part", "other", "garbage"] if ALL else ["part"])
def test_files_that_are_missing_stop_what_is_older_and_nothing_else(followed: Followed, lost: str) -> None:
    followed.batch(*(gone(number, number) for number in range(1, 8)))
    (name,) = followed.files
    folder = followed.base_path / spilled.FOLDER / name
    if lost == "folder":
        rmtree(folder)
    elif lost == "other":
        followed.spark.range(6).write.mode("overwrite").parquet(str(folder))
    else:
        part = next(folder.glob("part-*"))
        (folder / f".{part.name}.crc").unlink()
        part.write_bytes(b"garbage") if lost == "garbage" else part.unlink()
    assert followed.batch(came(50, 60, "newer")) == [(50, "newer", 60)]
    with pytest.raises(TaskFailed, match="record deleted rows, are not what was written") as caught:
        followed.decoded(came(1, 0))
    assert caught.value.reason is FailureReason.CHECKPOINT_DAMAGED


@pytest.mark.parametrize(
    "state", [[], {"below": [1]}, {"files": {}}, {"below": [None], "files": {}}, {"below": [1], "files": {"../x": 1}}]
)
def test_a_checkpoint_that_names_no_files_is_not_read(followed: Followed, state: Any) -> None:
    followed.events = {"spilled": state or [1]}
    with pytest.raises(TaskFailed, match="cannot read the checkpoint"):
        followed.decoded(came(1, 1))
