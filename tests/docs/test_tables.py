"""The tables of the pages stay readable: their cells are short."""

from __future__ import annotations

import pytest
from tests.docs.pages import DOCS, cells

ROOT = DOCS.parent
LONGEST = 120
PAGES = {
    str(path.relative_to(ROOT)): path
    for path in (
        *ROOT.glob("*.md"),
        *DOCS.rglob("*.md"),
        *(ROOT / "charts").rglob("*.md"),
        *(ROOT / "dev").rglob("*.md"),
    )
}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_no_cell_of_a_table_is_long(page: str) -> None:
    assert [cell for cell in cells(PAGES[page].read_text()) if len(cell) > LONGEST] == []


def test_a_cell_is_what_a_reader_sees() -> None:
    text = "| a \\| b | [c](https://example.com) |\n|---|---|\n\n```\n| code |\n```\n"
    assert cells(text) == ["a \\| b", "c", "---", "---"]
