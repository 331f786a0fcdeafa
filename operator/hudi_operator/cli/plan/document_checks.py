"""Checks a document against its model: invalid values, and fields that do not exist."""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from hudi_operator.api.crd.definitions import structural_schema
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.cli.plan.files import Resource

SPECS: Mapping[str, type[BaseModel]] = {"HudiTable": HudiTableSpec, "HudiTableClass": HudiTableClassSpec}


def problems(resource: Resource) -> list[str]:
    """Return what is wrong with the spec of a document, each with the path of its field."""
    model, spec = SPECS[resource.kind], resource.document.get("spec")
    if not resource.name:
        return ["metadata.name: is missing"]
    if not isinstance(spec, Mapping):
        return ["spec: must be an object"]
    found = [f"{path}: there is no such field" for path in unknown_fields(spec, structural_schema(model), "spec")]
    try:
        model.model_validate(spec)
    except ValidationError as error:
        found += [f"{_path(item['loc'])}: {item['msg']}" for item in error.errors(include_url=False)]
    return found


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
