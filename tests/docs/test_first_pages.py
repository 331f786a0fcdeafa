"""The pages that people read first show a table that exists, and the columns that kubectl prints."""

import re
from pathlib import Path

import pytest
import yaml
from tests.docs.pages import blocks, read, resources

from hudi_operator.api.crd.kinds import TABLE
from hudi_operator.api.resources import HudiTable, HudiTableClass, parse_table, parse_table_class
from hudi_operator.planning.policy.class_policy import policy_blockers

ROOT = Path(__file__).parents[2]
COLUMNS = [column.name.upper() for column in TABLE.columns if not column.wide]
WIDE = [column.name.upper() for column in TABLE.columns if column.wide]


def test_the_readme_shows_the_table_of_the_demonstration() -> None:
    (shown,) = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert yaml.safe_load(shown) == yaml.safe_load((ROOT / "examples" / "demo" / "flights.yaml").read_text())


@pytest.mark.parametrize("page", ["reference/status.md", "start/first-table.md"])
def test_a_sample_of_kubectl_get_has_the_columns_of_a_table(page: str) -> None:
    (header,) = re.findall(r"^NAME +TYPE.*$", read(page), re.MULTILINE)
    assert re.split(r"  +", header) == ["NAME", *COLUMNS]


def test_the_page_about_the_status_names_the_wide_columns_in_order() -> None:
    assert f"`{' '.join(WIDE)}`" in read("reference/status.md")


def test_the_first_class_allows_the_first_table() -> None:
    shown = {one["kind"]: one for block in blocks("start/first-table.md", "yaml") for one in resources(block)}
    for document in shown.values():
        document["metadata"] |= {"uid": "u", "generation": 1}
    table_class, table = parse_table_class(shown["HudiTableClass"]), parse_table(shown["HudiTable"])
    assert isinstance(table_class, HudiTableClass)
    assert isinstance(table, HudiTable)
    assert policy_blockers(table, table_class) == ()
