"""Which namespaces may use a class."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.policy.namespace_cases import CASES, LABELS
from tests.planning.world import table_class

from hudi_operator.api.values.namespaces import AllowedNamespaces, NamespaceSelector
from hudi_operator.planning.model import BlockerReason
from hudi_operator.planning.policy.namespaces import asks_for_labels, described, namespace_blocker


@pytest.mark.parametrize("name", CASES)
def test_exactly_these_namespaces_may_use_the_class(name: str) -> None:
    document, expected = CASES[name]
    policy = table_class(**({"allowedNamespaces": document} if document else {}))
    found = {namespace for namespace, labels in LABELS.items() if namespace_blocker(policy, namespace, labels) is None}
    assert found == expected


def test_a_namespace_that_may_not_is_told_what_to_do_and_hidden() -> None:
    blocker = namespace_blocker(table_class(allowedNamespaces={"names": ["team-b"]}), "team-a", None)
    assert blocker is not None
    assert (blocker.reason, blocker.hides) == (BlockerReason.CLASS_NOT_ALLOWED, True)
    assert "HudiTableClass standard does not allow tables of namespace team-a" in blocker.message
    assert "team-b" not in blocker.message


def test_labels_that_cannot_be_read_let_nobody_in() -> None:
    policy = table_class(allowedNamespaces={"names": ["team-b"], "selector": {"matchLabels": {"env": "prod"}}})
    blocker = namespace_blocker(policy, "team-a", None)
    assert blocker is not None
    assert "the operator cannot read those of namespace team-a" in blocker.message
    assert namespace_blocker(policy, "team-b", None) is None


@pytest.mark.parametrize("allowed", [AllowedNamespaces(), AllowedNamespaces(selector=NamespaceSelector())])
def test_selector_that_the_api_server_should_refuse_lets_nobody_in(allowed: AllowedNamespaces) -> None:
    policy = table_class()
    policy = policy.copy_with(spec=policy.spec.copy_with(allowed_namespaces=allowed))
    for namespace, labels in LABELS.items():
        assert namespace_blocker(policy, namespace, labels) is not None


def test_labels_are_asked_for_only_where_they_decide() -> None:
    policy = table_class(allowedNamespaces={"names": ["team-b"], "selector": {"matchLabels": {"env": "prod"}}})
    assert asks_for_labels(policy, "team-a")
    assert not asks_for_labels(policy, "team-b")
    assert not asks_for_labels(table_class(), "team-a")
    assert not asks_for_labels(table_class(allowedNamespaces={"names": ["team-b"]}), "team-a")


@pytest.mark.parametrize(
    ("document", "text"),
    [
        (None, "All"),
        ({"names": ["team-a", "team-b"]}, "team-a, team-b"),
        (
            {
                "names": ["team-a"],
                "selector": {
                    "matchLabels": {"env": "prod"},
                    "matchExpressions": [
                        {"key": "tier", "operator": "In", "values": ["a", "b"]},
                        {"key": "x", "operator": "NotIn", "values": ["c"]},
                        {"key": "y", "operator": "Exists"},
                        {"key": "z", "operator": "DoesNotExist"},
                    ],
                },
            },
            "team-a, env=prod and tier in (a b) and x notin (c) and y and !z",
        ),
        ({}, "None"),
    ],
)
def test_a_class_shows_its_namespaces(document: dict[str, Any] | None, text: str) -> None:
    assert described(None if document is None else AllowedNamespaces.model_validate(document)) == text


def test_description_of_allowed_namespaces_is_bounded() -> None:
    names = tuple(f"{number:0>253}" for number in range(256))
    assert len(described(AllowedNamespaces(names=names))) <= 512
