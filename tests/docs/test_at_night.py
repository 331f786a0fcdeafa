"""The page for whoever is paged: each failure has its alert, a cause and a remedy in three steps."""

from __future__ import annotations

import re

from tests.docs import vocabulary
from tests.docs.pages import read, words

PAGE = "operations/at-night.md"
ALERTS = set(re.findall(r"^## (Hudi\w+)$", read("operations/alerts.md"), re.MULTILINE))
_WORD = re.compile(r"(?:[A-Z][a-z]+)+")


def test_each_of_ten_failures_has_an_alert_and_three_steps() -> None:
    _, *sections = re.split(r"^## ", read(PAGE), flags=re.MULTILINE)
    assert len(sections) == 10
    for section in sections:
        heading, _, text = section.partition("\n")
        cause, _, steps = text.strip().partition("\n\n")
        assert re.match(r"`(\w+)`", cause), heading
        assert set(re.findall(r"`(Hudi\w+)`", cause)) <= ALERTS, heading
        assert re.findall(r"^(\d)\. ", steps, re.MULTILINE) == ["1", "2", "3"], heading


def test_words_of_the_page_are_alerts_reasons_and_fields_that_there_are() -> None:
    named = set(words(PAGE))
    reasons = {word for word in named if _WORD.fullmatch(word)}
    assert len(reasons) > 15
    assert reasons - ALERTS - vocabulary.names() - {"ResourceQuota"} == set()
    paths = {word for word in named if re.fullmatch(r"(?:status|execution)(?:\.\w+)+", word)}
    assert len(paths) > 2
    assert {path for path in paths if not vocabulary.has_path(path)} == set()
