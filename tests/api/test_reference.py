"""The lists of fields in the documentation."""

import re
from pathlib import Path

import pytest
from pydantic import BaseModel

from hudi_operator.api.spec.savepoint import HudiSavepointSpec
from hudi_operator.api.spec.sources.files import FileSourceSpec
from hudi_operator.api.spec.table import HudiTableSpec, Ingestion, Transform
from toolkit.generated.fields import documented_models, field_list, with_field_lists

DOCS = Path(__file__).parents[2] / "docs"
WRAPPERS = {"KeysFrom", "Lock", "Source", "TableReference"}  # each holds one field, which has the section

ENTRIES = {
    "a required object": "- `source` (object; required): Where input comes from.\n",
    "an enum with its default": "(`Upsert`, `Insert`, `BulkInsert`, `Delete`, `InsertOverwrite`; default `Upsert`):",
    "an object whose default says something": "- `schedule` (object; default `every: 5m`): ",
    "a duration without a default": "- `freshness` (duration): ",
}


@pytest.mark.parametrize("entry", ENTRIES.values(), ids=ENTRIES)
def test_the_list_of_fields_holds(entry: str) -> None:
    assert entry in field_list(Ingestion)


RULES = {
    "a rule of the model": (Ingestion, "- bulkInsert is only for operation BulkInsert.\n"),
    "a rule of a field that names the field": (FileSourceSpec, "- path must be plain: "),
    "a rule of fields with the names of these": (
        HudiTableSpec,
        "- `recordKey`, `partitionBy`, `orderingFields`: a column ",
    ),
    "the fields that cannot be changed": (HudiSavepointSpec, "- `tableRef`, `instant`, `latest`, `comment` cannot be "),
}


@pytest.mark.parametrize(("model", "rule"), RULES.values(), ids=RULES)
def test_the_list_of_rules_holds(model: type[BaseModel], rule: str) -> None:
    assert rule in field_list(model).partition("\nRules:\n\n")[2]


def test_a_model_without_rules_has_no_list_of_them() -> None:
    assert "Rules:" not in field_list(Transform)
    assert "less than 9223372036854775807" not in field_list(FileSourceSpec)


def test_only_the_text_between_the_marks_is_replaced() -> None:
    page = "before\n<!-- fields of Transform -->\nold\n<!-- end of fields -->\nafter\n"
    made = with_field_lists(page)
    assert made.startswith("before\n<!-- fields of Transform -->\n\n- `sql` (text; required): ")
    assert made.endswith("\n\n<!-- end of fields -->\nafter\n")
    assert "old" not in made
    assert with_field_lists(made) == made


def test_a_mark_with_a_name_that_is_no_model_is_an_error() -> None:
    with pytest.raises(KeyError, match="Nothing"):
        with_field_lists("<!-- fields of Nothing -->\n<!-- end of fields -->")


def test_every_model_has_one_list_of_fields() -> None:
    shown = [name for page in DOCS.rglob("*.md") for name in re.findall(r"<!-- fields of (\w+) -->", page.read_text())]
    assert sorted(shown) == sorted(documented_models().keys() - WRAPPERS)
