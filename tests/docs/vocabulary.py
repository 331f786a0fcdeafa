"""The words of the product: fields by their paths, and the names of reasons, phases, values, kinds and annotations."""

from __future__ import annotations

import enum
import importlib
import pkgutil
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import hudi_jobs.contract
import hudi_operator.api
from hudi_operator.api.crd.definitions import crd_document
from hudi_operator.api.crd.kinds import KINDS
from hudi_operator.planning.model.reason_registry import REGISTRY

Schema = dict[str, Any]
OPERATOR = Path(__file__).parents[2] / "operator"


@cache
def schemas() -> tuple[Schema, ...]:
    """Return the schema of each kind."""
    return tuple(crd_document(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"] for kind in KINDS)


def has_path(path: str) -> bool:
    """Whether a kind of ours has such a field; a path may begin below spec, as a page of one kind shows it."""
    steps = re.sub(r"\[[^]]*\]", "", path).split(".")
    return any(_leads(one, steps) for schema in schemas() for one in (schema, *_parts(schema, 1)))


def _leads(schema: Schema, steps: list[str]) -> bool:
    if not steps or schema.get("x-kubernetes-preserve-unknown-fields"):
        return True
    if "items" in schema:
        return _leads(schema["items"], steps)
    found = schema.get("properties", {}).get(steps[0])
    return found is not None and _leads(found, steps[1:])


def _parts(schema: Schema, depth: int) -> Iterator[Schema]:
    for name in ("spec", "status"):
        if depth and name in schema.get("properties", {}):
            yield schema["properties"][name]


@cache
def fields() -> frozenset[str]:
    """Return the names of all fields."""
    return frozenset(name for schema in schemas() for name in _names(schema))


def _names(schema: Schema) -> Iterator[str]:
    for name, part in schema.get("properties", {}).items():
        yield name
        yield from _names(part)
    for part in (schema.get("items"), schema.get("additionalProperties")):
        if isinstance(part, dict):
            yield from _names(part)


@cache
def names() -> frozenset[str]:
    """Return reasons, Events and conditions, the values of all enumerations, and kinds."""
    members = {str(member) for one in _enumerations() for member in one}
    return frozenset({str(entry.name) for entry in REGISTRY} | members | {kind.kind for kind in KINDS})


def _enumerations() -> Iterator[type[enum.StrEnum]]:
    for package in (hudi_operator.api, hudi_jobs.contract):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for value in vars(importlib.import_module(found.name)).values():
                if isinstance(value, type) and issubclass(value, enum.StrEnum) and value is not enum.StrEnum:
                    yield value


@cache
def sources() -> str:
    """Return the text of the operator, in which annotations, finalizers and metrics are named."""
    return "\n".join(path.read_text() for path in sorted(OPERATOR.rglob("*.py")))
