"""Models of which exactly one of several fields is given, each standing for something."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic.alias_generators import to_camel

from hudi_operator.api.values.base import Model

K = TypeVar("K")


def exactly_one(fields: Iterable[str], message: str) -> tuple[str, str]:
    """Return the rule that one field is given, and no other."""
    given = ", ".join(f"has(self.{field})" for field in fields)
    return f"[{given}].exists_one(given, given)", message


def given_fields(model: Model, fields: Mapping[K, str]) -> dict[K, Any]:
    """Return what is given of a model, by what its fields stand for; `fields` has them as they are written."""
    documents = {to_camel(name): getattr(model, name) for name in type(model).model_fields}
    return {key: documents[field] for key, field in fields.items() if documents[field] is not None}
