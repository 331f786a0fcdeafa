"""A registry's schemas as pure values, checked when parsed."""

import json
from dataclasses import dataclass, field
from typing import Any

_MOST_REFERENCES = 200
_LONGEST_NAME = 500

AVRO, PROTOBUF = "AVRO", "PROTOBUF"
NOT_FOUND = frozenset({40401, 40402, 40403})
"""The API's error codes for a missing subject, version or schema."""


class NotTheApi(ValueError):
    """A response does not come from the API; the text describes what it is."""


@dataclass(frozen=True)
class Reference:
    """A referenced schema: the name used, and its place in the registry."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class Schema:
    """A schema of the registry: language, text and references."""

    language: str
    text: str
    references: tuple[Reference, ...] = field(default=())


def parse(body: bytes) -> dict[str, Any]:
    """Parse a response's object, or raise `NotTheApi`."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotTheApi("something that is not JSON") from error
    if not isinstance(found, dict):
        raise NotTheApi("JSON that is not an object")
    return found


def error_code(body: bytes) -> int | None:
    """Return the API's error code, or None if the response does not come from the API."""
    try:
        code = parse(body).get("error_code")
    except NotTheApi:
        return None
    return code if isinstance(code, int) else None


def schema_of(answer: dict[str, Any]) -> Schema:
    """Return the schema in a response, or raise `NotTheApi`."""
    text, language = answer.get("schema"), answer.get("schemaType") or AVRO
    references = answer.get("references") or []
    if not isinstance(text, str) or not isinstance(language, str) or not isinstance(references, list):
        raise NotTheApi("no schema")
    if len(references) > _MOST_REFERENCES:
        raise NotTheApi(f"a schema with more than {_MOST_REFERENCES} references")
    return Schema(language[:_LONGEST_NAME].upper(), text, tuple(map(_reference, references)))


def _reference(found: object) -> Reference:
    if isinstance(found, dict):
        name, subject, version = found.get("name"), found.get("subject"), found.get("version")
        texts = isinstance(name, str) and isinstance(subject, str) and max(len(name), len(subject)) <= _LONGEST_NAME
        if texts and isinstance(version, int):
            return Reference(str(name), str(subject), version)
    raise NotTheApi("a reference without its name, subject and version")
