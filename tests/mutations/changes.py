"""Changes single operators, constants and returned values of functions, in the files' syntax trees and in this process.

A mutation names its function and the text of its statement, and so is found again after the function has moved.
"""

from __future__ import annotations

import ast
import gc
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FunctionType
from typing import TypeVar

SWAPS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}


Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True)
class Mutation:
    """A statement of a function, and the statement that takes its place."""

    function: str
    statement: str
    replacement: str

    @property
    def parts(self) -> tuple[str, str, str]:
        """The three texts, as the list of mutations has them."""
        return self.function, self.statement, self.replacement


@dataclass(frozen=True)
class Site:
    """A statement in the tree of a module; `body` is the list of statements that holds it."""

    function: str
    node: ast.stmt
    body: list[ast.stmt]

    @property
    def text(self) -> str:
        """The statement without the statements inside it."""
        return _text(self.node)


def sites(tree: ast.Module) -> Iterator[Site]:
    """Yield the statements of all functions of a module that can be changed."""
    yield from _sites(tree, "", inside=False)


def _sites(parent: ast.AST, name: str, *, inside: bool) -> Iterator[Site]:
    prefix = f"{name}{'.<locals>' if inside else ''}." if name else ""
    for _, value in ast.iter_fields(parent):
        if not isinstance(value, list):
            continue
        for node in value:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield from _sites(node, f"{prefix}{node.name}", inside=True)
            elif isinstance(node, ast.ClassDef):
                yield from _sites(node, f"{prefix}{node.name}", inside=False)
            else:
                if inside and isinstance(node, ast.Return | ast.Assign | ast.AugAssign | ast.Expr | ast.If | ast.While):
                    yield Site(name, node, value)
                if isinstance(node, ast.stmt | ast.ExceptHandler | ast.match_case):
                    yield from _sites(node, name, inside=inside)


def _text(node: ast.stmt) -> str:
    if isinstance(node, ast.If | ast.While):
        return f"{'if' if isinstance(node, ast.If) else 'while'} {ast.unparse(node.test)}:"
    return ast.unparse(node)


def replacements(node: ast.stmt) -> list[str]:
    """Return the texts of all changes of one statement, each of a single operator, constant or returned value."""
    found = []
    inside: ast.AST = node.test if isinstance(node, ast.If | ast.While) else node
    for part in ast.walk(inside):
        found += [_text(node) for _ in _changes_of(part)]
    if isinstance(node, ast.Return) and node.value is not None and not isinstance(node.value, ast.Constant):
        found.append("return None")
    return [text for text in found if text != _text(node)]


def _changes_of(part: ast.AST) -> Iterator[None]:
    """Change a part in place for as long as the caller looks at it."""
    if isinstance(part, ast.Compare):
        for index, before in enumerate(part.ops):
            part.ops[index] = SWAPS[type(before)]()
            yield
            part.ops[index] = before
    elif isinstance(part, ast.BoolOp):
        operator = part.op
        part.op = ast.Or() if isinstance(operator, ast.And) else ast.And()
        yield
        part.op = operator
    elif isinstance(part, ast.Constant) and isinstance(part.value, bool | int):
        value = part.value
        part.value = not value if isinstance(value, bool) else value + 1
        yield
        part.value = value
    elif isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.Not) and isinstance(part.operand, ast.expr):
        operand = part.operand
        part.operand = ast.UnaryOp(ast.Not(), operand)
        yield
        part.operand = operand


def draw(folders: Sequence[Path], dice: random.Random) -> list[Mutation]:
    """Return one change of each statement that can be changed, in an order that the dice give."""
    drawn = []
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        tree = ast.parse(path.read_text())
        texts = [(site.function, site.text) for site in sites(tree)]
        for site in sites(tree):
            changes = replacements(site.node)
            if changes == ["return None"] and dice.random() < 0.7:
                continue  # most tests find these
            if changes and texts.count((site.function, site.text)) == 1:
                drawn.append(Mutation(site.function, site.text, dice.choice(changes)))
    names = [(one.function, one.statement) for one in drawn]
    drawn = [one for one in drawn if names.count((one.function, one.statement)) == 1]
    dice.shuffle(drawn)
    return drawn


def find(mutation: Mutation, folders: Sequence[Path]) -> list[Path]:
    """Return the files that hold the statement in a function of that name."""
    found = []
    name = mutation.function.rpartition(".")[2]
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        text = path.read_text()
        if f"def {name}(" in text or f"def {name}[" in text:
            held = [(site.function, site.text) for site in sites(ast.parse(text))]
            if (mutation.function, mutation.statement) in held:
                found.append(path)
    return found


def mutate(tree: ast.Module, mutation: Mutation) -> None:
    """Put the replacement into the tree of a module."""
    for site in list(sites(tree)):
        if (site.function, site.text) != (mutation.function, mutation.statement):
            continue
        if isinstance(site.node, ast.If | ast.While):
            (parsed,) = ast.parse(f"{mutation.replacement}\n    pass").body
            assert isinstance(parsed, ast.If | ast.While)
            site.node.test = _at(parsed.test, site.node)
        else:
            (parsed,) = ast.parse(f"def f():\n    {mutation.replacement}").body
            assert isinstance(parsed, ast.FunctionDef)
            site.body[site.body.index(site.node)] = _at(parsed.body[0], site.node)


def watch(tree: ast.Module, mutation: Mutation, call: str) -> None:
    """Put a call in front of the statement."""
    for site in list(sites(tree)):
        if (site.function, site.text) == (mutation.function, mutation.statement):
            site.body.insert(site.body.index(site.node), _at(ast.parse(call).body[0], site.node))


def _at(new: Node, old: ast.stmt) -> Node:
    for node in ast.walk(new):
        ast.copy_location(node, old)
    return new


def take_on(path: Path, tree: ast.Module) -> int:
    """Give every function that was made from a file the code of the changed tree; return how many took it."""
    codes: dict[tuple[str, int], CodeType] = {}
    waiting = [compile(tree, str(path), "exec")]
    while waiting:
        code = waiting.pop()
        codes[code.co_qualname, code.co_firstlineno] = code
        waiting += [constant for constant in code.co_consts if isinstance(constant, CodeType)]
    taken = 0
    gc.unfreeze()  # the tests' conftest.py freezes all objects, and `get_objects` leaves out what is frozen
    for function in gc.get_objects():
        if isinstance(function, FunctionType) and function.__code__.co_filename == str(path):
            old = function.__code__
            new = codes.get((old.co_qualname, old.co_firstlineno))
            if new is not None and new.co_freevars == old.co_freevars:
                function.__code__ = new
                taken += 1
    return taken
