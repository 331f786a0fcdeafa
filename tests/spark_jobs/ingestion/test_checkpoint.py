"""Which files a run reads: each version of each file once, in whatever order and with whatever times they come."""

import hashlib
import json
from collections.abc import Iterable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_jobs.contract import Checkpoint, FailureReason, FileFormat, FileSource, InvalidRescan, parse_rescan
from hudi_jobs.ingestion.checkpoint import (
    LOOK_BACK,
    decode_checkpoint,
    encode_checkpoint,
    newest_checkpoint,
    require_following,
    require_kind,
)
from hudi_jobs.ingestion.sources.files import record as records
from hudi_jobs.ingestion.sources.files.progress import Answer, FileProgress, Question
from hudi_jobs.ingestion.sources.files.record import (
    Draft,
    LoadedSegment,
    Segment,
    canonical,
    fingerprint,
    grown,
    opened,
)
from hudi_jobs.ingestion.sources.files.selection import SourceFile, select_files
from hudi_jobs.spark.failures import TaskFailed

ROOT = "s3://landing/flights"


def file(path: str, *, second: float = 0, size: int = 10) -> SourceFile:
    return SourceFile(time=int(second * 1000), path=path, size=size)


def sequence_of(texts: Iterable[str]) -> int | None:
    newest = newest_checkpoint(texts)
    return newest.sequence if newest else None


class Table:
    """A table whose runs commit or die, as the store and the newest commit would hold it."""

    def __init__(self, text: str | None = None) -> None:
        self.text = text
        self.store: dict[str, bytes] = {}
        self.written = 0
        self.answer = Answer()

    def open(self, segment: Segment) -> LoadedSegment:
        found = opened(segment, self.store[segment.name])
        assert found is not None
        return found

    def run(
        self,
        listing: list[SourceFile],
        *,
        root: str = ROOT,
        glob: str | None = None,
        rescan: str | None = None,
        max_files: int | None = None,
        dies: bool = False,
    ) -> list[str]:
        """One run: what it reads. A run that dies has written its segments and makes no commit."""
        before = FileProgress.of(decode_checkpoint(self.text))
        loaded = [self.open(segment) for segment in before.segments]
        request = None if rescan in {None, before.rescan} else parse_rescan(rescan)
        self.answer = Answer()
        source = FileSource(path=root, format=FileFormat.CSV, path_glob=glob)
        self.answer.examine(Question(source, loaded, request), root, listing)
        selection = select_files(self.answer.waiting, max_files=max_files, max_bytes=None)
        read = {fingerprint(root, one) for one in selection.files}
        growth = grown(loaded, read, forgotten=self.answer.forgotten, listed=bytes(self.answer.listed))
        sealed = [draft.sealed(sequence=before.sequence + 1, run=f"run-{len(self.store)}") for draft in growth.drafts]
        self.store |= {segment.name: content for segment, content in sealed}
        self.written = sum(len(content) for _, content in sealed)
        after = before.advanced(
            source=root,
            read=[one.position for one in selection.files],
            segments=(*growth.kept, *(segment for segment, _ in sealed)),
            rescan=rescan,
        )
        if not dies and selection.files:
            self.text = encode_checkpoint(after.checkpoint())
        return [one.path for one in selection.files]


@pytest.mark.parametrize(
    ("max_files", "max_bytes", "expected", "more"),
    [
        (None, None, ["b", "a", "c"], False),
        (1, None, ["b"], True),
        (2, None, ["b", "a"], True),
        (3, None, ["b", "a", "c"], False),
        (None, 1, ["b"], True),
        (None, 10, ["b"], True),
        (None, 25, ["b", "a"], True),
        (None, 30, ["b", "a", "c"], False),
        (1, 25, ["b"], True),
    ],
)
def test_limits_take_the_oldest_files_and_always_one(
    max_files: int | None, max_bytes: int | None, expected: list[str], more: bool
) -> None:
    waiting = [file("a", second=2), file("b", second=1), file("c", second=2)]
    selection = select_files(waiting, max_files=max_files, max_bytes=max_bytes)
    assert ([f.path for f in selection.files], selection.more) == (expected, more)


def test_a_file_that_is_written_again_is_read_again() -> None:
    table = Table()
    assert table.run([file("a", second=1)]) == ["a"]
    assert table.run([file("a", second=1)]) == []
    assert table.run([file("a", second=2)]) == ["a"]
    assert table.run([file("a", second=2, size=11)]) == ["a"]


def test_a_file_that_was_gone_and_came_back_is_not_read_again() -> None:
    table = Table()
    assert table.run([file("a")]) == ["a"]
    assert table.run([file("b")]) == ["b"]
    assert table.run([file("a"), file("b")]) == []


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("s3a://lake/a%20b", "s3://lake/a%20b"),
        ("s3n://lake/a b", "s3://lake/a b"),
        ("s3://lake/", "s3://lake"),
        ("file:/in/a", "file:/in/a"),
        ("file:///in/a", "file:/in/a"),
        ("hdfs://host:8020/in", "hdfs://host:8020/in"),
    ],
)
def test_a_store_has_one_spelling(path: str, expected: str) -> None:
    assert canonical(path) == expected


