"""What a page of the documentation tells a person to apply and to type, and the words that it uses for it."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from tests.docs.commands import typed_in

DOCS = Path(__file__).parents[2] / "docs"
RUNBOOKS = (
    "guides/restore.md",
    "guides/repair.md",
    "guides/erase.md",
    "guides/change-version.md",
    "guides/run-service.md",
    "guides/decisions.md",
    "guides/savepoints.md",
    "reference/operation.md",
    "reference/savepoint.md",
)
"""Pages that people follow step by step: every word of them has to be one of the product."""

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w+)\n(?P<text>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
_FENCED = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\]]+)\]\([^)\s]+\)")
_PART = re.compile(r"^spec:\s+# of an? (?P<kind>Hudi\w+)$", re.MULTILINE)
_COMMANDS = ("kubectl ", "hudi-operator ")

Document = dict[str, Any]


@dataclass(frozen=True)
class Block:
    """One block of code of a page, at its line."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def read(page: str) -> str:
    """Return the text of a page."""
    return (DOCS / page).read_text()


def section(page: str, anchor: str) -> str:
    """Return a part of a page, from the heading with this anchor to the next one of its level."""
    _, _, rest = read(page).partition(f'<a id="{anchor}"></a>\n')
    assert rest, f"{page} has no heading with the anchor {anchor}"
    return re.split(r"^## ", rest, maxsplit=1, flags=re.MULTILINE)[0]


def table_rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of a table, without its head."""
    lines = [line for line in text.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines[2:]]


def cells(text: str) -> list[str]:
    """Return the cells of all tables of a text as a reader sees them: a link is its label."""
    prose = _FENCED.sub("", text)
    lines = [line for line in prose.splitlines() if line.lstrip().startswith("|")]
    seen = (_LINK.sub(r"\1", line).strip() for line in lines)
    return [cell.strip() for line in seen for cell in re.split(r"(?<!\\)\|", line)[1:-1]]


def pages() -> list[str]:
    """Return the paths of all pages below `docs`."""
    return sorted(str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md"))


def blocks(page: str, language: str, *, text: str | None = None) -> list[Block]:
    """Return the blocks of a language, also of those inside of lists."""
    whole = read(page) if text is None else text
    return [
        Block(page, whole[: found.start()].count("\n") + 1, language, textwrap.dedent(found["text"]))
        for found in _BLOCK.finditer(whole)
        if found["language"] == language
    ]


def resources(block: Block) -> Iterator[Document]:
    """Yield the whole resources of ours that a block shows."""
    for document in yaml.safe_load_all(block.text):
        if isinstance(document, dict) and str(document.get("kind", "")).startswith("Hudi"):
            yield document


def part_of(block: Block) -> tuple[str, Document] | None:
    """Return the kind and the spec of a block that shows a part of a resource, and says so in its first line."""
    found = _PART.search(block.text)
    return (found["kind"], dict(yaml.safe_load(block.text)["spec"])) if found else None


def commands(page: str) -> list[list[str]]:
    """Return the commands of the console blocks of a page, and those that its prose names."""
    typed = [command for one in typed_in(read(page), page) for command in one.commands]
    return [*typed, *(shlex.split(one) for one in words(page) if one.startswith(_COMMANDS))]


def words(page: str) -> list[str]:
    """Return what stands as code in the prose and the tables of a page."""
    prose = _BLOCK.sub("", read(page))
    return re.findall(r"`([^`\n]+)`", prose)
