"""Namespaces and classes, and who may use which: for the operator and for the policy of the chart alike."""

from __future__ import annotations

from typing import Any

Document = dict[str, Any]

LABELS = {
    "team-a": {"env": "prod", "tier": "gold", "example.com/owner": "a"},
    "team-b": {"env": "dev", "empty": ""},
    "team-c": {},
}
"""Labels of namespaces."""


def selector(*expressions: Document, **labels: str) -> Document:
    document: Document = {}
    if labels:
        document["matchLabels"] = labels
    if expressions:
        document["matchExpressions"] = list(expressions)
    return {"selector": document}


def one(key: str, operator: str, *values: str) -> Document:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


CASES: dict[str, tuple[Document | None, set[str]]] = {
    "every namespace": (None, {"team-a", "team-b", "team-c"}),
    "by name": ({"names": ["team-a"]}, {"team-a"}),
    "by several names": ({"names": ["team-c", "team-b"]}, {"team-b", "team-c"}),
    "nobody who is there": ({"names": ["team", "team-a-b", "eam-a"]}, set()),
    "by a label": (selector(env="prod"), {"team-a"}),
    "by an empty label": (selector(empty=""), {"team-b"}),
    "by two labels": (selector(env="prod", tier="gold"), {"team-a"}),
    "by two labels of which one differs": (selector(env="prod", tier="silver"), set()),
    "by a label of a domain": ({"selector": {"matchLabels": {"example.com/owner": "a"}}}, {"team-a"}),
    "In": (selector(one("env", "In", "prod", "dev")), {"team-a", "team-b"}),
    "In with another value": (selector(one("env", "In", "test")), set()),
    "NotIn": (selector(one("env", "NotIn", "prod")), {"team-b", "team-c"}),
    "Exists": (selector(one("tier", "Exists")), {"team-a"}),
    "DoesNotExist": (selector(one("env", "DoesNotExist")), {"team-c"}),
    "labels and expressions": (selector(one("tier", "Exists"), env="prod"), {"team-a"}),
    "expressions that exclude one another": (selector(one("env", "Exists"), one("env", "DoesNotExist")), set()),
    "labels but not expressions": (selector(one("tier", "DoesNotExist"), env="prod"), set()),
    "by name or label": ({"names": ["team-c"], **selector(env="prod")}, {"team-a", "team-c"}),
}
"""What `allowedNamespaces` says, and the namespaces that it lets in."""
