"""The tables of fields in the documentation."""

import re
from pathlib import Path

import pytest

from hudi_operator.api.spec.table import Ingestion
from toolkit.generated.fields import documented_models, field_table, with_field_tables

DOCS = Path(__file__).parents[2] / "docs"
WRAPPERS = {"KeysFrom", "Lock", "Source", "TableReference"}  # each holds one field, which has the section

ROWS = {
    "a required object": "| `source` | object | required | Where input comes from. |",
    "an enum with its default": "`Upsert`, `Insert`, `BulkInsert`, `Delete`, `InsertOverwrite` | `Upsert` |",
    "an object whose default says something": "| `schedule` | object | `every: 5m` |",
    "a duration without a default": "| `freshness` | duration |  |",
}


@pytest.mark.parametrize("row", ROWS.values(), ids=ROWS)
def test_a_row_says(row: str) -> None:
    assert row in field_table(Ingestion)


def test_what_stands_between_the_marks_is_replaced_and_nothing_else() -> None:
    page = "before\n<!-- fields of Transform -->\nold\n<!-- end of fields -->\nafter\n"
    made = with_field_tables(page)
    assert made.startswith("before\n<!-- fields of Transform -->\n| Field |")
    assert made.endswith("|\n<!-- end of fields -->\nafter\n")
    assert "old" not in made
    assert with_field_tables(made) == made


def test_a_mark_with_a_name_that_is_no_model_is_an_error() -> None:
    with pytest.raises(KeyError, match="Nothing"):
        with_field_tables("<!-- fields of Nothing -->\n<!-- end of fields -->")


def test_every_model_has_one_table() -> None:
    shown = [name for page in DOCS.rglob("*.md") for name in re.findall(r"<!-- fields of (\w+) -->", page.read_text())]
    assert sorted(shown) == sorted(documented_models().keys() - WRAPPERS)
