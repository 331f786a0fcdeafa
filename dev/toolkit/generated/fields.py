"""Lists of fields for the documentation, made from the models that the server checks with.

A page holds each list between two comments, `<!-- fields of Ingestion -->` and `<!-- end of fields -->`, with the name
of a model. `dev/generate.py` replaces the text between them.
"""

import re
from collections.abc import Iterator
from typing import get_args

from pydantic import BaseModel, WithJsonSchema
from pydantic.fields import FieldInfo

from hudi_operator.api.crd.definitions import Schema, structural_schema
from hudi_operator.api.spec.operation import HudiOperationSpec
from hudi_operator.api.spec.savepoint import HudiSavepointSpec
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.conditions import HudiTableClassStatus
from hudi_operator.api.status.memory import is_remembered
from hudi_operator.api.status.operation_status import HudiOperationStatus
from hudi_operator.api.status.savepoints import HudiSavepointStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.values.base import DURATION_PATTERN, DefaultsTo, default_text
from toolkit.generated.rules import rule_list

_BLOCK = re.compile(r"(<!-- fields of (\w+) -->\n).*?(<!-- end of fields -->)", re.DOTALL)


def with_field_lists(page: str) -> str:
    """Return a page with all its lists of fields replaced; raise KeyError for an unknown model."""
    models = documented_models()
    return _BLOCK.sub(lambda match: f"{match[1]}\n{field_list(models[match[2]])}\n{match[3]}", page)


def documented_models() -> dict[str, type[BaseModel]]:
    """Return all models of the resources by their names."""
    return {model.__name__: model for root in _ROOTS for model in _reachable(root)}


def field_list(model: type[BaseModel]) -> str:
    """Return a model's fields as a list in Markdown, each with its type, default and description, and its rules."""
    schema = structural_schema(model)
    properties = schema["properties"]
    entries = (
        (field.alias or name, properties[field.alias or name], field)
        for name, field in model.model_fields.items()
        if not is_remembered(model, name)
    )
    fields = (
        f"- `{name}` ({_type(shape)}{_default(field)}): {_text(shape.get('description', ''))}\n"
        for name, shape, field in entries
    )
    return "".join(fields) + rule_list(schema)


_ROOTS: tuple[type[BaseModel], ...] = (
    HudiTableSpec,
    HudiTableClassSpec,
    HudiTableStatus,
    HudiTableClassStatus,
    HudiSavepointSpec,
    HudiSavepointStatus,
    HudiOperationSpec,
    HudiOperationStatus,
)


def _reachable(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for name, field in model.model_fields.items():
        for part in () if is_remembered(model, name) else _models_in(field.annotation):
            yield from _reachable(part)


def _models_in(annotation: object) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    parts = get_args(annotation)
    if any(isinstance(part, WithJsonSchema) for part in parts):
        return  # a document holds a text
    for part in parts:
        yield from _models_in(part)


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "items" in schema:
        return f"list of {_plural(_type(schema['items']))}"
    if "additionalProperties" in schema:
        return f"map of {_plural(_type(schema['additionalProperties']))}"
    return _scalar(schema)


def _scalar(schema: Schema) -> str:
    if schema.get("x-kubernetes-int-or-string"):
        return "quantity"
    if schema.get("pattern") == DURATION_PATTERN:
        return "duration"
    if schema.get("format") == "date-time":
        return "time"
    return {"object": "object", "string": "text", "integer": "number", "boolean": "true or false"}[schema["type"]]


def _plural(kind: str) -> str:
    if kind.startswith("map of "):
        return f"maps{kind.removeprefix('map')}"
    return kind if kind.startswith("`") else f"{kind.removesuffix('y')}ies" if kind.endswith("y") else f"{kind}s"


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "; required"
    text = default_text(field)
    if not text:
        return ""
    in_words = any(isinstance(one, DefaultsTo) for one in field.metadata)
    return f"; default: {_text(text)}" if in_words else f"; default `{text}`"


def _text(text: str) -> str:
    return " ".join(text.split()).replace("<", "&lt;")
