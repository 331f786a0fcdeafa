"""Links between pages outside of the documentation site; `mkdocs build --strict` checks those inside of it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("dev/**/*.md"), *ROOT.glob("benchmarks/*/README.md")]
_LINK = re.compile(r"\]\((?!https?:|#)([^)#\s]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_link_leads_to_a_file(page: Path) -> None:
    missing = [link for link in _LINK.findall(page.read_text()) if not (page.parent / link).exists()]
    assert missing == []
