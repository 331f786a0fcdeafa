"""The commands that the documents of this repository tell a person to type."""

from __future__ import annotations

import re
import shlex
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAMS = frozenset(
    {
        "kubectl",
        "helm",
        "hudi-operator",
        ".venv/bin/hudi-operator",
        "make",
        "uv",
        ".venv/bin/python",
        "dev/cluster",
        "dev/images",
    }
)
"""Programs that are recognized in a block without prompts."""

PLUGIN = "hudi"
"""The word that makes kubectl run the command line of this project."""

EXCEPTIONS = {
    "install": "puts a file into the person's PATH",
    "ln": "puts a link into the person's PATH",
    "sha256sum": "a program of the system",
    "skopeo": "copies images to a registry; the test of a release does it with its own program",
    "export": "sets variables of the person's shell",
    "uvx": "fetches a program from the internet",
    "xargs": "runs a command for names that are not there in the tests",
}
"""Programs whose commands no test carries out, with the reason."""

_BLOCK = re.compile(r"^(?P<indent> *)```(?P<language>\w*)\n(?P<text>.*?)^(?P=indent)```", re.MULTILINE | re.DOTALL)
_ASSIGNMENT = re.compile(r"[A-Z_]+=")
_BETWEEN = frozenset({"|", "&&", "||", ";", ">", ">>", "<"})


@dataclass(frozen=True)
class Typed:
    """A line that a document tells a person to type, at its place: one command, or several with a pipe between."""

    place: str
    line: str

    @property
    def commands(self) -> list[list[str]]:
        """The words of each command of the line; redirections are left out."""
        found: list[list[str]] = [[]]
        skip = False
        for word in shlex.split(self.line, comments=True):
            if word in _BETWEEN:
                skip = word in {">", ">>", "<"}
                found.extend([] if skip else [[]])
            elif not skip and (found[-1] or not _ASSIGNMENT.match(word)):
                found[-1].append(word)
        return [command for command in found if command]


def documents() -> list[Path]:
    """Return every document with commands."""
    folders = (ROOT / "docs", ROOT / "charts", ROOT / "benchmarks", ROOT / "examples")
    inside = (path for folder in folders for path in folder.rglob("*.md"))
    return sorted([*inside, ROOT / "README.md", ROOT / "CONTRIBUTING.md"])


def typed() -> list[Typed]:
    """Return the commands of all documents."""
    return [one for path in documents() for one in typed_in(path.read_text(), str(path.relative_to(ROOT)))]


def typed_in(text: str, name: str) -> Iterator[Typed]:
    """Yield the commands of a document: lines with a prompt, and lines that begin with a known program."""
    for block in _BLOCK.finditer(text):
        if block["language"] not in {"console", "", "bash", "sh", "shell"}:
            continue
        whole = re.sub(r"( \|)?( *\\)?(?<=[|\\])\n\s*", r"\1 ", textwrap.dedent(block["text"]))
        for line in whole.splitlines():
            if line.startswith("$ "):
                yield Typed(name, line[2:])
            elif block["language"] != "console" and line.split(" ")[0] in PROGRAMS:
                yield Typed(name, line)
