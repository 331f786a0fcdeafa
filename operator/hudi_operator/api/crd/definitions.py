"""The CustomResourceDefinitions, generated from the models: structural schemas, a subset of OpenAPI.

The rules are those of KEP-2335 and of `k8s.io/apiextensions-apiserver/pkg/apiserver/schema`: no references, no titles,
no `null` in `anyOf`, no type beside `x-kubernetes-int-or-string`. The operator applies defaults when it reads, so that
the API server never writes into what a user declared: a schema names a default in the description alone.
"""

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import BaseModel

from hudi_operator.api.crd.kinds import KINDS, ResourceKind
from hudi_operator.api.status.memory import REMEMBERED, SHOWN
from hudi_operator.api.values.base import DEFAULT_KEY, GROUP, VERSION, WORDS_KEY, rules

__all__ = ["KINDS", "crd_document", "crd_yaml"]


Schema = dict[str, Any]

_REFERENCE_PREFIX = "#/$defs/"
_DROPPED = frozenset({"title", "default", "$defs", "examples", "deprecated", "discriminator"})
_COPIED = frozenset(
    {
        "type",
        "format",
        "enum",
        "pattern",
        "minLength",
        "maxLength",
        "minimum",
        "maximum",
        "multipleOf",
        "minItems",
        "maxItems",
        "uniqueItems",
        "minProperties",
        "maxProperties",
        "required",
    }
)
_INT_OR_STRING = "x-kubernetes-int-or-string"


class NotStructural(ValueError):
    """A model that no structural schema can express; the message names the place."""


def structural_schema(model: type[BaseModel], *, for_people: bool = False, as_value: bool = False) -> Schema:
    """Return the structural schema of a model, without defaults and with every reference written out.

    With `for_people`, as in a spec, each description ends with the default of its field ("Default: 120Mi."), and a rule
    with words takes the place of each pattern. The schema of a status is that of its document, or with `as_value` that
    of the value in code (`status/memory`).

    Raises NotStructural if the model uses a construct that an API server would refuse, such as a union of two types, or
    would drop without notice, such as an unknown keyword.
    """
    raw = model.model_json_schema(by_alias=True, mode="validation")
    converter = _Converter(raw.get("$defs", {}), for_people=for_people, as_value=as_value)
    return converter.convert(raw, path=model.__name__)


