"""Which of the listed files are chosen where some have keys that Hadoop resolves to others."""

import re
from collections.abc import Sequence
from importlib.resources import files as resources

import pytest

from hudi_jobs.ingestion.sources.files.selection import OddKeys, Selection, SourceFile, select_confirmed
from hudi_jobs.spark.filesystem import Folder

MANY = 1_000


def file(number: int, path: str | None = None) -> SourceFile:
    return SourceFile(time=number, path=path or f"{number}.csv", size=10)


def chosen(
    waiting: Sequence[SourceFile], real: set[SourceFile], odd: OddKeys, *, max_files: int | None = None
) -> tuple[Selection, list[int]]:
    """Choose, and return how many files each question was about."""
    asked: list[int] = []

    def confirm(files: Sequence[SourceFile]) -> set[SourceFile]:
        asked.append(len(files))
        return real.intersection(files)

    return select_confirmed(waiting, confirm, odd, max_files=max_files, max_bytes=None), asked


def test_odd_keys_leave_the_places_of_a_run_to_other_files() -> None:
    waiting = [file(number) for number in range(MANY)]
    real, odd = set(waiting[-3:]), OddKeys()
    selection, asked = chosen(waiting, real, odd, max_files=2)
    assert selection.files == tuple(waiting[-3:-1])
    assert selection.more
    assert odd.count == MANY - 3
    assert sum(asked) <= MANY
    assert len(asked) < 15, "each question is about more files than the one before"


def test_files_with_plain_keys_are_asked_about_once() -> None:
    waiting = [file(number) for number in range(MANY)]
    selection, asked = chosen(waiting, set(waiting), OddKeys(), max_files=10)
    assert (len(selection.files), asked) == (10, [10])


def test_no_file_waits_where_every_key_is_odd() -> None:
    selection, _ = chosen([file(1), file(2)], set(), odd := OddKeys())
    assert (selection.files, selection.more, odd.count) == ((), False, 2)


def test_an_object_that_is_listed_twice_is_chosen_once() -> None:
    selection, _ = chosen([file(1), file(1)], {file(1)}, OddKeys())
    assert selection.files == (file(1),)


def test_two_objects_of_one_path_are_told_apart() -> None:
    listed = [file(1, "twin.csv"), file(2, "twin.csv")]
    selection, _ = chosen(listed, {listed[1]}, odd := OddKeys())
    assert (selection.files, odd.count) == ((listed[1],), 1)


@pytest.mark.parametrize("path", ["a\x1b[31m.csv", "line\nbreak.csv", "half\ud800.csv", "x" * 5_000, "\u202ename"])
def test_the_name_of_an_odd_key_is_escaped_and_short(path: str) -> None:
    odd = OddKeys()
    for _ in range(5):
        odd.add(path)
    assert (odd.count, len(odd.names)) == (5, 3)
    assert all(name.isascii() and name.isprintable() and len(name) < 100 for name in odd.names)


@pytest.mark.parametrize(
    "path",
    ["s3a://lake/team/victim/p/1.parquet", "s3a://other/team/t/1.parquet", "s3a://lake/team/t", "file:/lake/team/t/1"],
)
def test_a_file_that_metadata_puts_elsewhere_is_not_in_the_table(path: str) -> None:
    folder = Folder("s3a://lake/team/t")
    assert not folder.holds("", path)
    assert folder.holds("", "s3a://lake/team/t/p=1/.f_1.log.1_0-1-1")


def test_no_module_has_spark_open_a_path_of_its_own_accord() -> None:
    """`GivenFiles` opens files, and `reading` tables; Hudi's own metadata table has no files of anybody else."""
    opening = re.compile(r"\.read\b(?!\()|wholeTextFiles|binaryFiles|textFile\(|[Hh]adoopFile")
    allowed = {"table.py", "operations/repair/known_files.py", "operations/erase/scan.py"}
    root = resources("hudi_jobs")
    found = set()
    for path in sorted(root.rglob("*.py")):  # type: ignore[attr-defined]
        code = "\n".join(line.partition("#")[0] for line in path.read_text().splitlines())
        spark_reads = [hit for hit in opening.finditer(code) if "spark" in code[max(0, hit.start() - 40) : hit.end()]]
        if spark_reads or re.search(r"newSession\(\)\.read|session\.read\.", code):
            found.add(str(path.relative_to(root)))
    assert found == allowed
