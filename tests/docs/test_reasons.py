"""The pages for users explain every word that a status holds, and the registry has it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.docs.pages import pages, read

from hudi_jobs.contract import FailureReason
from hudi_jobs.operations.erase.selection import FUNCTIONS
from hudi_operator.api.status.conditions import ConditionType
from hudi_operator.planning.model import PodTrouble
from hudi_operator.planning.model.healing import run_retry
from hudi_operator.planning.model.reason_registry import KINDS, REGISTRY, Entry
from hudi_operator.planning.model.reasons import Retry

ROOT = Path(__file__).parents[2]
GENERATED = "reference/names.md"
WRITTEN = "\n".join(read(page) for page in pages() if page != GENERATED)
EXPLAINED = {word for code in re.findall(r"`([^`\n]+)`", WRITTEN) for word in re.findall(r"\w+", code)}
NAMES = {str(entry.name) for entry in REGISTRY}
TOLD_BY = {"make", "Transition", "Readiness", "_ready", "concealed"}
PACKAGE = ROOT / "operator" / "hudi_operator"
SOURCES = sorted((*(PACKAGE / "planning").rglob("*.py"), *(PACKAGE / "control").rglob("*.py")))


@pytest.mark.parametrize("word", sorted(NAMES | set(ConditionType)))
def test_the_pages_explain(word: str) -> None:
    assert word in EXPLAINED


@pytest.mark.parametrize("source", SOURCES, ids=lambda source: str(source.relative_to(PACKAGE)))
def test_every_reason_that_reaches_a_user_is_in_the_registry(source: Path) -> None:
    assert set(reasons_of_code(source.read_text())) <= NAMES


@pytest.mark.parametrize(
    "code",
    [
        'make(kind, status, "Invented", message)',
        'Transition(warning=True, reason="Invented", message="")',
        'Readiness(reason=last.reason or "Invented")',
        'run.copy_with(reason="Invented")',
        'REASON = "Invented"',
    ],
)
def test_a_reason_that_is_made_up_in_place_is_found(code: str) -> None:
    assert list(reasons_of_code(code)) == ["Invented"]


def test_every_enumeration_has_a_kind_and_every_member_one_entry() -> None:
    assert [entry.name for entry in REGISTRY] == [member for kind in KINDS for member in kind]


@pytest.mark.parametrize("entry", REGISTRY, ids=lambda entry: f"{type(entry.name).__name__}.{entry.name.name}")
def test_reason_that_stops_something_says_what_helps(entry: Entry) -> None:
    assert entry.advice or entry.retry is Retry.NEVER


def test_the_tables_of_reasons_and_events_name_no_other() -> None:
    listed = set(in_tables(WRITTEN))
    assert len(listed) > 80
    assert listed <= NAMES


def test_no_page_shows_a_condition_with_another_reason() -> None:
    assert {reason for reason in reasons_of_page(WRITTEN) if reason not in NAMES} == set()


def test_a_table_with_an_invented_reason_is_found() -> None:
    assert list(in_tables("| reason | meaning |\n|---|---|\n| `Invented`, `Other` | |\n\n| `Elsewhere` | |")) == [
        "Invented",
        "Other",
    ]


def test_a_condition_with_an_invented_reason_is_found() -> None:
    assert list(reasons_of_page("| x | `Stalled=True Invented` |")) == ["Invented"]


def test_only_what_the_spec_can_change_waits_for_a_change() -> None:
    assert run_retry(FailureReason.INVALID_REQUEST) is Retry.ON_CHANGE
    assert run_retry(PodTrouble.EVICTED) is Retry.INFRASTRUCTURE
    assert run_retry("FromAnotherVersion") is Retry.JOB


def in_tables(page: str) -> Iterator[str]:
    """Yield the words in the first column of the tables of reasons and of Events."""
    for _, rows in re.findall(r"^\| (reason|Event) \|.*\n\|[-|]+\n((?:\|.*\n?)+)", page, re.M):
        for row in rows.splitlines():
            yield from re.findall(r"`(\w+)`", row.split("|")[1])


def reasons_of_page(page: str) -> Iterator[str]:
    """Yield the reasons that a page shows beside the status of a condition."""
    yield from re.findall(r"`(?:Ready|Reconciling|Stalled)=\w+ ([A-Z]\w+)", page)


def reasons_of_code(code: str) -> Iterator[str]:
    """Yield the literals of a module that stand where a reason is told: arguments, entries and public constants."""
    for node in ast.walk(ast.parse(code)):
        match node:
            case ast.Call(func=ast.Name(id=name), args=given) if name in TOLD_BY:
                yield from _words(*given)
            case ast.keyword(arg="reason", value=value):
                yield from _words(value)
            case ast.Dict(keys=keys, values=values):
                pairs = zip(keys, values, strict=True)
                yield from _words(
                    *(value for key, value in pairs if isinstance(key, ast.Constant) and key.value == "reason")
                )
            case ast.Module(body=body):
                yield from _words(*(one.value for one in body if isinstance(one, ast.Assign)))
            case _:
                pass


def _words(*nodes: ast.expr) -> Iterator[str]:
    for node in nodes:
        options = node.values if isinstance(node, ast.BoolOp) else [node]
        for one in options:
            if (
                isinstance(one, ast.Constant)
                and isinstance(one.value, str)
                and re.fullmatch("[A-Z][a-z]+([A-Z][a-z]+)*", one.value)
            ):
                yield one.value


def test_the_functions_that_a_predicate_may_call_are_listed() -> None:
    (listed,) = re.findall(r"^Functions of a predicate: (.*?)\.$", WRITTEN, re.DOTALL | re.MULTILINE)
    assert re.findall(r"`(\w+)`", listed) == sorted(FUNCTIONS)
