"""The base of all resource models, the scalar types that Kubernetes users expect, defaults and choices.

The operator applies defaults when it reads a resource, and the API server stores none. So a description names the
default, and a rule takes it from the same place.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from decimal import Decimal
from enum import Enum, StrEnum
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hudi_jobs.contract.document import Document

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


GROUP = "hudi-operator.io"
VERSION = "v1beta1"

WORDS_KEY = "x-words"
"""Keyword of a JSON schema: the requirement of a pattern in words; it never reaches a CustomResourceDefinition."""

_DURATION = re.compile(DURATION_PATTERN)
_DURATION_PART = re.compile(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h)")
_LONGEST_DURATION = 32
_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_LONGEST_SECONDS = 2**63 / 10**9  # Go counts nanoseconds in 64 bits

LARGEST_INT = 2**31 - 1
"""The largest number that Hudi reads as a Java int, as it reads its counts."""

LARGEST_LONG = 2**63 - 1
"""The largest number that Hudi reads as a Java long, as it reads bytes and offsets; quantities are smaller."""

OptionValue = Annotated[str, Field(max_length=1024)]
"""The value of an option that Spark or Hudi is given."""

Count = Annotated[int, Field(ge=1, le=LARGEST_INT)]
"""A number of things, at least 1."""

_LONGEST_QUANTITY = 32
_QUANTITY_PATTERN = r"^([0-9]+(\.[0-9]+)?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$"
_QUANTITY = re.compile(_QUANTITY_PATTERN)
_FACTORS = {
    None: Decimal(1),
    "m": Decimal("0.001"),
    "k": Decimal(10**3),
    "M": Decimal(10**6),
    "G": Decimal(10**9),
    "T": Decimal(10**12),
    "P": Decimal(10**15),
    "Ki": Decimal(2**10),
    "Mi": Decimal(2**20),
    "Gi": Decimal(2**30),
    "Ti": Decimal(2**40),
    "Pi": Decimal(2**50),
}


class Model(Document):
    """A document with a description of each field.

    Unknown fields are ignored when read, so that an older operator can work beside a newer CRD.
    """

    model_config = ConfigDict(use_attribute_docstrings=True)

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Add the text of each default, for descriptions and pages."""
        schema = handler(core_schema)
        properties = handler.resolve_ref_schema(schema)["properties"]
        for name, field in cls.model_fields.items():
            properties[field.alias or name][DEFAULT_KEY] = default_text(field)
        return schema


def parse_duration(text: str) -> timedelta:
    """Read a Go duration such as `1h30m`; raise ValueError for anything else."""
    if len(text) > _LONGEST_DURATION or not _DURATION.fullmatch(text):
        raise ValueError(f"{text[:_LONGEST_DURATION]!r} is not a duration such as 30s, 5m or 1h30m")
    seconds = sum(float(number) * _SECONDS[unit] for number, unit in _DURATION_PART.findall(text))
    if seconds > _LONGEST_SECONDS:
        raise ValueError(f"{text!r} is longer than the longest duration, 292 years")
    return timedelta(seconds=seconds)


def parse_quantity(text: str) -> Decimal:
    """Read a Kubernetes quantity such as `120Mi` or `500m`; raise ValueError for anything else."""
    match = _QUANTITY.fullmatch(text) if len(text) <= _LONGEST_QUANTITY else None
    if match is None:
        raise ValueError(f"{text[:_LONGEST_QUANTITY]!r} is not a quantity such as 120Mi, 2Gi or 500m")
    quantity = Decimal(match.group(1)) * _FACTORS[match.group(3)]
    if quantity >= LARGEST_LONG:  # the API server reads every larger quantity as this quantity
        raise ValueError(f"{text!r} is too large: a quantity must be less than {LARGEST_LONG}")
    return quantity


def quantity_bytes(text: str) -> int:
    """Read a quantity of bytes, rounded down to a whole number."""
    return int(parse_quantity(text))


def _checked_duration(text: str) -> str:
    parse_duration(text)
    return text


def _checked_quantity(text: str) -> str:
    parse_quantity(text)
    return text


def _number_to_text(value: Any) -> Any:  # noqa: ANN401 - a validator sees whatever the document holds
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def rules(*pairs: tuple[str, str]) -> dict[str, Any]:
    """Return the JSON schema extension for CEL rules, each given as (expression, sentence for the user)."""
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in pairs]}


