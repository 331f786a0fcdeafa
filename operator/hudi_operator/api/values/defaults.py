"""Defaults of fields, as descriptions, pages and rules of the API server name them.

The operator applies defaults when it reads a resource, and the API server stores none. So a description names the
default, and a rule takes it from the same place.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel
from pydantic.fields import FieldInfo

DURATION_PATTERN = r"^([0-9]+(\.[0-9]+)?(ms|s|m|h))+$"
"""The pattern of a duration, which also tells durations from other texts in a schema."""

DEFAULT_KEY = "x-default"
"""Keyword of a JSON schema for the text of a default; it never reaches a CustomResourceDefinition."""


@dataclass(frozen=True)
class DefaultsTo:
    """A default that is no value of the model, such as a value of the class, in the words that follow "Default:"."""

    text: str


def default_text(field: FieldInfo) -> str:
    """Return the text of a field's default, or "" for a required field and a field without a default."""
    for one in field.metadata:
        if isinstance(one, DefaultsTo):
            return one.text
    if field.is_required():
        return ""
    return _text(field.get_default(call_default_factory=True, validated_data={}))


def _text(value: Any) -> str:  # noqa: ANN401 - whatever a model has as a default
    if isinstance(value, BaseModel):
        written = value.model_dump(by_alias=True, exclude_defaults=True, mode="json")
        return ", ".join(f"{name}: {text}" for name, text in written.items())
    if isinstance(value, Enum):
        return str(value.value)
    if isinstance(value, bool):
        return str(value).lower()
    return "" if value in (None, "", (), {}) else str(value)


def value_or(path: str, default: object, *, root: str = "self") -> str:
    """Return the CEL expression of a field, or of its default if the field or a section around it is absent."""
    return f"({_is_given(path, root)} ? {root}.{path} : {_literal(default)})"


def quantity_or(field: str, default: str) -> str:
    """Return the CEL expression of a quantity, or of its default if the field is absent or holds no quantity.

    A rule of the field itself refuses an invalid quantity; here it would end the rule with an error of its own.
    """
    given = f"has(self.{field}) && isQuantity(string(self.{field}))"
    return f"quantity({given} ? string(self.{field}) : {_literal(default)})"


def duration_or(path: str, default: str) -> str:
    """Return the CEL expression of a duration, or of its default if the field is absent or holds no duration."""
    given = f"{_is_given(path, 'self')} && self.{path}.matches(r'{DURATION_PATTERN}')"
    return f"duration({given} ? self.{path} : {_literal(default)})"


def _is_given(path: str, root: str) -> str:
    parts = path.split(".")
    return " && ".join(f"has({root}.{'.'.join(parts[: end + 1])})" for end in range(len(parts)))


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int) else f"'{value}'"
