"""Only `Location` joins a name to the path of a table, a source or another folder in a store."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TREES = ("operator/hudi_operator", "spark_jobs/hudi_jobs")
HOME = "spark_jobs/hudi_jobs/contract/table/location.py"

_SHOWN = 65

FOLDERS = frozenset({"base", "base_path", "folder", "keys_from", "location", "path", "quarantine_path", "root", "url"})
"""Names that hold the path of a folder in a store, wherever it comes from."""

ALLOWED = {
    ("archive", "f'{folder.toString()}/{name}'"): "Hudi's own folder of the archive, and a name that was checked",
    ("check", "f'{folder}/{name}'"): "a partition relative to the table",
    ("http", "url.rstrip('/')"): "the URL of a schema registry",
    ("kafka", "registry.url.rstrip('/')"): "the URL of a schema registry",
    ("names", "f'{folder}/'"): "a folder relative to the table",
    ("names", "f'{folder}/{name}'"): "a folder relative to the table, for the text of a problem",
    ("objects", "f'{path}/{subresource}'"): "a path of the Kubernetes API",
    ("protobuf_compiler", "f'{folder}/'"): "a local temporary folder",
    ("record", "f'{folder}/'"): "fingerprints are hashes of texts in this spelling",
    ("record", "f'{root}/{file.path}'"): "fingerprints are hashes of this text",
    (
        "record",
        "f'{self._folder.toString()}/{segment.name}, which records the fil",
    ): "a message, with Hadoop's spelling of the folder",
}
"""Joins of texts that are no location, or that a location would make dear, and why."""


def joins_in(source: str) -> dict[str, int]:
    """Return the expressions that join a name to a folder's path without a location, each with its line."""
    nodes = (node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.expr) and _joins(node))
    return {ast.unparse(node)[:_SHOWN]: node.lineno for node in nodes}


def _joins(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        pairs = zip(node.values, node.values[1:], strict=False)
        return any(_is_folder(one) and _begins_with_slash(other) for one, other in pairs)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return _is_folder(node.left) and _begins_with_slash(node.right)
    if isinstance(node, ast.Call):
        return ast.unparse(node.func) in {"posixpath.join", "os.path.join"} or _strips_slashes(node)
    return False


def _strips_slashes(call: ast.Call) -> bool:
    function, given = call.func, [ast.unparse(one) for one in call.args]
    if not isinstance(function, ast.Attribute) or function.attr != "rstrip":
        return False
    return given == ["'/'"] and _is_folder(function.value)


def _is_folder(node: ast.expr) -> bool:
    if isinstance(node, ast.FormattedValue):
        return _is_folder(node.value)
    if isinstance(node, ast.Call):
        inner = node.func.value if isinstance(node.func, ast.Attribute) else node.args[0] if node.args else None
        return inner is not None and _is_folder(inner)
    name = node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
    return name.lstrip("_") in FOLDERS


def _begins_with_slash(node: ast.expr) -> bool:
    if isinstance(node, ast.JoinedStr):
        return bool(node.values) and _begins_with_slash(node.values[0])
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("/")


def modules() -> list[str]:
    found = (path for tree in TREES for path in (ROOT / tree).rglob("*.py"))
    return sorted(str(path.relative_to(ROOT)) for path in found)


JOINED = {
    (Path(module).stem, joined): f"{module}:{line}"
    for module in modules()
    if module != HOME
    for joined, line in joins_in((ROOT / module).read_text()).items()
}


def test_no_module_joins_a_path_but_the_module_of_locations() -> None:
    found = {place: joined for joined, place in JOINED.items() if joined not in ALLOWED}
    assert not found, "join with `location / name`, or name the expression in ALLOWED with the reason"


@pytest.mark.parametrize("joined", ALLOWED)
def test_join_that_is_allowed_still_exists(joined: tuple[str, str]) -> None:
    assert joined in JOINED, "the join is gone: remove it from ALLOWED"


@pytest.mark.parametrize(
    "joined",
    [
        'f"{base_path}/x"',
        "f\"{base_path.rstrip('/')}/x\"",
        'f"{self._folder}/{name}"',
        'f"{table.base_path}/x"',
        'f"{str(root)}/x"',
        'base + "/"',
        'table.url + f"/{name}"',
        "posixpath.join(base, name)",
        'root.rstrip("/")',
    ],
)
def test_join_without_a_location_is_found(joined: str) -> None:
    assert set(joins_in(joined).values()) == {1}


@pytest.mark.parametrize("other", ['f"{namespace}/{name}"', "base / name", 'f"{name} of {base}"', 'name.rstrip("/")'])
def test_other_texts_are_no_joins(other: str) -> None:
    assert not joins_in(other)
