"""The base of all kinds of source: which fields decide what is read, and the rules of ingestion and table."""

from typing import Any, ClassVar

from hudi_jobs.contract import WriteOperation
from hudi_operator.api.values.base import Model, value_or

DEFAULT_OPERATION = WriteOperation.UPSERT
"""The write operation of an ingestion without one."""

IS_UPSERT = f"{value_or('operation', DEFAULT_OPERATION)} == 'Upsert'"
"""Whether an ingestion upserts, as part of a rule."""

Rules = tuple[tuple[str, str], ...]
"""Rules of the API server, each with its message."""


class SourceKind(Model):
    """A kind of source.

    A field decides which input is read unless the kind names it in `how_it_is_read`. Facts about one input must not be
    applied to another input, so whoever adds a field has to say if it does not matter.
    """

    how_it_is_read: ClassVar[dict[str, Any]] = {}
    """Fields, nested fields too, that do not change which input is read: as pydantic excludes them."""

    ingestion_rules: ClassVar[Rules] = ()
    """Rules for the ingestion that has this source, `self.source.NAME`."""

    table_rules: ClassVar[Rules] = ()
    """Rules for the table that has this source, `self.ingestion.source.NAME`."""

    def what_is_read(self) -> dict[str, Any]:
        """Return the fields that decide which input is read; lists without an order are sorted."""
        chosen = _without_empty(self.model_dump(mode="json", exclude_defaults=True, exclude=self._passed_over()))
        return {name: sorted(value) if self._is_set(name) else value for name, value in chosen.items()}

    def _passed_over(self) -> dict[str, Any]:
        return self.how_it_is_read

    def _is_set(self, name: str) -> bool:
        extra = type(self).model_fields[name].json_schema_extra
        return isinstance(extra, dict) and extra.get("x-kubernetes-list-type") == "set"


def _without_empty(document: dict[str, Any]) -> dict[str, Any]:
    """Return a document without empty sections."""
    kept = {key: _without_empty(value) if isinstance(value, dict) else value for key, value in document.items()}
    return {key: value for key, value in kept.items() if value != {}}
