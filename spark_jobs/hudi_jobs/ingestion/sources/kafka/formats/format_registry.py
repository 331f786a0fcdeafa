"""The driver's formats and envelopes, a line each."""

from hudi_jobs.contract import Envelope, FailureReason, KafkaSource, MessageFormat
from hudi_jobs.ingestion.sources.kafka.formats import avro_values, json_values, protobuf_values, raw
from hudi_jobs.ingestion.sources.kafka.formats.debezium import json_events, unwrap
from hudi_jobs.ingestion.sources.kafka.formats.debezium.unchanged_columns import spilled
from hudi_jobs.ingestion.sources.kafka.formats.protocol import Format, Unwrapper
from hudi_jobs.spark.failures import TaskFailed

FORMATS: dict[MessageFormat, Format] = {
    MessageFormat.JSON: Format(json_values.require, json_values.decode),
    MessageFormat.AVRO: Format(avro_values.require, avro_values.decode),
    MessageFormat.PROTOBUF: Format(protobuf_values.require, protobuf_values.decode),
    MessageFormat.RAW: Format(raw.require, raw.decode),
}

ENVELOPES: dict[Envelope, Unwrapper] = {
    Envelope.DEBEZIUM: Unwrapper(unwrap.require, unwrap.unwrap, unwrap.wrapped, spilled.remove_unnamed),
}
"""Excludes `Envelope.NONE`, which wraps nothing."""

ENVELOPED: dict[tuple[Envelope, MessageFormat], Format] = {
    (Envelope.DEBEZIUM, MessageFormat.JSON): Format(json_events.require, json_events.decode),
}
"""Formats with a special decoder in an envelope: declared columns are those of the inner row."""


def format_of(source: KafkaSource) -> Format:
    """Return the format of a source's values; raise `TaskFailed` for a format unknown to this driver."""
    value = source.value
    found = ENVELOPED.get((value.envelope, value.format)) or FORMATS.get(value.format)
    if found is None:
        raise _unknown(f"values of the format {value.format}")
    return found


def unwrapper_of(source: KafkaSource) -> Unwrapper | None:
    """Return the unwrapper of a source's rows, or None; raises `TaskFailed` as `format_of` does."""
    if source.value.envelope is Envelope.NONE:
        return None
    found = ENVELOPES.get(source.value.envelope)
    if found is None:
        raise _unknown(f"the envelope {source.value.envelope}")
    return found


def _unknown(what: str) -> TaskFailed:
    return TaskFailed(
        FailureReason.INVALID_REQUEST,
        f"This release of the driver does not read {what}; use the image that belongs to the operator.",
    )
