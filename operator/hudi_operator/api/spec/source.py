"""The kinds of source: what a table declares, and what a class allows of them. A new kind is a field in each part."""

from typing import Annotated, Any, Self, get_args

from pydantic import ConfigDict, Field, model_validator

from hudi_operator.api.spec.source_kind import Rules, SourceKind
from hudi_operator.api.spec.sources.files import FileSourceSpec
from hudi_operator.api.spec.sources.hudi import HudiSourceSpec
from hudi_operator.api.spec.sources.kafka import AllowedKafka, KafkaSourceSpec
from hudi_operator.api.values.base import Model, rules


def _only_one(schema: dict[str, Any]) -> None:
    """Add the rule that exactly one kind is set."""
    kinds = ", ".join(f"has(self.{name})" for name in schema["properties"])
    schema |= rules((f"[{kinds}].filter(one, one).size() == 1", f"exactly one of {_listed()} must be set"))


class Source(Model):
    """The source of input: exactly one kind."""

    files: FileSourceSpec | None = None
    """Files under a prefix."""

    kafka: KafkaSourceSpec | None = None
    """Topics of a Kafka cluster."""

    hudi: HudiSourceSpec | None = None
    """Another Hudi table."""

    model_config = ConfigDict(json_schema_extra=_only_one)

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        """Refuse a kind of source that a newer definition accepts and this version does not know."""
        if len(self._set) != 1:
            raise ValueError(f"exactly one of {_listed()} must be set, and this version knows no other source")
        return self

    @property
    def _set(self) -> dict[str, SourceKind]:
        kinds = {name: getattr(self, name) for name in type(self).model_fields}
        return {name: kind for name, kind in kinds.items() if kind is not None}

    @property
    def declared(self) -> tuple[str, SourceKind]:
        """The name of the kind, and what the table declares of it."""
        ((name, kind),) = self._set.items()
        return name, kind

    def what_is_read(self) -> dict[str, Any]:
        """Return the kind of the source, and the fields that decide which input there is."""
        name, kind = self.declared
        return {name: kind.what_is_read()}


class AllowedSources(Model):
    """What a class allows of kinds of source beside their paths."""

    allowed_kafka: Annotated[tuple[AllowedKafka, ...], Field(max_length=32)] = ()
    """Kafka clusters that tables may read from, with their topics, registries and Secrets; none if empty."""


def _listed() -> str:
    *others, last = Source.model_fields
    return f"{', '.join(others)} and {last}"


_MODELS: tuple[type[SourceKind], ...] = tuple(
    get_args(Source.model_fields[name].annotation)[0] for name in sorted(Source.model_fields)
)

INGESTION_RULES: Rules = tuple(rule for model in _MODELS for rule in model.ingestion_rules)
"""Rules that sources set for their ingestion."""

TABLE_RULES: Rules = tuple(rule for model in _MODELS for rule in model.table_rules)
"""Rules that sources set for their table."""
