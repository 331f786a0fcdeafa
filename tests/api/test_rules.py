"""The rules of all kinds against one API server: what each resource may hold, and which words refuse the rest."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from tests.api.conftest import SMALLEST_SPECS, Resources
from tests.api.rules import (
    catalog_rules,
    change_rules,
    class_rules,
    continuous_rules,
    kafka_class_rules,
    kafka_rules,
    operation_rules,
    placement_rules,
    savepoint_rules,
    schedule_rules,
    schema_rules,
    service_rules,
    table_rules,
    upstream_rules,
)

from hudi_operator.api.crd.kinds import OPERATION, SAVEPOINT, TABLE, TABLE_CLASS, ResourceKind

Document = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Cases for rules of one kind: by its name, a document or a change, and for a refusal a part of its words."""

    kind: ResourceKind
    accepted: Mapping[str, Document] = field(default_factory=dict)
    refused: Mapping[str, tuple[Document, str]] = field(default_factory=dict)
    changes_accepted: Mapping[str, tuple[Document, Document]] = field(default_factory=dict)
    changes_refused: Mapping[str, tuple[Document, Document, str]] = field(default_factory=dict)


RULES = {
    "table": Rules(kind=TABLE, accepted=table_rules.ACCEPTED, refused=table_rules.REFUSED),
    "change": Rules(
        kind=TABLE, changes_accepted=change_rules.CHANGES_ACCEPTED, changes_refused=change_rules.CHANGES_REFUSED
    ),
    "services": Rules(kind=TABLE, accepted=service_rules.ACCEPTED, refused=service_rules.REFUSED),
    "kafka": Rules(
        kind=TABLE,
        accepted=kafka_rules.ACCEPTED,
        refused=kafka_rules.REFUSED,
        changes_accepted=kafka_rules.CHANGES_ACCEPTED,
    ),
    "upstream": Rules(kind=TABLE, accepted=upstream_rules.ACCEPTED, refused=upstream_rules.REFUSED),
    "continuous": Rules(kind=TABLE, accepted=continuous_rules.ACCEPTED, refused=continuous_rules.REFUSED),
    "schedule": Rules(kind=TABLE, accepted=schedule_rules.ACCEPTED, refused=schedule_rules.REFUSED),
    "placement": Rules(kind=TABLE, accepted=placement_rules.ACCEPTED, refused=placement_rules.REFUSED),
    "catalog": Rules(
        kind=TABLE,
        accepted=catalog_rules.ACCEPTED,
        refused=catalog_rules.REFUSED,
        changes_accepted=catalog_rules.CHANGES_ACCEPTED,
        changes_refused=catalog_rules.CHANGES_REFUSED,
    ),
    "schema": Rules(
        kind=TABLE,
        accepted=schema_rules.ACCEPTED,
        refused=schema_rules.REFUSED,
        changes_accepted=schema_rules.CHANGES_ACCEPTED,
        changes_refused=schema_rules.CHANGES_REFUSED,
    ),
    "class": Rules(kind=TABLE_CLASS, accepted=class_rules.ACCEPTED, refused=class_rules.REFUSED),
    "kafka of a class": Rules(
        kind=TABLE_CLASS, accepted=kafka_class_rules.CLASSES_ACCEPTED, refused=kafka_class_rules.CLASSES_REFUSED
    ),
    "placement of a class": Rules(
        kind=TABLE_CLASS, accepted=placement_rules.CLASSES_ACCEPTED, refused=placement_rules.CLASSES_REFUSED
    ),
    "catalog of a class": Rules(
        kind=TABLE_CLASS, accepted=catalog_rules.CLASSES_ACCEPTED, refused=catalog_rules.CLASSES_REFUSED
    ),
    "savepoint": Rules(
        kind=SAVEPOINT,
        accepted=savepoint_rules.ACCEPTED,
        refused=savepoint_rules.REFUSED,
        changes_accepted=savepoint_rules.CHANGES_ACCEPTED,
        changes_refused=savepoint_rules.CHANGES_REFUSED,
    ),
    "operation": Rules(
        kind=OPERATION,
        accepted=operation_rules.ACCEPTED,
        refused=operation_rules.REFUSED,
        changes_accepted=operation_rules.CHANGES_ACCEPTED,
        changes_refused=operation_rules.CHANGES_REFUSED,
    ),
}
"""The rules by their subject; each has a module of cases."""


def cases(of: Callable[[Rules], Mapping[str, Any]]) -> list[Any]:
    """Return the kind and the values of each case, named by its subject and the case."""
    found = ((subject, rules, name, values) for subject, rules in RULES.items() for name, values in of(rules).items())
    return [
        pytest.param(rules.kind, *(values if isinstance(values, tuple) else (values,)), id=f"{subject}: {name}")
        for subject, rules, name, values in found
    ]


@pytest.mark.cluster
@pytest.mark.parametrize(("kind", "values"), cases(lambda rules: rules.accepted))
def test_accepted(kind: ResourceKind, values: Document, resources_of: dict[str, Resources]) -> None:
    assert resources_of[kind.kind].refusal(values) == ""


@pytest.mark.cluster
@pytest.mark.parametrize(("kind", "values", "words"), cases(lambda rules: rules.refused))
def test_refused_with_a_sentence(
    kind: ResourceKind, values: Document, words: str, resources_of: dict[str, Resources]
) -> None:
    assert words in resources_of[kind.kind].refusal(values)


@pytest.mark.cluster
@pytest.mark.parametrize(("kind", "first", "then"), cases(lambda rules: rules.changes_accepted))
def test_change_accepted(
    kind: ResourceKind, first: Document, then: Document, resources_of: dict[str, Resources]
) -> None:
    assert resources_of[kind.kind].refusal_of_change(first, then) == ""


@pytest.mark.cluster
@pytest.mark.parametrize(("kind", "first", "then", "words"), cases(lambda rules: rules.changes_refused))
def test_change_refused_with_a_sentence(
    kind: ResourceKind, first: Document, then: Document, words: str, resources_of: dict[str, Resources]
) -> None:
    assert words in resources_of[kind.kind].refusal_of_change(first, then)


@pytest.mark.parametrize("kind", SMALLEST_SPECS, ids=lambda kind: kind.kind)
def test_no_rule_is_without_a_refused_case(kind: ResourceKind, checks_of: Callable[[ResourceKind], set[str]]) -> None:
    # An operation holds parts of a table's spec, and these parts have their cases there.
    rules = checks_of(kind) - (checks_of(TABLE) if kind is OPERATION else set())
    refused = [case[-1] for each in RULES.values() if each.kind is kind for case in each.refused.values()]
    refused += [case[-1] for each in RULES.values() if each.kind is kind for case in each.changes_refused.values()]
    assert {rule for rule in rules if not any(words in rule for words in refused)} == set()


def test_every_module_of_cases_is_in_the_list_of_rules() -> None:
    modules = {path.stem for path in Path(__file__).parent.glob("rules/*_rules.py")}
    listed = {name for name, value in globals().items() if name.endswith("_rules") and isinstance(value, ModuleType)}
    assert modules == listed
