"""Every command of a document is one that exists, or stands in the list of exceptions."""

from __future__ import annotations

import re

import pytest
from tests.docs.commands import EXCEPTIONS, PLUGIN, PROGRAMS, ROOT, Typed, typed, typed_in
from tests.docs.test_runbooks import parse

TYPED = {f"{one.place}: {one.line}": one for one in typed()}
COMMANDS = {f"{place} {number}": one for place, line in TYPED.items() for number, one in enumerate(line.commands)}


def of(*programs: str) -> pytest.MarkDecorator:
    chosen = {name: command for name, command in COMMANDS.items() if command[0] in programs}
    return pytest.mark.parametrize("command", chosen.values(), ids=chosen)


def test_program_of_a_command_is_tested_or_an_exception() -> None:
    used = {command[0] for command in COMMANDS.values()}
    assert used - PROGRAMS - EXCEPTIONS.keys() == set()
    assert EXCEPTIONS.keys() - used == set(), "remove what no document needs"


OWN = {
    name: command[2:] if command[:2] == ["kubectl", PLUGIN] else command[1:]
    for name, command in COMMANDS.items()
    if command[:2] == ["kubectl", PLUGIN] or command[0].endswith("hudi-operator")
}


@pytest.mark.parametrize("words", [one for one in OWN.values() if one != ["--help"]])
def test_command_line_knows_the_command(words: list[str]) -> None:
    parse(words)


@of("make")
def test_make_knows_the_target(command: list[str]) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {word for word in command[1:] if "=" not in word} <= targets


@of("uv", ".venv/bin/python", "dev/cluster", "dev/images")
def test_program_of_the_repository_knows_its_options(command: list[str]) -> None:
    words = [word.strip("[]") for word in command]
    at = next(index for index, word in enumerate(words) if (ROOT / word).is_file() and not word.endswith("/python"))
    program = (ROOT / words[at]).read_text()
    if words[at].startswith("dev/"):
        program = "".join(path.read_text() for path in (ROOT / "dev").rglob("*.py"))
    flags = {word.partition("=")[0] for word in words[at + 1 :] if word.startswith("--")}
    assert {flag for flag in flags if flag not in program} == set()


def test_line_is_taken_apart_at_pipes_and_ends() -> None:
    text = "```console\n$ kubectl get ht \\\n    -n a | grep b > c # why\nits output\n$ make test\n```\n"
    (first, second) = typed_in(text, "page")
    assert first.commands == [["kubectl", "get", "ht", "-n", "a"], ["grep", "b"]]
    assert second == Typed("page", "make test")