def test_a_file_is_the_same_by_whichever_source_it_is_found() -> None:
    table = Table()
    assert table.run([file("day=1/a.csv")]) == ["day=1/a.csv"]
    assert table.run([file("a.csv"), file("b.csv")], root=f"{ROOT}/day=1") == ["b.csv"]
    assert table.run([file("")], root=f"{ROOT}/day=1/a.csv") == []
    assert table.run([file("day=1/b.csv"), file("day=1/a.csv")]) == []


@pytest.mark.parametrize("name", ["line\nbreak", "100%25", "ü", "half \ud800 character", "x" * 4096, "a; size=3}", ""])
def test_a_name_of_any_kind_is_remembered(name: str) -> None:
    table = Table()
    assert table.run([file(f"d/{name}1")]) == [f"d/{name}1"]
    assert table.run([file(f"d/{name}1"), file(f"d/{name}2")]) == [f"d/{name}2"]
    assert len(table.text or "") < 2000


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "null",
        '{"version": 3}',
        '{"version": 2, "kind": "offsets"}',
        '{"version": 1, "source": "s3a://landing/flights"}',
        "[" * 100_000,
        "x" * 10_000_000,
    ],
)
def test_a_checkpoint_of_unknown_form_is_refused(text: str) -> None:
    with pytest.raises(TaskFailed, match="release"):
        FileProgress.of(decode_checkpoint(text))


def test_a_checkpoint_of_another_kind_of_source_is_refused_by_name() -> None:
    text = encode_checkpoint(FileProgress(sequence=1).checkpoint())
    require_kind(decode_checkpoint(text), "files")
    require_kind(None, "files")
    with pytest.raises(TaskFailed, match="kind 'files', but the spec declares a source of the kind 'kafka'") as refused:
        require_kind(decode_checkpoint(text), "kafka")
    assert refused.value.reason is FailureReason.TABLE_MISMATCH


@pytest.mark.parametrize(("kind", "sequence"), [("files", 1), ("files", 3), ("kafka", 2)])
def test_a_source_cannot_commit_a_checkpoint_that_would_not_be_the_newest(kind: str, sequence: int) -> None:
    first, second = Checkpoint("files", 1), Checkpoint("files", 2)
    assert (require_following(None, first, "files"), require_following(first, second, "files")) == (first, second)
    for wrong in (Checkpoint(kind, sequence), None):
        with pytest.raises(ValueError, match="not of the kind files, number 2"):
            require_following(first, wrong, "files")


@pytest.mark.parametrize(
    "entry",
    [
        ["../../secret", 1, "0" * 64],
        ["000000000001-run-0123456789abcdef", 10**9, "0" * 64],
        ["000000000001-run-0123456789abcdef", -1, "0" * 64],
        ["000000000001-run-0123456789abcdef", "read", 1, "0" * 64],
        ["000000000001-run-0123456789abcdef", 1, "0"],
    ],
)
def test_a_segment_that_no_run_can_have_written_is_refused(entry: list[Any]) -> None:
    document = json.loads(encode_checkpoint(FileProgress(sequence=1).checkpoint()))
    assert FileProgress.of(decode_checkpoint(json.dumps(document))).segments == ()
    document["state"]["segments"] = [entry]
    with pytest.raises(TaskFailed, match="release"):
        FileProgress.of(decode_checkpoint(json.dumps(document)))


@pytest.mark.parametrize("harm", [lambda c: c[:-1], lambda c: c + b"x", lambda c: c[:-1] + b"\0", lambda _: b""])
def test_a_damaged_segment_is_noticed(harm: Any) -> None:
    segment, content = Draft(b"0123456789").sealed(sequence=1, run="a/../b" * 50)
    assert opened(segment, content) == LoadedSegment(segment, b"0123456789")
    assert opened(segment, harm(content)) is None


def test_the_checkpoint_reads_as_a_time_and_a_path() -> None:
    table = Table()
    table.run([file("a.csv", second=1_700_000_000.123), file("b" * 5000, second=1)])
    assert json.loads(str(table.text))["display"] == "2023-11-14T22:13:20.123Z a.csv"


@pytest.mark.parametrize("second", [-1, 0, 10**12, 10**15])
def test_a_file_of_any_time_is_read_once(second: float) -> None:
    table = Table()
    assert table.run([file("a", second=second)]) == ["a"]
    assert table.run([file("a", second=second)]) == []
    assert json.loads(str(table.text))["display"].endswith(" a")


def test_ten_thousand_files_are_told_apart_one_run_after_another() -> None:
    listing = [file(f"day={number % 7}/{number:05}.csv", second=number % 90) for number in range(10_000)]
    table, read = Table(), []
    while paths := table.run(listing, max_files=1500):
        read += paths
    assert sorted(read) == sorted(one.path for one in listing)
    assert table.run([*listing, file("late.csv")]) == ["late.csv"]
    assert len(FileProgress.of(decode_checkpoint(table.text)).segments) <= 3


