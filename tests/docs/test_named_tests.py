"""Tests that pages name as proof of what they say: they are there."""

import re
from functools import cache
from pathlib import Path

import pytest
from tests.docs.pages import pages, read

TESTS = Path(__file__).parents[1]
_NAMED = re.compile(r"`(?:[\w/]*/)?(test_\w+)(?:\.py)?`")
_DEFINED = re.compile(r"^ *(?:async )?def (test_\w+)\(", re.MULTILINE)


@cache
def known() -> frozenset[str]:
    """The names of all tests and of the modules that they are in."""
    modules = list(TESTS.rglob("test_*.py"))
    return frozenset(name for each in modules for name in (each.stem, *_DEFINED.findall(each.read_text())))


@pytest.mark.parametrize("page", pages())
def test_every_test_that_a_page_names_exists(page: str) -> None:
    assert set(_NAMED.findall(read(page))) <= known()


def test_pages_name_tests_and_files_of_tests() -> None:
    named = {name for page in pages() for name in _NAMED.findall(read(page))}
    assert len(named) > 100
    assert {"test_avro_values", "test_no_file_table_or_table_function_is_read"} <= named
