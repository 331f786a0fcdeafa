"""What changes the digest of a source's input, and what does not."""

from __future__ import annotations

import itertools
import random
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from tests.planning.world import table
from tests.timeline.conftest import PROPERTIES, MemoryFileSystem

from hudi_jobs.contract import Location
from hudi_operator.sources.look import InputDigest
from hudi_operator.sources.registry import declared_source
from hudi_operator.storage import FileStamp, StoredFile
from hudi_operator.timeline import Timeline, TimelineReader

ONE = StoredFile("a.csv", FileStamp(10, 1_000, '"tag"'))


@dataclass
class Store:
    """A store with some files, and a table or none."""

    pages: Sequence[Sequence[StoredFile]] = ()
    table: Timeline | None = None

    def files_below(self, path: str) -> Iterator[Sequence[StoredFile]]:
        del path
        yield from self.pages

    def timeline(self, base_path: str) -> Timeline | None:
        del base_path
        return self.table


def digest(kind: str, store: Store, **fields: Any) -> InputDigest | None:
    specs: dict[str, dict[str, Any]] = {
        "files": {"path": "s3://landing/in", "format": "csv"},
        "hudi": {"path": "s3://lake/up"},
        "kafka": {"bootstrapServers": ["kafka:9092"], "topics": ["t"], "value": {"format": "Raw"}},
    }
    declared = declared_source(table(ingestion={"source": {kind: {**specs[kind], **fields}}}).spec)
    assert declared is not None
    return declared.digest(store)


def of_files(*files: StoredFile) -> InputDigest:
    found = digest("files", Store([files]))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "other",
    [
        StoredFile("b.csv", ONE.stamp),
        StoredFile("in/a.csv", ONE.stamp),
        ONE._replace(stamp=ONE.stamp._replace(size=11)),
        ONE._replace(stamp=ONE.stamp._replace(modified=1_001)),
        ONE._replace(stamp=ONE.stamp._replace(tag='"other"')),
        ONE._replace(stamp=ONE.stamp._replace(tag=None)),
    ],
)
def test_path_size_time_and_etag_of_a_file_change_the_digest(other: StoredFile) -> None:
    assert of_files(ONE) != of_files(other)
    assert of_files(ONE, other).inputs == 2


def test_a_file_cannot_pass_for_another_by_moving_characters_between_its_parts() -> None:
    sizes, times, tags, paths = (1, 11), (1, 11), (None, "", "1 a", "1"), ("a", "1 a", "a b", "1 1 a")
    files = [
        StoredFile(path, FileStamp(size, time, tag))
        for size, time, tag, path in itertools.product(sizes, times, tags, paths)
        if tag != ""
    ]
    assert len({of_files(one).digest for one in files}) == len(files)


def test_the_order_and_the_pages_of_a_listing_do_not_matter() -> None:
    files = [StoredFile(f"{number}.csv", FileStamp(1, number)) for number in range(100)]
    shuffled = random.Random(7).sample(files, len(files))
    pages = [shuffled[:1], [], shuffled[1:60], shuffled[60:]]
    assert digest("files", Store(pages)) == of_files(*files)
    assert of_files(*files[1:]) != of_files(*files)


def test_two_files_never_cancel_each_other() -> None:
    assert of_files(ONE, ONE) != of_files()
    assert len({of_files(*[ONE] * number).digest for number in range(10)}) == 10


class Endless(Store):
    """A store that makes its pages while they are read."""

    def files_below(self, path: str) -> Iterator[Sequence[StoredFile]]:
        for page in range(50):
            yield [StoredFile(f"{path}/{page}/{number}", ONE.stamp) for number in range(1_000)]


def test_the_memory_of_a_look_does_not_grow_with_the_source() -> None:
    tracemalloc.start()
    try:
        found = digest("files", Endless())
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert found is not None
    assert found.inputs == 50_000
    assert most < 2**20


def test_a_source_without_a_file_has_no_input() -> None:
    assert (of_files().inputs, of_files().listed) == (0, 0)
    hidden = of_files(StoredFile("_SUCCESS", ONE.stamp), StoredFile("sub", FileStamp(0, 1)))
    assert (hidden.digest, hidden.inputs, hidden.listed) == (of_files().digest, 0, 2)


def test_a_name_that_is_not_text_counts_as_any_other() -> None:
    assert of_files(StoredFile("half\ud800.csv", ONE.stamp)) != of_files(ONE)


def test_the_operator_asks_no_broker() -> None:
    assert digest("kafka", Store()) is None


WRITES = ["001_002.commit", "003_004.deltacommit", "005_006.replacecommit"]


def of_table(names: list[str]) -> InputDigest:
    times = [f"20260101000000{name}".replace("_", "_20260101000000") for name in names]
    properties = "".join(f"{key}={value}\n" for key, value in PROPERTIES.items()).encode()
    files = {"/t/.hoodie/hoodie.properties": properties, **{f"/t/.hoodie/timeline/{name}": b"" for name in times}}
    found = digest("hudi", Store(table=TimelineReader(MemoryFileSystem(files)).read(Location.parse("/t"))))
    assert found is not None
    return found


@pytest.mark.parametrize(
    "change",
    [
        lambda names: [*names, "007_008.commit"],
        lambda names: [*names, "007_008.rollback"],
        lambda names: [*names, "007_008.restore"],
        lambda names: names[1:],
        lambda names: names[:-1],
        lambda names: [*names[:-1], "005_009.replacecommit"],
        lambda names: [*names[:-1], "005_006.commit"],
    ],
    ids=["commit", "rollback", "restore", "archived", "undone", "completed later", "recreated"],
)
def test_commits_rollbacks_restores_and_archival_of_the_upstream_change_the_digest(
    change: Callable[[list[str]], list[str]],
) -> None:
    assert of_table(WRITES).inputs == 3
    assert of_table(change(WRITES)) != of_table(WRITES)


@pytest.mark.parametrize("name", ["007.commit.requested", "007.inflight", "007_008.clean"])
def test_pending_instants_and_cleans_of_the_upstream_bring_no_input(name: str) -> None:
    assert of_table([*WRITES, name]) == of_table(WRITES)


def test_an_upstream_that_does_not_exist_has_no_input() -> None:
    found = digest("hudi", Store(table=None))
    assert found is not None
    assert (found.inputs, found.listed) == (0, 0)


def test_an_upstream_without_a_commit_exists_all_the_same() -> None:
    assert (of_table([]).inputs, of_table([]).listed) == (0, 1)
