"""Checks a document against its model: invalid values, and fields that do not exist."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from hudi_operator.api.crd.definitions import structural_schema
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.values.base import GROUP, VERSION
from hudi_operator.cli.base.object_names import is_name
from hudi_operator.cli.plan.files import Resource

SPECS: Mapping[str, type[BaseModel]] = {"HudiTable": HudiTableSpec, "HudiTableClass": HudiTableClassSpec}


def problems(resource: Resource) -> list[str]:
    """Return what is wrong with the spec of a document, each with the path of its field."""
    if outside := outside_of_spec(resource):
        return outside
    model, spec = SPECS[resource.kind], resource.document.get("spec")
    if not isinstance(spec, Mapping):
        return ["spec: must be an object"]
    found = [f"{path}: there is no such field" for path in unknown_fields(spec, structural_schema(model), "spec")]
    try:
        model.model_validate(spec)
    except ValidationError as error:
        found += [f"{_path(item['loc'])}: {item['msg']}" for item in error.errors(include_url=False)]
    return found


def outside_of_spec(resource: Resource) -> list[str]:
    """Return what is wrong with kind, version and metadata."""
    if resource.kind not in SPECS:
        return [f"kind: {GROUP} has no kind {resource.kind}"]
    document, found = resource.document, []
    if document.get("apiVersion") != f"{GROUP}/{VERSION}":
        found.append(f"apiVersion: must be {GROUP}/{VERSION}")
    metadata = document.get("metadata")
    given: Mapping[Any, Any] = metadata if isinstance(metadata, Mapping) else {}
    if not given.get("name"):
        found.append("metadata.name: is missing")
    names = (field for field in ("name", "namespace") if given.get(field))
    found += [f"metadata.{field}: is no name" for field in names if not _is_name(given[field])]
    texts = (field for field in ("labels", "annotations") if given.get(field))
    return found + [f"metadata.{field}: must be texts by name" for field in texts if not _are_texts(given[field])]


def _is_name(value: object) -> bool:
    return isinstance(value, str) and is_name(value)


def _are_texts(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(one, str) for pair in value.items() for one in pair)


def unknown_fields(value: object, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Yield the paths of fields that a schema does not have."""
    properties = schema.get("properties")
    if isinstance(value, Mapping) and isinstance(properties, Mapping):
        for key, inner in value.items():
            if key in properties:
                yield from unknown_fields(inner, properties[key], f"{path}.{key}")
            elif not schema.get("x-kubernetes-preserve-unknown-fields"):
                yield f"{path}.{key}"
    elif isinstance(value, Mapping) and isinstance(schema.get("additionalProperties"), Mapping):
        for key, inner in value.items():
            yield from unknown_fields(inner, schema["additionalProperties"], f"{path}.{key}")
    elif isinstance(value, list) and isinstance(schema.get("items"), Mapping):
        for number, inner in enumerate(value):
            yield from unknown_fields(inner, schema["items"], f"{path}[{number}]")


def defaults(resource: Resource) -> dict[str, Any]:
    """Return the default of each field that a valid spec leaves out, by path; absent and empty ones are left out."""
    spec = SPECS[resource.kind].model_validate(resource.document.get("spec"))
    return dict(_defaults(spec.model_dump(mode="json", by_alias=True), resource.document.get("spec"), ""))


def _defaults(value: object, given: object, path: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Mapping):
        inside = given if isinstance(given, Mapping) else {}
        for key, inner in value.items():
            yield from _defaults(inner, inside.get(key), f"{path}.{key}" if path else str(key))
    elif given is None and value not in (None, [], ""):
        yield path, value


def _path(location: tuple[int | str, ...]) -> str:
    return "spec" + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in location)
