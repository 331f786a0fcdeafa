"""Reads the docstrings below definitions in the code, for generated pages."""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from types import ModuleType


class NoSentence(ValueError):
    """A definition on a generated page has no docstring."""


@cache
def definitions(owner: type | ModuleType) -> dict[str, str | None]:
    """Return the names that a class or module assigns, in order, each with its docstring or None."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(owner)))
    body = tree.body
    if isinstance(owner, type) and isinstance(body[0], ast.ClassDef):
        body = body[0].body
    nothing = ast.Pass()
    return {
        name: _docstring(following)
        for statement, following in pairwise((*body, nothing))
        if (name := _assigned(statement)) is not None
    }


def sentence(owner: type | ModuleType, name: str) -> str:
    """Return the docstring of a definition; raise `NoSentence` without one."""
    text = definitions(owner).get(name)
    if text is None:
        raise NoSentence(f"{owner.__name__}.{name} has no docstring below it; write one for the reference page")
    return text


def _assigned(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
            return name
        case _:
            return None


def _docstring(statement: ast.stmt) -> str | None:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
        case _:
            return None