class _Converter:
    """Converts the parts of a JSON schema; `path` is the place of a part, for error messages."""

    def __init__(self, definitions: Mapping[str, Schema], *, for_people: bool, as_value: bool) -> None:
        self._definitions = definitions
        self._for_people = for_people
        self._as_value = as_value

    def convert(self, raw: Schema, *, path: str) -> Schema:
        node = self._without_references(raw, path=path)
        result: Schema = {}
        default = node.pop(DEFAULT_KEY, "")
        remembered, besides = node.pop(REMEMBERED, ()), node.pop(SHOWN, {})
        if not self._as_value and (remembered or besides):
            shown = {name: part for name, part in node["properties"].items() if name not in remembered}
            node["properties"] = shown | besides
        if "description" in node:
            ending = f" Default: {default}." if default and self._for_people else ""
            result["description"] = _one_line_per_paragraph(node.pop("description")) + ending
        if node.get(_INT_OR_STRING):
            node.pop("type", None)
            result["anyOf"] = [{"type": "integer"}, {"type": "string"}]
        words = node.pop(WORDS_KEY, None)
        if "pattern" in node and self._for_people:
            node = _with_words(node, words, path=path)
        for keyword, value in node.items():
            result.update(self._keyword(keyword, value, path=path))
        if result.get("type") == "object" and "properties" in result and "additionalProperties" in result:
            raise NotStructural(f"{path}: has both properties and additionalProperties")
        return result

    def _keyword(self, keyword: str, value: Any, *, path: str) -> Schema:  # noqa: ANN401 - as JSON Schema has it
        if keyword in _COPIED or keyword.startswith("x-kubernetes-"):
            return {keyword: value}
        if keyword == "const":
            return {"enum": [value]}
        if keyword in {"exclusiveMinimum", "exclusiveMaximum"}:
            return {keyword: True, keyword.replace("exclusiveM", "m"): value}
        if keyword == "properties":
            return {keyword: {name: self.convert(part, path=f"{path}.{name}") for name, part in value.items()}}
        if keyword == "items":
            return {keyword: self.convert(value, path=f"{path}[]")}
        if keyword == "additionalProperties":
            return {} if value is False else {keyword: self._map_values(value, path=path)}
        raise NotStructural(f"{path}: {keyword} has no place in a structural schema")

    def _map_values(self, value: Any, *, path: str) -> Schema:  # noqa: ANN401 - a schema, or true for anything
        if value is True:
            raise NotStructural(f"{path}: a map needs a type for its values")
        return self.convert(value, path=f"{path}{{}}")

    def _without_references(self, raw: Schema, *, path: str) -> Schema:
        """Follow references and optional values; keywords beside a reference win over those behind it."""
        node = {keyword: value for keyword, value in raw.items() if keyword not in _DROPPED}
        if "$ref" in node:
            name = node.pop("$ref").removeprefix(_REFERENCE_PREFIX)
            return {**self._without_references(self._definitions[name], path=path), **node}
        for keyword in ("anyOf", "allOf", "oneOf"):
            if keyword in node:
                return {**self._only_alternative(node.pop(keyword), path=path), **node}
        return node

    def _only_alternative(self, alternatives: list[Schema], *, path: str) -> Schema:
        """Return an optional value without its null: a missing field says the same."""
        remaining = [alternative for alternative in alternatives if alternative.get("type") != "null"]
        if len(remaining) != 1:
            raise NotStructural(f"{path}: a union of {len(remaining)} types; use a model with one optional field each")
        return self._without_references(remaining[0], path=path)


def _with_words(node: Schema, words: str | None, *, path: str) -> Schema:
    """Return a part of a schema with a rule instead of its pattern: the API server shows the words of a rule."""
    pattern = node["pattern"]
    if words is None or "'" in pattern or "maxLength" not in node:
        raise NotStructural(f"{path}: a pattern of a spec needs words, a maxLength, and no quote")
    text = "string(self)" if node.get(_INT_OR_STRING) else "self"
    rule = {"rule": f"{text}.matches(r'{pattern}')", "message": words}
    others = node.get("x-kubernetes-validations", [])
    rest = {keyword: value for keyword, value in node.items() if keyword != "pattern"}
    return {**rest, "x-kubernetes-validations": [rule, *others]}


def _one_line_per_paragraph(text: str) -> str:
    paragraphs = (" ".join(paragraph.split()) for paragraph in text.split("\n\n"))
    return "\n\n".join(paragraph for paragraph in paragraphs if paragraph)


# The dashes keep the definitions apart where helm prints one after the other.
_HEADER = """\
---
# Generated from the models in operator/hudi_operator/api: change those, then run
# python dev/generate.py --write
"""


def crd_document(kind: ResourceKind) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _root_schema(kind)},
        "additionalPrinterColumns": [column.document() for column in kind.columns],
    }
    if kind.status is not None:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": [kind.short_name],
                "categories": ["hudi"],
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _root_schema(kind: ResourceKind) -> Schema:
    properties: dict[str, Schema] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": structural_schema(kind.spec, for_people=True),
    }
    if kind.status is not None:
        # kstatus takes an object without observedGeneration for current, so an object without a reconcile carries -1.
        properties["status"] = {**structural_schema(kind.status), "default": {"observedGeneration": -1}}
    return {
        "type": "object",
        "description": kind.description,
        "required": ["spec"],
        "properties": properties,
        **(rules(*kind.root_rules) if kind.root_rules else {}),
    }


def crd_yaml(kind: ResourceKind) -> str:
    """Return the CustomResourceDefinition of a kind as it is committed."""
    body = yaml.safe_dump(crd_document(kind), sort_keys=False, width=120, allow_unicode=True)
    return _HEADER + body