def words(text: str, *pairs: tuple[str, str]) -> dict[str, Any]:
    """Return the JSON schema extension with a field's pattern in words, and with its CEL rules.

    The API server would show the pattern alone. In a CustomResourceDefinition a rule with these words takes its place,
    and a pattern of a spec without words is refused.
    """
    return {WORDS_KEY: text, **(rules(*pairs) if pairs else {})}


Duration = Annotated[
    str,
    AfterValidator(_checked_duration),
    Field(
        json_schema_extra={
            "pattern": DURATION_PATTERN,
            "maxLength": _LONGEST_DURATION,
            **words("must be a duration such as 30s, 5m or 1h30m; there are no days"),
        }
    ),
]
"""A Go duration such as `30s`, `5m` or `1h30m`."""

Quantity = Annotated[
    str,
    BeforeValidator(_number_to_text),
    AfterValidator(_checked_quantity),
    Field(
        json_schema_extra={
            "x-kubernetes-int-or-string": True,
            "pattern": _QUANTITY_PATTERN,
            "maxLength": _LONGEST_QUANTITY,
            **words(
                "must be a quantity such as 120Mi, 2Gi, 500m or a plain number, which is not negative",
                (
                    f"!isQuantity(string(self)) || quantity(string(self)).compareTo(quantity('{LARGEST_LONG}')) < 0",
                    f"must be less than {LARGEST_LONG}",
                ),
            ),
        }
    ),
]
"""A Kubernetes quantity such as `120Mi`, `2Gi` or `500m`; plain numbers are accepted."""


Timestamp = Annotated[str, Field(json_schema_extra={"format": "date-time"})]
"""RFC 3339 in UTC."""

InstantText = Annotated[
    str,
    Field(
        pattern=r"^[0-9]{14}([0-9]{3})?$",
        max_length=17,
        json_schema_extra=words(
            "must be the requested time of an instant, 17 digits such as 20260310115900000, or 14 from before Hudi 0.10"
        ),
    ),
]
"""The requested time of an instant as a spec names it."""

InstantTime = Annotated[str, Field(max_length=32)]
"""A Hudi instant time, `yyyyMMddHHmmssSSS` in the table's own time zone."""

SUBDOMAIN = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*"
"""The pattern of a name in DNS, which Kubernetes asks of names of objects and of prefixes of labels."""

Name = Annotated[
    str,
    Field(
        pattern=rf"^{SUBDOMAIN}$",
        max_length=253,
        json_schema_extra=words(
            "must be the name of a Kubernetes object: lower-case letters, digits, '-' and '.', with a letter or digit "
            "at both ends and beside each '.'"
        ),
    ),
]
"""The name of another Kubernetes object."""


def at_least(field: str, least: str) -> tuple[str, str]:
    """Return the rule that a field with a duration, if it is set, is not shorter than a bound."""
    return (f"{duration_or(field, least)} >= duration('{least}')", f"{field} must be at least {least}")


def not_less(field: str, least: str) -> tuple[str, str]:
    """Return the rule that a field with a quantity, if it is set, is not less than a bound."""
    return (
        f"{quantity_or(field, least)}.compareTo(quantity('{least}')) >= 0",
        f"{field} must be at least {least}",
    )


def matches_any(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name equals a pattern, or begins with the prefix of a pattern that ends with `*`."""
    return any(name.startswith(one[:-1]) if one.endswith("*") else name == one for one in patterns)


K = TypeVar("K")


def exactly_one(fields: Iterable[str], message: str) -> tuple[str, str]:
    """Return the rule that exactly one field is given."""
    given = ", ".join(f"has(self.{field})" for field in fields)
    return f"[{given}].exists_one(given, given)", message


def given_fields(model: Model, fields: Mapping[K, str]) -> dict[K, Any]:
    """Return the given values of a model by the meaning of their fields; `fields` maps field names to meanings."""
    documents = {to_camel(name): getattr(model, name) for name in type(model).model_fields}
    return {key: documents[field] for key, field in fields.items() if documents[field] is not None}


LONGEST_OWNER = 330
"""The most characters of the name of an operator, or of a run."""


class DecisionKind(StrEnum):
    """The decision of a person about a table."""

    RESCAN = "Rescan"
    """Input is read once more."""

    ACCEPT_COMMITS = "AcceptCommits"
    """Commits of other writers on a Serialized table are accepted."""

    TAKE_OVER = "TakeOver"
    """The table is taken over from another operator."""

    ACKNOWLEDGE_BAD_ROWS = "AcknowledgeBadRows"
    """Quarantined rows have been seen."""
