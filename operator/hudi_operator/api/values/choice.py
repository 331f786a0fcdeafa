"""Models with several fields of which exactly one is given."""

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from pydantic.alias_generators import to_camel

from hudi_operator.api.values.base import Model

K = TypeVar("K")


def exactly_one(fields: Iterable[str], message: str) -> tuple[str, str]:
    """Return the rule that exactly one field is given."""
    given = ", ".join(f"has(self.{field})" for field in fields)
    return f"[{given}].exists_one(given, given)", message


def given_fields(model: Model, fields: Mapping[K, str]) -> dict[K, Any]:
    """Return the given values of a model by the meaning of their fields; `fields` maps field names to meanings."""
    documents = {to_camel(name): getattr(model, name) for name in type(model).model_fields}
    return {key: documents[field] for key, field in fields.items() if documents[field] is not None}
