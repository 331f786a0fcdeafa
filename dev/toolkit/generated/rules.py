"""The rules of a schema as a list for the documentation: the sentences with which the API server refuses a resource."""

import re
from collections.abc import Iterator

from hudi_operator.api.crd.definitions import Schema

_FIXED = re.compile(r"(\w+) cannot be changed; (create another \w+)")
_OBVIOUS = re.compile(r"must be less than \d+")


def rule_list(schema: Schema) -> str:
    """Return the rules of a model and of its own plain fields in Markdown, or "" without any."""
    rules = [*_merged(_messages(schema)), *_rules_of_fields(schema)]
    return "\nRules:\n\n" + "".join(f"- {_plain(rule)}.\n" for rule in rules) if rules else ""


def _plain(rule: str) -> str:
    """Return a sentence with the characters escaped that Markdown reads as emphasis."""
    return rule.replace("_", "\\_").replace("*", "\\*")


def _messages(schema: Schema) -> list[str]:
    return [rule["message"] for rule in schema.get("x-kubernetes-validations", ())]


def _rules_of_fields(schema: Schema) -> Iterator[str]:
    """Yield the rules of fields without a list of their own; fields with equal rules share an entry."""
    fields: dict[str, list[str]] = {}
    for name, field in schema.get("properties", {}).items():
        for message in _messages(field) if field.get("type") != "object" else ():
            if not _OBVIOUS.fullmatch(message):
                fields.setdefault(message, []).append(name)
    for message, names in fields.items():
        named = message.startswith(tuple(f"{name} " for name in names))
        yield message if named else f"{', '.join(f'`{name}`' for name in names)}: {message}"


def _merged(messages: list[str]) -> Iterator[str]:
    """Yield the messages; messages about immutable fields become a single sentence."""
    fixed = [found for message in messages if (found := _FIXED.fullmatch(message))]
    yield from (message for message in messages if not _FIXED.fullmatch(message))
    if fixed:
        yield f"{', '.join(f'`{found[1]}`' for found in fixed)} cannot be changed; {fixed[0][2]}"
