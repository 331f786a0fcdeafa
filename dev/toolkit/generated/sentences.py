"""The sentences that stand below definitions in the code, for pages that are made from it."""

import ast
import inspect
import textwrap
from functools import cache
from itertools import pairwise
from types import ModuleType


class NoSentence(ValueError):
    """A definition that a page shows has no sentence below it."""


@cache
def definitions(owner: type | ModuleType) -> dict[str, str | None]:
    """Return the names that a class or module assigns, in their order, each with the docstring below it or None."""
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
    """Return the docstring of one definition; raise `NoSentence` where there is none."""
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
