"""Which line of a CSV file is its header, and what the header says of columns, without Spark."""

from itertools import pairwise

import pytest

from hudi_jobs.ingestion.sources.files.headers import (
    Short,
    first_line,
    grouped,
    lacking_some,
    left_out,
    positions,
    quoted_name,
    require_declared,
    require_telling,
)
from hudi_jobs.spark.failures import TaskFailed


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("id,v\n1,2\n", "id,v"),
        ("\r\n \r\nid,v\r\n1,2", "id,v"),
        ("id,v", "id,v"),
        ("id,v\r1,2", "id,v"),
        (" \n\x1f\t\n", None),
        ("", None),
        ("# a comment\n  #another\nid,#v\n", "id,#v"),
    ],
)
def test_header_is_the_first_line_that_is_neither_blank_nor_a_comment(text: str, line: str | None) -> None:
    assert first_line(text, whole=True, separator=None, comment="#") == line


def test_line_that_the_text_cuts_off_is_no_header_yet() -> None:
    for text in ("id,v", "", "\n\n", "# a comment"):
        with pytest.raises(Short):
            first_line(text, whole=False, separator=None, comment="#")
    assert first_line("id,v\n", whole=False, separator=None, comment=None) == "id,v"


def test_header_ends_at_the_declared_separator_of_lines() -> None:
    assert first_line("id\nx,v|1,2|", whole=True, separator="|", comment=None) == "id\nx,v"


def test_blank_lines_without_end_are_read_once() -> None:
    assert first_line("\n" * 1_000_000 + "id\n", whole=True, separator=None, comment=None) == "id"


def test_columns_are_found_by_name_whatever_the_case_and_the_first_missing_one_is_named() -> None:
    assert positions(("ID", "größe", "v"), ("v", "id", "GRÖSSE", "Größe")) == {"v": 2, "id": 0, "Größe": 1}
    groups = grouped(["a", "b", "c", "d"], [("v", "id"), ("id",), None, ("id", "v", "more\n")])
    assert [group.paths for group in groups] == [("a",), ("b",), ("d",)]
    require_declared(groups, ["ID"])
    with pytest.raises(TaskFailed, match=r"file b lacks a column: v. Expected: id, v. Found: id"):
        require_declared(groups, ["id", "v"])
    assert left_out(groups, ["id"]) == "Left out 2 columns that are not declared: v, 'more\\n'."
    assert "v (b), 'more\\n' (2 files, such as a)" in lacking_some(groups)
    assert lacking_some(groups, ["ID", "V"]) == "Columns that files lack are null in their rows: v (b)."
    assert (left_out(groups[:1], ["v", "id"]), lacking_some(groups[:1])) == ("", "")


@pytest.mark.parametrize("header", [("id", ""), ("id", "\t"), ("id", "id"), ("id", "v", "ID")])
def test_header_whose_columns_cannot_be_told_apart_is_refused(header: tuple[str, ...]) -> None:
    with pytest.raises(TaskFailed, match=r"a\.csv"):
        require_telling("a.csv", header)


def test_names_from_files_are_shown_bounded_and_escaped() -> None:
    names = ("größe", "a.b-c", "a b", "x\x1b]0;y\x07", "y" * 5000)
    texts = [quoted_name(name) for name in names]
    assert texts[:4] == ["größe", "a.b-c", "'a b'", "'x\\x1b]0;y\\x07'"]
    assert len(texts[4]) < 100
    assert all(one != other for one, other in pairwise(texts))
