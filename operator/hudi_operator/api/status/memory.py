"""`status.memory`: state of a table for the operator alone.

In code a status is a single value. In its document the fields for the operator alone lie below `memory`, at the same
path as in the value, without a schema: the API server neither prunes nor shows them.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from pydantic import BaseModel, GetJsonSchemaHandler
from pydantic.fields import FieldInfo
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from hudi_operator.api.values.base import Model

MEMORY = "memory"
"""Name of the field."""

MEMORY_SCHEMA: JsonSchemaValue = {
    "type": "object",
    "description": "The operator's own memory. Its content is internal and changes without notice.",
    "x-kubernetes-preserve-unknown-fields": True,
}

REMEMBERED = "x-remembered"
"""Keyword of a JSON schema: the properties that lie below `memory`."""

SHOWN = "x-shown"
"""Keyword of a JSON schema: properties of a document that the value does not have as fields."""

Document = dict[str, Any]


class DividedModel(Model):
    """A part of a status with fields for the operator alone; `remembered` names these fields."""

    remembered: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __get_pydantic_json_schema__(cls, core_schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        schema = handler.resolve_ref_schema(handler(core_schema))
        schema[REMEMBERED] = sorted(_key(name, cls.model_fields[name]) for name in cls.remembered)
        return schema


def divide(value: DividedModel, document: Mapping[str, Any]) -> tuple[Document, Document]:
    """Return what people read of a value's document, and what belongs below `memory`."""
    shown: Document = {}
    memory: Document = {}
    for name, field in type(value).model_fields.items():
        key, part = _key(name, field), getattr(value, name)
        if key not in document:
            continue
        if name in value.remembered:
            memory[key] = document[key]
        elif isinstance(part, DividedModel):
            outside, inside = divide(part, document[key])
            if inside:
                memory[key] = inside
            if outside or not inside:
                shown[key] = outside
        else:
            shown[key] = document[key]
    return shown, memory


def join(document: Mapping[str, Any]) -> Document:
    """Return a document with the content of `memory` at the places where the value has it.

    The memory wins over a text for people that is made from it.
    """
    shown = {key: value for key, value in document.items() if key != MEMORY}
    memory = document.get(MEMORY)
    return _joined(shown, memory) if isinstance(memory, Mapping) else shown


def _joined(shown: Mapping[str, Any], memory: Mapping[str, Any]) -> Document:
    both = {
        key: _joined(shown[key], value)
        for key, value in memory.items()
        if isinstance(value, Mapping) and isinstance(shown.get(key), Mapping)
    }
    return {**shown, **memory, **both}


def is_remembered(model: type[BaseModel], name: str) -> bool:
    """Tell whether a field of a model, by its name in Python, lies below `memory`."""
    return issubclass(model, DividedModel) and name in model.remembered


def _key(name: str, field: FieldInfo) -> str:
    return field.alias or name