def test_a_record_that_is_full_forgets_what_the_source_does_not_hold_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(records, "MOST_FINGERPRINTS", 100)
    table = Table()
    for number in range(3):
        assert len(table.run([file(f"{number}-{each}") for each in range(40)])) == 40
    assert table.run([file(f"2-{each}") for each in range(40)]) == []
    with pytest.raises(TaskFailed, match="more than 100 files"):
        table.run([file(str(each)) for each in range(101)])


@pytest.mark.parametrize(
    ("request_", "read"),
    [
        ("read", ["a.csv", "x.txt", "new.csv"]),
        ("read:*.csv", ["a.csv", "new.csv"]),
        ("read:n*#1", ["new.csv"]),
        ("read:other", []),
    ],
)
def test_a_request_reads_what_it_names_once_and_in_as_many_runs_as_the_limits_ask_for(
    request_: str, read: list[str]
) -> None:
    table = Table()
    listing = [file("a.csv", second=1), file("x.txt", second=1)]
    assert table.run(listing, glob="*.csv") == ["a.csv"]
    assert table.run(listing) == ["x.txt"]
    listing.append(file("new.csv", second=4))
    assert table.run(listing) == ["new.csv"]
    table.run(listing, rescan=request_, dies=True)
    found = []
    while paths := table.run(listing, rescan=request_, max_files=1):
        found += paths
    assert found == read
    assert table.run(listing, rescan=request_) == []


@pytest.mark.parametrize(
    "text", ["", "all", "skipped", "read:", "read\n", "read:" + "*" * 300, "skipped;read", "#1", "READ"]
)
def test_invalid_rescan_is_refused(text: str) -> None:
    with pytest.raises(InvalidRescan, match="is not a valid request"):
        parse_rescan(text)


def test_the_newest_checkpoint_is_the_one_with_the_greatest_sequence() -> None:
    texts = [encode_checkpoint(Checkpoint("files", number)) for number in (5, 7, 6, 5, 4)]
    assert sequence_of(texts) == 7
    assert newest_checkpoint([]) is None


def test_only_so_many_commits_are_asked_for_as_are_needed_to_be_sure() -> None:
    asked = []

    def texts() -> Any:
        for number in range(100, 0, -1):
            asked.append(number)
            yield encode_checkpoint(Checkpoint("files", number))

    assert sequence_of(texts()) == 100
    assert len(asked) == LOOK_BACK + 1


arrivals = st.lists(
    st.lists(st.tuples(st.integers(0, 12), st.integers(0, 900), st.booleans()), max_size=6, unique=True),
    min_size=1,
    max_size=8,
)


@settings(deadline=None)
@given(arrivals=arrivals, max_files=st.one_of(st.none(), st.integers(1, 3)), deaths=st.sets(st.integers(0, 20)))
def test_every_version_of_a_file_is_read_exactly_once_whatever_dies_and_goes_and_comes_back(
    arrivals: list[list[tuple[int, int, bool]]], max_files: int | None, deaths: set[int]
) -> None:
    listing: dict[str, SourceFile] = {}
    table, read, expected = Table(), [], set()
    for number, arrived in enumerate([*arrivals, *[[]] * 60]):
        for name, second, stays in arrived:
            path = str(name)
            listing[path] = file(path, second=second)
            if not stays and number:
                del listing[path]
        dies = number in deaths
        paths = table.run(list(listing.values()), max_files=max_files, dies=dies)
        if not dies:
            read += [(path, listing[path].time) for path in paths]
        expected |= {(path, one.time) for path, one in listing.items()} if number >= len(arrivals) else set()
    assert len(read) == len(set(read))
    assert expected <= set(read)


prints = st.binary(min_size=10, max_size=10)


@settings(deadline=None)
@given(
    steps=st.lists(st.tuples(st.sets(prints, max_size=9), st.booleans()), max_size=12),
    small=st.integers(0, 8),
)
def test_a_record_is_a_set_however_it_was_merged(steps: list[tuple[set[bytes], bool]], small: int) -> None:
    model: set[bytes] = set()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "SMALL_SEGMENT", small)
        store: list[LoadedSegment] = []
        for number, (members, forgets) in enumerate(steps):
            forgotten = members if forgets else set()
            growth = grown(store, set() if forgets else members, forgotten=forgotten)
            fresh = [draft.sealed(sequence=number, run="r") for draft in growth.drafts]
            store = [one for one in store if one.segment in growth.kept] + [
                loaded for pair in fresh if (loaded := opened(*pair))
            ]
            model = model - members if forgets else model | members
            assert set().union(*(set(records.each(one.prints)) for one in store)) == model
            sizes = sorted((one.segment.count for one in store), reverse=True)
            assert all(larger > smaller for larger, smaller in pairwise(sizes)) or forgets
    assert records.known_among(model | {b"0123456789"}, store) == model


def test_a_segment_is_named_by_its_run_and_its_content() -> None:
    segment, content = Draft(b"0123456789").sealed(sequence=3, run="flights-ingestion-1")
    assert segment.name == f"000000000003-flights-ingestion-1-{hashlib.sha256(content).hexdigest()[:16]}"
    assert isinstance(segment, Segment)
    assert segment.length == len(content)
