"""Which namespaces may use a class."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.namespace_cases import CASES, LABELS
from tests.planning.world import table_class

from hudi_operator.api.namespaces import AllowedNamespaces, NamespaceSelector
from hudi_operator.planning.model import Blocked
from hudi_operator.planning.policy.namespaces import asks_for_labels, described, namespace_obstacle


@pytest.mark.parametrize("name", CASES)
def test_exactly_these_namespaces_may_use_the_class(name: str) -> None:
    document, expected = CASES[name]
    walls = table_class(**({"allowedNamespaces": document} if document else {}))
    found = {namespace for namespace, labels in LABELS.items() if namespace_obstacle(walls, namespace, labels) is None}
    assert found == expected


def test_a_namespace_that_may_not_is_told_what_to_do_and_hidden() -> None:
    obstacle = namespace_obstacle(table_class(allowedNamespaces={"names": ["team-b"]}), "team-a", None)
    assert obstacle is not None
    assert (obstacle.reason, obstacle.hides) == (Blocked.CLASS_NOT_ALLOWED, True)
    assert "HudiTableClass standard is not for tables of namespace team-a" in obstacle.message
    assert "team-b" not in obstacle.message


def test_labels_that_cannot_be_read_let_nobody_in() -> None:
    walls = table_class(allowedNamespaces={"names": ["team-b"], "selector": {"matchLabels": {"env": "prod"}}})
    obstacle = namespace_obstacle(walls, "team-a", None)
    assert obstacle is not None
    assert "which the operator cannot read" in obstacle.message
    assert namespace_obstacle(walls, "team-b", None) is None


@pytest.mark.parametrize("allowed", [AllowedNamespaces(), AllowedNamespaces(selector=NamespaceSelector())])
def test_what_the_api_server_should_have_refused_lets_nobody_in(allowed: AllowedNamespaces) -> None:
    walls = table_class()
    walls = walls.model_copy(update={"spec": walls.spec.model_copy(update={"allowed_namespaces": allowed})})
    for namespace, labels in LABELS.items():
        assert namespace_obstacle(walls, namespace, labels) is not None


def test_labels_are_asked_for_only_where_they_decide() -> None:
    walls = table_class(allowedNamespaces={"names": ["team-b"], "selector": {"matchLabels": {"env": "prod"}}})
    assert asks_for_labels(walls, "team-a")
    assert not asks_for_labels(walls, "team-b")
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


def test_what_is_shown_is_bounded() -> None:
    names = tuple(f"{number:0>253}" for number in range(256))
    assert len(described(AllowedNamespaces(names=names))) <= 512
