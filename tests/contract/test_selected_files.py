"""Which files of a source are input, for the driver and the operator alike."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.planning.world import table

from hudi_jobs.contract import FileFormat, FileSource
from hudi_jobs.ingestion.sources.files.progress import Answer, Question
from hudi_jobs.ingestion.sources.files.selection import SourceFile
from hudi_operator.sources.look import digest_of, file_item
from hudi_operator.sources.registry import declared_source
from hudi_operator.storage import FileStamp, StoredFile
from hudi_operator.timeline import Timeline

ROOT = "s3://landing/team-a/flights"

NAMES = st.one_of(
    st.sampled_from(
        ["_SUCCESS", ".hidden", "a.csv", "b.csv", "p=1", "p=%2F", "_temporary", "[a].csv", "a b.csv", "*", "?"]
    ),
    st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1, max_size=8).filter(
        lambda name: name not in {".", ".."}
    ),
)
PATHS = st.lists(NAMES, max_size=4).map("/".join)
GLOBS = st.one_of(
    st.none(), st.sampled_from(["*", "*.csv", "a*", "[ab].csv", "[!a]*", "p=1/*", "*/*", "?.csv", "[", "a b*"]), NAMES
)


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
        ("", "nothing", True),
    ],
)
def test_files_that_count_as_input(path: str, glob: str | None, expected: bool) -> None:
    source = FileSource(path=ROOT, format=FileFormat.CSV, path_glob=glob)
    assert source.selects(path, 10) is expected


@pytest.mark.parametrize("file_format", list(FileFormat))
def test_an_empty_file_is_passed_over_only_where_it_can_be_whole(file_format: FileFormat) -> None:
    text = file_format in {FileFormat.CSV, FileFormat.JSON}
    assert FileSource(path=ROOT, format=file_format).selects("a", 0) is not text


class Store:
    """A listing of a store as the operator sees it."""

    def __init__(self, files: Sequence[StoredFile]) -> None:
        self.files = files

    def files_below(self, path: str) -> Iterator[Sequence[StoredFile]]:
        assert path == ROOT
        yield self.files[:1]
        yield self.files[1:]

    def timeline(self, base_path: str) -> Timeline | None:
        raise AssertionError(base_path)


@given(
    files=st.dictionaries(PATHS, st.tuples(st.integers(0, 3), st.integers(0, 9)), max_size=12),
    file_format=st.sampled_from(list(FileFormat)),
    glob=GLOBS,
)
def test_the_operator_counts_exactly_the_files_that_the_driver_reads(
    files: dict[str, tuple[int, int]], file_format: FileFormat, glob: str | None
) -> None:
    answer = Answer()
    source = FileSource(path=ROOT, format=file_format, path_glob=glob)
    listed = [SourceFile(time=time, path=path, size=size) for path, (size, time) in files.items()]
    answer.examine(Question(source, ()), ROOT, listed)
    read = [StoredFile(one.path, FileStamp(one.size, one.time)) for one in answer.waiting]

    files_spec = {"path": ROOT, "format": file_format.value, "pathGlob": glob or None}
    declared = declared_source(table(ingestion={"source": {"files": files_spec}}).spec)
    assert declared is not None
    stored = [StoredFile(path, FileStamp(size, time)) for path, (size, time) in files.items()]
    found = declared.digest(Store(stored))
    assert found == replace(digest_of(map(file_item, read)), listed=len(files))
