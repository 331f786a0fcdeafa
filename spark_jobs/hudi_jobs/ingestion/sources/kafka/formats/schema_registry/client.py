"""Fetches schemas from a registry: by id, by subject, and with all references."""

import time
from collections.abc import Callable
from urllib.parse import quote

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.sources.kafka import SchemaRegistry
from hudi_jobs.ingestion.sources.kafka.formats.schema_registry.http import Bounds, Endpoint
from hudi_jobs.ingestion.sources.kafka.formats.schema_registry.schemas import (
    NOT_FOUND,
    NotTheApi,
    Reference,
    Schema,
    error_code,
    parse,
    schema_of,
)
from hudi_jobs.spark.failures import TaskFailed

_OK, _MISSING = 200, 404
_MOST_SCHEMAS = 200
_DEEPEST = 20
_MOST_TEXT = 8 * 1024 * 1024


class Registry:
    """A registry during a run; each answer is cached."""

    def __init__(
        self, registry: SchemaRegistry, bounds: Bounds | None = None, pause: Callable[[float], None] = time.sleep
    ) -> None:
        self._endpoint = Endpoint(registry, bounds or Bounds(), pause)
        self._known: dict[str, Schema | None] = {}

    def by_id(self, number: int) -> Schema | None:
        """Return the schema of an id, or None if unknown."""
        return self._get(f"/schemas/ids/{number:d}")

    def latest(self, subject: str) -> Schema | None:
        """Return a subject's newest schema, or None if unknown."""
        return self._get(f"/subjects/{quote(subject, safe='')}/versions/latest")

    def version(self, reference: Reference) -> Schema | None:
        """Return the schema of a reference."""
        return self._get(f"/subjects/{quote(reference.subject, safe='')}/versions/{reference.version:d}")

    def referred(self, schema: Schema) -> dict[str, Schema]:
        """Return all schemas that a schema refers to, by reference name, dependencies first."""
        found: dict[str, Schema] = {}
        self._follow(schema, found, depth=0)
        return found

    def _follow(self, schema: Schema, found: dict[str, Schema], *, depth: int) -> None:
        if depth > _DEEPEST:
            raise _unbounded(f"refers to others {_DEEPEST} levels deep")
        for reference in schema.references:
            if reference.name in found:
                continue
            named = self.version(reference)
            if named is None:
                raise TaskFailed(
                    FailureReason.SCHEMA_INCOMPATIBLE,
                    f"A schema refers to version {reference.version} of {reference.subject[:200]!a}, which the schema "
                    f"registry {self._endpoint.url} does not have; register it again.",
                )
            self._follow(named, found, depth=depth + 1)
            found[reference.name] = named
            if len(found) > _MOST_SCHEMAS or sum(len(each.text) for each in found.values()) > _MOST_TEXT:
                raise _unbounded(f"refers to more than {_MOST_SCHEMAS} others, or {_MOST_TEXT:,} characters of them")

    def _get(self, path: str) -> Schema | None:
        if path not in self._known:
            self._known[path] = self._ask(path)
        return self._known[path]

    def _ask(self, path: str) -> Schema | None:
        answer = self._endpoint.get(path)
        if answer.status == _MISSING and error_code(answer.body) in NOT_FOUND:
            return None
        if answer.status != _OK:
            raise self._endpoint.unavailable(f"it answers with the status {answer.status}")
        try:
            return schema_of(parse(answer.body))
        except NotTheApi as error:
            raise self._endpoint.unavailable(f"it answers with {error}") from error


def _unbounded(what: str) -> TaskFailed:
    return TaskFailed(FailureReason.SCHEMA_INCOMPATIBLE, f"A schema of the registry {what}, which is not supported.")
