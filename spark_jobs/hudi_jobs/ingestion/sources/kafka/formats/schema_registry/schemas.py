"""What a registry knows of a schema: pure values, checked as they come out of its answers."""

import json
from dataclasses import dataclass, field
from typing import Any

_MOST_REFERENCES = 200
_LONGEST_NAME = 500

AVRO, PROTOBUF = "AVRO", "PROTOBUF"
NOT_FOUND = frozenset({40401, 40402, 40403})
"""Error codes of the API for a subject, a version and a schema that it does not have."""


class NotTheApi(ValueError):
    """An answer is not one of the API; the text says what it is instead."""


@dataclass(frozen=True)
class Reference:
    """Another schema that a schema names: the name that it uses, and where the registry has it."""

    name: str
    subject: str
    version: int


@dataclass(frozen=True)
class Schema:
    """A schema of the registry: its language, its text, and what it refers to."""

    language: str
    text: str
    references: tuple[Reference, ...] = field(default=())


def parse(body: bytes) -> dict[str, Any]:
    """Return the object that an answer holds, or raise `NotTheApi`."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise NotTheApi("something that is not JSON") from error
    if not isinstance(found, dict):
        raise NotTheApi("JSON that is not an object")
    return found


def error_code(body: bytes) -> int | None:
    """Return the code by which the API says what went wrong, or None where this is no answer of the API."""
    try:
        code = parse(body).get("error_code")
    except NotTheApi:
        return None
    return code if isinstance(code, int) else None


def schema_of(answer: dict[str, Any]) -> Schema:
    """Return the schema in an answer, or raise `NotTheApi`."""
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
