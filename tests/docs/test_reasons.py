"""The pages on the status and on failures explain every word that a status can hold."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hudi_operator.api.conditions import ConditionType
from hudi_operator.cli.reference import FURTHER_REASONS, REASONS, words
from hudi_operator.planning.deletion.model import EndingEvent

DOCS = Path(__file__).parents[2] / "docs"
PAGES = "".join((DOCS / name).read_text() for name in ("status.md", "failure-modes.md"))
EXPLAINED = {word for code in re.findall(r"`([^`\n]+)`", PAGES) for word in re.findall(r"\w+", code)}
WORDS = {
    *(str(word) for kind in (ConditionType, EndingEvent, *REASONS) for word in kind),
    *(word for module in FURTHER_REASONS for word in words(module)),
}


@pytest.mark.parametrize("word", sorted(WORDS))
def test_the_pages_explain(word: str) -> None:
    assert word in EXPLAINED
