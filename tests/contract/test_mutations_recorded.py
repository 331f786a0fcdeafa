"""Recorded mutations follow the code: a mutation of a statement that has changed would prove nothing."""

from __future__ import annotations

import ast
import json

from tests.mutations.__main__ import LIST, SOURCES
from tests.mutations.changes import Mutation, sites


def test_every_recorded_mutation_still_names_a_statement_of_the_code() -> None:
    recorded = [Mutation(*one[:3]) for one in json.loads(LIST.read_text())]
    statements = {one.statement for one in recorded}
    found = set[tuple[str, str]]()
    for path in (path for folder in SOURCES for path in folder.rglob("*.py")):
        found |= {(site.function, site.text) for site in sites(ast.parse(path.read_text())) if site.text in statements}
    assert [one.parts for one in recorded if (one.function, one.statement) not in found] == []
