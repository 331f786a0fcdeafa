"""Objects that this version could not read, or whose fields it does not have."""

from collections.abc import Callable, Iterator, Mapping
from functools import cache

from pydantic import BaseModel

from hudi_jobs.contract.wording import counted, listed
from hudi_operator.api.crd.definitions import structural_schema
from hudi_operator.api.resources import InvalidObject, parse_operation, parse_savepoint, parse_table, parse_table_class
from hudi_operator.api.spec.operation import HudiOperationSpec
from hudi_operator.api.spec.savepoint import HudiSavepointSpec
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.cli.plan.document_checks import unknown_fields
from hudi_operator.cli.preflight.check import ClusterState, Document, Line, blocked, fine, name_of, warning

_SPECS: Mapping[str, type[BaseModel]] = {
    "HudiTable": HudiTableSpec,
    "HudiTableClass": HudiTableClassSpec,
    "HudiSavepoint": HudiSavepointSpec,
    "HudiOperation": HudiOperationSpec,
}
_PARSERS = {
    "HudiTable": parse_table,
    "HudiTableClass": parse_table_class,
    "HudiSavepoint": parse_savepoint,
    "HudiOperation": parse_operation,
}
_SHOWN = 5


@cache
def _structure(model: type[BaseModel]) -> Document:
    return structural_schema(model)


@cache
def _schema(model: type[BaseModel]) -> Document:
    return model.model_json_schema(by_alias=True)


def check_objects(state: ClusterState) -> Iterator[Line]:
    """Say which objects this version refuses, ignores a part of, or would refuse at their next change."""
    invalid = {name_of(one): why for one in state.documents if (why := _why_invalid(one)) is not None}
    for name, why in list(invalid.items())[:_SHOWN]:
        yield blocked(f"This version cannot read {name}: {why}.", "Correct the field, or delete the object.")
    if len(invalid) > _SHOWN:
        yield blocked(
            f"This version cannot read {len(invalid) - _SHOWN:,} more objects.", "Correct the named ones first."
        )
    yield from _named(state, ignored, "is not a field of this version, and is ignored", "Remove the field.")
    yield from _named(state, deprecated, "is deprecated", "Use the field that the release notes name instead.")
    yield from _of_the_server(state)
    if not invalid:
        yield fine(f"This version can read {counted(len(state.documents), 'object')} of its kinds.")


def _why_invalid(document: Document) -> str | None:
    parsed = _PARSERS[str(document["kind"])](dict(document))
    return parsed.message if isinstance(parsed, InvalidObject) else None


def ignored(document: Document) -> list[str]:
    """Return the paths in an object's spec that this version does not have."""
    return [*unknown_fields(document.get("spec"), _structure(_SPECS[str(document["kind"])]), "spec")]


def deprecated(document: Document) -> list[str]:
    """Return the paths in an object's spec that this version has for older files alone."""
    return [*deprecated_fields(document.get("spec"), _SPECS[str(document["kind"])], "spec")]


def deprecated_fields(value: object, model: type[BaseModel], path: str) -> Iterator[str]:
    """Yield the paths of a value whose fields a model marks as deprecated."""
    schema = _schema(model)
    yield from _deprecated(value, schema, schema.get("$defs", {}), path)


def _deprecated(value: object, schema: Document, named: Document, path: str) -> Iterator[str]:
    for option in (schema, *schema.get("anyOf", ()), *schema.get("allOf", ())):
        found = named.get(str(option.get("$ref", "")).rpartition("/")[2], option)
        properties = found.get("properties", {})
        for key, inner in value.items() if isinstance(value, Mapping) else ():
            if key in properties:
                if properties[key].get("deprecated"):
                    yield f"{path}.{key}"
                yield from _deprecated(inner, properties[key], named, f"{path}.{key}")
        for item in value if isinstance(value, list) else ():
            if isinstance(found.get("items"), Mapping):
                yield from _deprecated(item, found["items"], named, f"{path}[]")


def _named(state: ClusterState, find: Callable[[Document], list[str]], what: str, remedy: str) -> Iterator[Line]:
    by_path: dict[str, list[str]] = {}
    for one in state.documents:
        for path in find(one):
            by_path.setdefault(path, []).append(name_of(one))
    for path, objects in list(by_path.items())[:_SHOWN]:
        yield warning(f"{path} {what}: {listed(objects, 3)}.", remedy)


def _of_the_server(state: ClusterState) -> Iterator[Line]:
    if state.refused is None:
        yield warning(
            "Rules between fields were not checked, because the API server has other definitions.",
            "Run the command again after you have applied the definitions, before `helm upgrade`.",
        )
        return
    for name, why in list(state.refused.items())[:_SHOWN]:
        yield warning(
            f"The API server would refuse {name} as a new object: {why}", "Correct it before its next change."
        )
    if len(state.refused) > _SHOWN:
        yield warning(f"It would refuse {len(state.refused) - _SHOWN:,} more objects.", "Correct the named ones first.")
    if state.unasked:
        yield warning(
            f"The API server was not asked about {state.unasked:,} more objects.", "Check their files with plan."
        )
