"""`status.memory`: state of a table for the operator alone, and short texts in place of objects.

In code a status is a single value. In its document the fields for the operator alone lie below `memory`, at the same
path as in the value, without a schema: the API server neither prunes nor shows them.

Each instant of a timeline is one text, and so is each entry of `memory`: JSON that ends in a newline, which
`kubectl get -o yaml` shows on a line of its own instead of breaking it at 80 columns.
"""

import json
from collections.abc import Callable, Mapping
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


INSTANT_LINE_LIMIT = 128
INSTANT_PATTERN = r"^\S+ \S+ \S+( \S+)?$"

_INSTANT = ("time", "action", "state", "completedAt")
_LONGEST_ENTRY = 1_048_576

Change = Callable[[Any], Any]


def with_lines(document: Mapping[str, Any]) -> Document:
    """Return the document of a status with texts for instants and for the entries of its memory."""
    memory = document.get(MEMORY)
    written = {MEMORY: {key: _entry_line(value) for key, value in memory.items()}} if memory else {}
    return _with_instants({**document, **written}, _instant_line)


def joined(document: Mapping[str, Any]) -> Document:
    """Return a stored status as a document of objects, with the content of `memory` at its places.

    An unreadable text stays a text, and reading by parts leaves it out.
    """
    memory = document.get(MEMORY)
    if isinstance(memory, Mapping):
        document = {**document, MEMORY: {key: _entry_of(value) for key, value in memory.items()}}
    return _with_instants(join(document), _instant_of)


def _with_instants(document: Document, change: Change) -> Document:
    timeline = document.get("timeline")
    if not isinstance(timeline, Mapping):
        return document
    lists = {name: timeline[name] for name in ("instants", "pending") if isinstance(timeline.get(name), list)}
    changed = {name: [change(item) for item in items] for name, items in lists.items()}
    return {**document, "timeline": {**timeline, **changed}}


def _instant_line(instant: Mapping[str, str]) -> str:
    return " ".join(instant[name] for name in _INSTANT if name in instant)


def _instant_of(line: Any) -> Any:  # noqa: ANN401 - whatever the document holds
    values = line.split(" ") if isinstance(line, str) and len(line) <= INSTANT_LINE_LIMIT else []
    return dict(zip(_INSTANT, values, strict=False)) if len(values) in {3, 4} else line


def _entry_line(entry: Any) -> str:  # noqa: ANN401 - any part of a document
    return json.dumps(entry, separators=(",", ":"), ensure_ascii=False) + "\n"


def _entry_of(line: Any) -> Any:  # noqa: ANN401 - whatever the document holds
    if not isinstance(line, str) or len(line) > _LONGEST_ENTRY:
        return line
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return line
