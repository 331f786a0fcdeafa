"""The generator of the CRDs: from models to structural schemas, and the command that writes and checks the files."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import pytest
import yaml
from pydantic import BaseModel, Field
from pydantic_core import PydanticUndefinedType

from hudi_operator.api.crd import definitions as crd
from hudi_operator.api.crd.definitions import NotStructural, structural_schema
from hudi_operator.api.crd.kinds import KINDS, SAVEPOINT, ResourceKind
from hudi_operator.api.spec.table_writing import IndexType
from hudi_operator.api.values.base import DefaultsTo, Duration, Model, Quantity, rules, words

ROOT = Path(__file__).parents[2]
LARGEST_BYTES = 200_000  # client-side apply keeps a copy as JSON in an annotation, and that may hold 256 KiB


class Inner(Model):
    """What an inner value is."""

    size: int = 3
    """How large it is."""


class Outer(Model):
    """What an outer value is."""

    required_text: Annotated[str, Field(pattern="^a+$", max_length=8)]
    optional_text: Annotated[str, Field(min_length=2)] | None = None
    inner: Inner = Inner()
    described: Inner | None = None
    """Why there is an inner value here,
    in two lines.
    """
    choice: IndexType = IndexType.BLOOM
    constant: Literal["only"] = "only"
    above: Annotated[int, Field(gt=0)] = 1
    quantity: Quantity = "1Gi"
    duration: Duration = "5m"
    labels: dict[str, str] = Field(default_factory=dict, json_schema_extra={"maxProperties": 4})
    items: Annotated[tuple[Inner, ...], Field(json_schema_extra={"x-kubernetes-list-type": "atomic"})] = ()
    ruled: Annotated[int, Field(json_schema_extra=rules(("self < 5", "must be small")))] = 1


CONVERSIONS: dict[str, tuple[str, dict[str, Any]]] = {
    "bounds of a text stay": ("requiredText", {"type": "string", "pattern": "^a+$", "maxLength": 8}),
    "an optional field loses its null": ("optionalText", {"type": "string", "minLength": 2}),
    "a reference is written out with the description of its model": (
        "inner",
        {
            "description": "What an inner value is.",
            "type": "object",
            "properties": {"size": {"type": "integer", "description": "How large it is."}},
        },
    ),
    "the description of a field wins and becomes one line": (
        "described",
        {
            "description": "Why there is an inner value here, in two lines.",
            "type": "object",
            "properties": {"size": {"type": "integer", "description": "How large it is."}},
        },
    ),
    "an enum keeps its values": (
        "choice",
        {
            "description": "How Hudi finds the file group of a record key.",
            "type": "string",
            "enum": [kind.value for kind in IndexType],
        },
    ),
    "a constant becomes an enum of one": ("constant", {"type": "string", "enum": ["only"]}),
    "an exclusive bound becomes a flag": ("above", {"type": "integer", "minimum": 0, "exclusiveMinimum": True}),
    "a quantity is an integer or a string": (
        "quantity",
        {
            "x-kubernetes-int-or-string": True,
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "pattern": "^([0-9]+(\\.[0-9]+)?)(m|k|M|G|T|P|Ki|Mi|Gi|Ti|Pi)?$",
            "maxLength": 32,
            "x-kubernetes-validations": [
                {
                    "rule": "!isQuantity(string(self)) || "
                    "quantity(string(self)).compareTo(quantity('9223372036854775807')) < 0",
                    "message": "must be less than 9223372036854775807",
                }
            ],
        },
    ),
    "a duration has a pattern": (
        "duration",
        {"type": "string", "maxLength": 32, "pattern": "^([0-9]+(\\.[0-9]+)?(ms|s|m|h))+$"},
    ),
    "a map keeps the type of its values and its bound": (
        "labels",
        {"type": "object", "additionalProperties": {"type": "string"}, "maxProperties": 4},
    ),
    "a list keeps its list type": (
        "items",
        {
            "type": "array",
            "x-kubernetes-list-type": "atomic",
            "items": {
                "description": "What an inner value is.",
                "type": "object",
                "properties": {"size": {"type": "integer", "description": "How large it is."}},
            },
        },
    ),
    "a rule stays": (
        "ruled",
        {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 5", "message": "must be small"}]},
    ),
}


@pytest.mark.parametrize(("name", "schema"), CONVERSIONS.values(), ids=CONVERSIONS)
def test_conversion(name: str, schema: dict[str, Any]) -> None:
    assert structural_schema(Outer)["properties"][name] == schema


def test_only_fields_without_a_default_are_required() -> None:
    assert structural_schema(Outer)["required"] == ["requiredText"]


DESCRIPTIONS = {
    "a value": ("inner.size", "How large it is. Default: 3."),
    "a field of a model that is used twice": ("described.size", "How large it is. Default: 3."),
    "an object whose default is that of its fields": ("inner", "What an inner value is."),
    "an object with a default of its own": ("ruledBySize", "What an inner value is. Default: size: 5."),
    "a choice": ("choice", "How Hudi finds the file group of a record key. Default: Bloom."),
    "a default in words": ("fromTheClass", "Which one. Default: that of the class."),
    "an optional field without a default": ("comment", "Why."),
}


class Defaults(Model):
    inner: Inner = Inner()
    described: Inner | None = None
    """Why there is an inner value here."""
    choice: IndexType = IndexType.BLOOM
    ruled_by_size: Inner = Inner(size=5)
    from_the_class: Annotated[str | None, DefaultsTo("that of the class")] = None
    """Which one."""
    comment: str | None = None
    """Why."""


@pytest.mark.parametrize(("path", "description"), DESCRIPTIONS.values(), ids=DESCRIPTIONS)
def test_a_description_ends_with_the_default_of_its_field(path: str, description: str) -> None:
    part = structural_schema(Defaults, for_people=True)
    for name in path.split("."):
        part = part["properties"][name]
    assert part["description"] == description
    assert "default" not in part


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_optional_field_of_a_spec_names_its_default_in_one_form(kind: ResourceKind) -> None:
    schema = crd.crd_document(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    found = dict(_fields_with_defaults(kind.spec, schema, "spec"))
    assert found or kind is SAVEPOINT
    assert {path: text for path, (default, text) in found.items() if not text.endswith(f"Default: {default}.")} == {}
    assert [text for text in _descriptions(schema) if "by default" in text] == []


def _fields_with_defaults(
    model: type[BaseModel], schema: dict[str, Any], path: str
) -> Iterator[tuple[str, tuple[str, str]]]:
    for name, field in model.model_fields.items():
        part = schema["properties"][field.alias or name]
        place = f"{path}.{field.alias or name}"
        default = field.get_default(call_default_factory=True, validated_data={})
        if not isinstance(default, PydanticUndefinedType | BaseModel | None) and default not in ((), {}):
            written = json.dumps(default).lower() if isinstance(default, bool) else str(default)
            yield place, (written, part["description"])
        for nested in _models_of(field.annotation):
            inside = part.get("items") or part.get("additionalProperties") or part
            yield from _fields_with_defaults(nested, inside, place)


def _models_of(annotation: Any) -> Iterator[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation
    for part in get_args(annotation):
        yield from _models_of(part)


def _descriptions(schema: dict[str, Any]) -> Iterator[str]:
    yield schema.get("description", "")
    for part in schema.get("properties", {}).values():
        yield from _descriptions(part)


def test_no_rule_repeats_a_default() -> None:
    """A default in a rule comes from `value_or` and its like, which take it from the field."""
    sources = sorted((ROOT / "operator" / "hudi_operator" / "api" / "spec").rglob("*.py"))
    repeated = [
        f"{path.name}: {line.strip()}"
        for path in sources
        for line in path.read_text().splitlines()
        if re.search(r"\? (string\()?self[\w.{}()]* : ['\d]|\(defaults? \d", line)
    ]
    assert sources
    assert repeated == []


class Worded(Model):
    """Patterns that have words, and rules beside them."""

    plain: Annotated[str, Field(pattern="^a+$", max_length=8, json_schema_extra=words("must be of the letter a"))]
    ruled: Annotated[
        str, Field(pattern="^a+$", max_length=8, json_schema_extra=words("must be of a", ("self != 'aa'", "not two")))
    ]
    size: Quantity = "1Gi"


def test_a_rule_with_words_takes_the_place_of_a_pattern() -> None:
    found = structural_schema(Worded, for_people=True)["properties"]
    rule = {"rule": "self.matches(r'^a+$')", "message": "must be of the letter a"}
    assert found["plain"] == {"type": "string", "maxLength": 8, "x-kubernetes-validations": [rule]}
    assert [one["message"] for one in found["ruled"]["x-kubernetes-validations"]] == ["must be of a", "not two"]
    assert found["size"]["x-kubernetes-validations"][0]["rule"].startswith("string(self).matches(")
    assert "pattern" not in found["size"]


class _NoWords(Model):
    value: Annotated[str, Field(pattern="^a+$", max_length=8)]


class _NoBound(Model):
    value: Annotated[str, Field(pattern="^a+$", json_schema_extra=words("must be of the letter a"))]


@pytest.mark.parametrize("model", [_NoWords, _NoBound])
def test_a_pattern_of_a_spec_without_words_or_a_bound_is_no_schema(model: type[BaseModel]) -> None:
    with pytest.raises(NotStructural, match="value: a pattern of a spec needs words, a maxLength"):
        structural_schema(model, for_people=True)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_no_pattern_is_left_in_a_spec(kind: ResourceKind) -> None:
    schema = crd.crd_document(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]
    assert re.findall(r"'(?:pattern|format)': '", str(schema)) == []


class _Union(BaseModel):
    value: int | str


class _Anything(BaseModel):
    value: dict[str, Any]


class _Pair(BaseModel):
    value: tuple[int, str]


NOT_STRUCTURAL: dict[str, tuple[type[BaseModel], str]] = {
    "a union of two types": (_Union, "_Union.value: a union of 2 types"),
    "a map of anything": (_Anything, "_Anything.value: a map needs a type for its values"),
    "a pair of two types": (_Pair, "_Pair.value: prefixItems has no place in a structural schema"),
}


@pytest.mark.parametrize(("model", "message"), NOT_STRUCTURAL.values(), ids=NOT_STRUCTURAL)
def test_not_structural(model: type[BaseModel], message: str) -> None:
    with pytest.raises(NotStructural, match="^" + message):
        structural_schema(model)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_every_field_has_a_description(kind: ResourceKind) -> None:
    root = crd.crd_document(kind)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    assert [path for part in ("spec", "status") if part in root for path in _undescribed(root[part], part)] == []


def _undescribed(schema: dict[str, Any], path: str) -> list[str]:
    found = [] if schema.get("description") else [path]
    for name, part in schema.get("properties", {}).items():
        found += _undescribed(part, f"{path}.{name}")
    if schema.get("items", {}).get("type") == "object":
        found += _undescribed(schema["items"], f"{path}[]")
    return found


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_definition_is_small_enough_for_every_way_to_apply_it(kind: ResourceKind) -> None:
    assert len(json.dumps(crd.crd_document(kind)).encode()) < LARGEST_BYTES


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_one_version_of_a_kind_is_served_and_stored(kind: ResourceKind) -> None:
    """An older version beside it would have the fields of today alone, so that the API server drops renamed ones."""
    versions = crd.crd_document(kind)["spec"]["versions"]
    assert [(one["name"], one["served"], one["storage"]) for one in versions] == [("v1beta1", True, True)]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.kind)
def test_the_text_reads_back_as_the_document(kind: ResourceKind) -> None:
    assert yaml.load(crd.crd_yaml(kind), yaml.CSafeLoader) == crd.crd_document(kind)
