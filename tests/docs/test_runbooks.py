"""What a person follows step by step names only what there is: fields, reasons, phases, annotations and commands."""

from __future__ import annotations

import re
from contextlib import suppress

import click
import pytest
from tests.docs import vocabulary
from tests.docs.pages import RUNBOOKS, blocks, commands, part_of, resources, words

from hudi_operator.cli.registry import load
from hudi_operator.telemetry.metrics import metrics

EVERY = pytest.mark.parametrize("page", RUNBOOKS)
OF_KUBERNETES = {"True", "False", "Unknown", "ResourceQuota", "Current"}
_PATH = re.compile(r"(?:spec|status|operations|retry|job|savepoints|metadataTable|ingestion)(?:\.\w+)+")
_CAMEL_CASE = re.compile(r"[a-z]+(?:[A-Z][a-z0-9]*)+")
_PASCAL_CASE = re.compile(r"(?:[A-Z][a-z]+)+")


@EVERY
def test_a_page_shows_whole_resources_or_says_of_which_kind_a_part_is(page: str) -> None:
    shown = blocks(page, "yaml")
    assert [str(block) for block in shown if not list(resources(block)) and part_of(block) is None] == []


@EVERY
def test_a_page_names_fields_that_there_are(page: str) -> None:
    named = {word.partition(":")[0] for word in words(page)}
    paths = {word for word in named if _PATH.fullmatch(word)}
    assert {path for path in paths if not vocabulary.has_path(path)} == set()
    assert {word for word in named if _CAMEL_CASE.fullmatch(word)} - vocabulary.fields() == set()


@EVERY
def test_a_page_names_reasons_phases_and_values_that_there_are(page: str) -> None:
    named = {part for word in words(page) for part in re.split(r"=|: ", word) if _PASCAL_CASE.fullmatch(part)}
    assert named - vocabulary.names() - OF_KUBERNETES == set()


@EVERY
def test_a_page_names_annotations_finalizers_and_metrics_that_there_are(page: str) -> None:
    named = set(
        re.findall(r"`(hudi-operator\.io/[\w-]+|hudi_operator_\w+)", "".join(f"`{word}" for word in words(page)))
    )
    there = {description.name for description in metrics.descriptions}
    assert {word for word in named - there if f'"{word}"' not in vocabulary.sources()} == set()


@EVERY
def test_a_page_names_commands_of_ours_that_there_are(page: str) -> None:
    given = commands(page)
    assert {command[0] for command in given} <= {"kubectl", "hudi-operator"}
    for command in given:
        if command[0] == "hudi-operator":
            parse(command[1:])


def test_the_pages_together_name_what_the_tests_look_for() -> None:
    every = [word for page in RUNBOOKS for word in words(page)]
    assert sum(len(blocks(page, "yaml")) for page in RUNBOOKS) >= len(RUNBOOKS)
    assert sum(len(commands(page)) for page in RUNBOOKS) > 10
    assert len([word for word in every if _PATH.fullmatch(word)]) > 20
    assert len([word for word in every if _PASCAL_CASE.fullmatch(word)]) > 50
    assert len([word for word in every if word.startswith(("hudi-operator.io/", "hudi_operator_"))]) > 3


def parse(arguments: list[str]) -> None:
    """Read the arguments of a command of ours; whatever makes no sense raises, and so fails the test.

    A word in capitals stands for a name.
    """
    name, *others = (one.lower() if one.isupper() and not one.startswith("-") else one for one in arguments)
    with suppress(click.exceptions.Exit):  # --help
        load(name).make_context(name, others)


def test_missing_runbook_is_found() -> None:
    assert [vocabulary.has_path(path) for path in ("spec.restore.instant", "spec.restore.invented")] == [True, False]
    assert "Invented" not in vocabulary.names()
    with pytest.raises(ImportError):
        parse(["invent"])
    with pytest.raises(click.UsageError):
        parse(["version", "--invent"])
    inside = "1. Do:\n\n    ```yaml\n    kind: HudiTable\n    ```\n\n"
    text = f"{inside}```yaml\nspec: # of a HudiTable\n  suspend: true\n```\n"
    whole, part = blocks("a.md", "yaml", text=text)
    assert (list(resources(whole)), part_of(whole), part.line) == ([{"kind": "HudiTable"}], None, 7)
    assert part_of(part) == ("HudiTable", {"suspend": True})
