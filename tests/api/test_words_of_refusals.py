"""What the API server says of a text with the wrong form: words for a person, in every field of every spec."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.api.conftest import SMALLEST_SPECS, Resources, pattern_words

from hudi_operator.api.crd.definitions import crd_document
from hudi_operator.api.crd.kinds import KINDS, ResourceKind

Schema = dict[str, Any]
Path = tuple[str, ...]

WRONG = "a b\x01\n"
"""A text that no pattern of a spec allows."""


def _formed(schema: Schema, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the path and the words of each field whose text has a form."""
    if words := pattern_words(schema):
        yield path, words
    for name, part in schema.get("properties", {}).items():
        yield from _formed(part, (*path, name))
    for keyword, step in (("items", "[]"), ("additionalProperties", "{}")):
        if keyword in schema:
            yield from _formed(schema[keyword], (*path, step))


def _filled(schema: Schema, path: Path = ()) -> Any:
    """Return the smallest value of a schema that holds the wrong text at a path, and what is required around it."""
    if "properties" in schema:
        names = {*schema.get("required", ()), *path[:1]}
        return {name: _filled(schema["properties"][name], path[1:] if name in path[:1] else ()) for name in names}
    if schema.get("type") == "array":
        return [_filled(schema["items"], path[1:])]
    if "additionalProperties" in schema:
        return {"key": _filled(schema["additionalProperties"], path[1:])}
    if "enum" in schema:
        return schema["enum"][0]
    return {"integer": schema.get("minimum", 0), "boolean": True}.get(schema.get("type", ""), WRONG)


def _spec_schema(kind: ResourceKind) -> Schema:
    found: Schema = crd_document(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    return found


FIELDS = [
    pytest.param(kind, path, words, id=f"{kind.kind}.{'.'.join(path)}")
    for kind in KINDS
    for path, words in _formed(_spec_schema(kind))
]


@pytest.mark.cluster
@pytest.mark.parametrize(("kind", "path", "words"), FIELDS)
def test_a_text_with_the_wrong_form_is_refused_in_words(
    kind: ResourceKind, path: Path, words: str, resources_of: dict[str, Resources]
) -> None:
    wrong = _filled(_spec_schema(kind), path)
    changes = {f"spec.{path[0]}": wrong[path[0]]}
    refusal = resources_of[kind.kind].refusal(changes)
    named = "spec." + ".".join(path).replace(".[]", "[0]").replace(".{}", "[key]")
    assert f"{named}: Invalid value" in refusal
    assert words in refusal
    assert "should match" not in refusal
    assert "conversion error" not in refusal


def test_the_fields_are_those_of_every_kind() -> None:
    assert {kind.kind for kind in KINDS} == {case.values[0].kind for case in FIELDS}  # type: ignore[union-attr]
    assert len(FIELDS) > 100
    assert SMALLEST_SPECS.keys() == set(KINDS)
