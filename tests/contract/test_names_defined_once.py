"""No module defines a name twice: the second definition would silently replace the first one."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
SOURCES = [
    path
    for folder in ("operator", "spark_jobs", "dev", "tests", "benchmarks")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def defined_twice(source: str) -> list[str]:
    """Return the names that the statements of a module define more than once."""
    names = Counter(name for statement in ast.parse(source).body for name in _defined(statement))
    return [name for name, number in names.items() if number > 1]


def _defined(statement: ast.stmt) -> list[str]:
    match statement:
        case ast.Assign(targets=targets):
            return [target.id for target in targets if isinstance(target, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name)):
            return [name]
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case _:
            return []


def test_second_definition_of_a_constant_is_found() -> None:
    assert defined_twice("A = 6\nB: int = 1\ndef f() -> None: ...\nA = 60\n") == ["A"]


def test_no_module_defines_a_name_twice() -> None:
    found = {str(path.relative_to(ROOT)): names for path in SOURCES if (names := defined_twice(path.read_text()))}
    assert found == {}
