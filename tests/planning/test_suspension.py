"""What suspends a table: its spec, its annotation, or the annotation of its namespace."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from tests.planning.test_decide import launched
from tests.planning.world import observe, plan_for, status, status_of, table

from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.api.status.conditions import Condition, ConditionType, find_condition
from hudi_operator.api.status.findings import Severity
from hudi_operator.api.status.table_status import SUSPENSION_LIMIT, HudiTableStatus
from hudi_operator.planning.model import NamespaceObservation, Observation, suspension_text

TEXT = "maria: bucket moves"
SUSPENDING = NamespaceObservation(suspension=TEXT)


def annotated(value: str = TEXT, **spec: Any) -> Observation:
    return observe(table(annotations={SUSPEND_ANNOTATION: value}, **spec))


def suspended(after: HudiTableStatus) -> Condition | None:
    return find_condition(after.conditions, ConditionType.SUSPENDED)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, None),
        ("false", None),
        (" False\n", None),
        ("", ""),
        ("true", ""),
        ("TRUE", ""),
        ("no", "no"),
        (f" {TEXT} ", TEXT),
        ('the "big" move', "the 'big' move"),
        ("a\nb\x1b[31m\u202e", "a\\x0ab\\x1b[31m\\u202e"),
    ],
)
def test_an_annotation_suspends_unless_it_is_false_and_its_text_is_escaped(value: str | None, text: str | None) -> None:
    assert suspension_text(value) == text


@pytest.mark.parametrize("value", ["x" * 10_000, "\x07" * 10_000])
def test_the_text_of_a_long_annotation_is_shortened(value: str) -> None:
    text = suspension_text(value)
    assert text is not None
    assert len(text) == SUSPENSION_LIMIT
    assert text.endswith("...")


CAUSES = {
    "by its spec": (observe(table(suspend=True)), "spec.suspend is false"),
    "by its annotation": (
        annotated(),
        f'the annotation hudi-operator.io/suspend of the table ("{TEXT}") is removed',
    ),
    "by its annotation without a text": (
        annotated("true"),
        "the annotation hudi-operator.io/suspend of the table is removed",
    ),
    "by its namespace": (
        observe(namespace=SUSPENDING),
        f'the annotation hudi-operator.io/suspend of namespace team-a ("{TEXT}") is removed',
    ),
    "by its namespace, although its own annotation is false": (
        replace(annotated("false"), namespace=NamespaceObservation(suspension="")),
        "the annotation hudi-operator.io/suspend of namespace team-a is removed",
    ),
    "by all three": (replace(annotated(suspend=True), namespace=SUSPENDING), "spec.suspend is false"),
    "by both annotations": (
        replace(annotated("table"), namespace=SUSPENDING),
        'the annotation hudi-operator.io/suspend of the table ("table") is removed',
    ),
}


@pytest.mark.parametrize(("seen", "end"), CAUSES.values(), ids=CAUSES)
def test_a_suspended_table_starts_nothing_and_says_what_ends_the_suspension(seen: Observation, end: str) -> None:
    plan, after = plan_for(seen), status_of(seen)
    assert not launched(plan)
    assert plan.services.ingestion.due
    assert plan.services.ingestion.reason == "Suspended"
    assert f"no new job starts until {end}." in plan.services.ingestion.message
    condition = suspended(after)
    assert condition is not None
    assert condition.message == f"No new job starts until {end}; running jobs finish."


@pytest.mark.parametrize("seen", [observe(), annotated("false")], ids=["no annotation", "false"])
def test_a_table_that_nothing_suspends_starts_what_is_due(seen: Observation) -> None:
    assert launched(plan_for(seen))
    assert suspended(status_of(seen)) is None


def stored(after: HudiTableStatus) -> HudiTableStatus:
    """The status as the next process of the operator reads it."""
    return HudiTableStatus.model_validate(json.loads(json.dumps(after.to_document())))


@pytest.mark.parametrize("text", [TEXT, ""], ids=["with a text", "without a text"])
def test_a_namespace_that_can_no_longer_be_read_keeps_its_tables_suspended(text: str) -> None:
    before = stored(status_of(observe(namespace=NamespaceObservation(suspension=text))))
    seen = observe(table(status=before), namespace=None)
    assert not launched(plan_for(seen))
    assert suspended(status_of(seen)) == suspended(before)
    (finding,) = status_of(seen).findings
    assert finding.code == "NamespaceUnreadable"
    assert finding.message.startswith("The operator may not read namespace team-a")
    assert finding.message.endswith("by what it read last, the table stays suspended.")


def test_a_namespace_that_cannot_be_read_and_suspended_nothing_suspends_nothing() -> None:
    seen = observe(namespace=None)
    assert launched(plan_for(seen))
    (finding,) = status_of(seen).findings
    assert (finding.code, finding.severity, finding.blocks) == ("NamespaceUnreadable", Severity.WARNING, ())
    assert finding.message.endswith("by what it read last, the table is not suspended by it.")


def test_a_namespace_that_suspends_no_longer_is_forgotten() -> None:
    before = status(namespace_suspension=TEXT)
    after = status_of(observe(table(status=before)))
    assert after.namespace_suspension is None
    assert suspended(after) is None
