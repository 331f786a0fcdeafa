"""Which files a run reads: none is lost and none is read twice, in whatever order and with whatever times they come."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hudi_jobs.contract import FileFormat
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion import checkpoint as checkpoints
from hudi_jobs.ingestion.checkpoint import Checkpoint, Position, SourceFile, decode_checkpoint, encode_checkpoint
from hudi_jobs.ingestion.files import is_candidate, select_files

WINDOW = 600
NOTHING_READ = Checkpoint(source="s3a://landing/flights")


def file(path: str, *, second: float = 0, size: int = 10) -> SourceFile:
    return SourceFile(time=int(second * 1000), path=path, size=size)


def read_all(
    listing: list[SourceFile], before: Checkpoint, *, max_files: int | None = None
) -> tuple[list[str], Checkpoint]:
    """One run: what it reads, and the checkpoint that it leaves, as it comes back out of the commit."""
    selection = select_files(listing, before, max_files=max_files, max_bytes=None)
    if not selection.files:
        return [], before
    after = before.advanced(selection.files, listing, late_arrival_seconds=WINDOW)
    return [f.path for f in selection.files], decode_checkpoint(encode_checkpoint(after), source=before.source)


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("a.csv", None, True),
        ("day=1/a.csv", None, True),
        ("_SUCCESS", None, False),
        (".a.csv.crc", None, False),
        ("_temporary/0/a.csv", None, False),
        ("day=1/.staging/a.csv", None, False),
        ("day=1/a.csv", "*.csv", True),
        ("day=1/a.csv", "b*", False),
        ("day=1/a.csv", "day=1/*", True),
        ("day=2/a.csv", "day=1/*", False),
    ],
)
def test_what_counts_as_input(path: str, glob: str | None, expected: bool) -> None:
    assert is_candidate(file(path), glob=glob, format_=FileFormat.CSV) is expected


@pytest.mark.parametrize("file_format", list(FileFormat))
def test_an_empty_file_is_passed_over_only_where_it_can_be_whole(file_format: FileFormat) -> None:
    text = file_format in {FileFormat.CSV, FileFormat.JSON}
    assert is_candidate(file("a", size=0), glob=None, format_=file_format) is not text


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
    listing = [file("a", second=2), file("b", second=1), file("c", second=2)]
    selection = select_files(listing, NOTHING_READ, max_files=max_files, max_bytes=max_bytes)
    assert ([f.path for f in selection.files], selection.more) == (expected, more)


def test_a_file_that_is_written_again_is_read_again() -> None:
    _, after = read_all([file("a", second=1)], NOTHING_READ)
    assert read_all([file("a", second=1)], after)[0] == []
    assert read_all([file("a", second=2)], after)[0] == ["a"]


@pytest.mark.parametrize(("second", "seen"), [(1000, True), (999, True), (401, True), (399, False), (1001, True)])
def test_a_late_file_is_read_inside_the_window_and_not_before_it(second: float, seen: bool) -> None:
    first = file("m", second=1000)
    _, after = read_all([first], NOTHING_READ)
    late = file("late", second=second)
    assert read_all([first, late], after)[0] == (["late"] if seen else [])


def test_the_window_never_opens_again() -> None:
    first = file("m", second=1000)
    after = NOTHING_READ.advanced([first], [first], late_arrival_seconds=10)
    second = file("n", second=1001)
    wider = after.advanced([second], [first, second], late_arrival_seconds=900)
    assert wider.has_read(file("old", second=989))


def test_another_source_has_nothing_read() -> None:
    _, after = read_all([file("a")], NOTHING_READ)
    assert decode_checkpoint(encode_checkpoint(after), source="s3a://landing/other") == Checkpoint(
        "s3a://landing/other"
    )


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"version": 2, "source": "s3a://landing/flights"}'])
def test_a_checkpoint_of_unknown_form_is_refused(text: str) -> None:
    with pytest.raises(TaskFailed, match="release"):
        decode_checkpoint(text, source=NOTHING_READ.source)


def test_the_watermark_reads_as_a_time_and_a_path() -> None:
    assert str(Position(1_700_000_000_123, "a.csv")) == "2023-11-14T22:13:20.123Z a.csv"


def test_no_more_fingerprints_are_kept_than_allowed_and_nothing_is_read_twice() -> None:
    listing = [file(f"{number:05}", second=1) for number in range(checkpoints.MOST_FINGERPRINTS + 500)]
    _, after = read_all(listing, NOTHING_READ)
    assert len(after.recent) == checkpoints.MOST_FINGERPRINTS
    assert read_all(listing, after)[0] == []
    assert read_all([*listing, file("99999", second=1)], after)[0] == ["99999"]


arrivals = st.lists(
    st.lists(st.tuples(st.integers(0, 5), st.integers(0, 30)), max_size=6, unique=True), min_size=1, max_size=8
)


@settings(deadline=None)
@given(arrivals=arrivals, max_files=st.one_of(st.none(), st.integers(1, 3)))
def test_every_file_that_comes_within_the_window_is_read_exactly_once(
    arrivals: list[list[tuple[int, int]]], max_files: int | None
) -> None:
    listing: dict[str, SourceFile] = {}
    checkpoint, read = NOTHING_READ, []
    for round_number, arrived in enumerate([*arrivals, *[[]] * 60]):
        for name, second in arrived:
            path = f"{round_number}-{name}-{second}"
            listing[path] = file(path, second=second)
        paths, checkpoint = read_all(list(listing.values()), checkpoint, max_files=max_files)
        read += paths
    assert sorted(read) == sorted(listing)
