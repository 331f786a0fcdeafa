"""Decodes JSON change events, with or without an embedded Kafka Connect schema.

With it, columns have the connector's types. Without it they have the declared types, or types inferred from the batch's
rows.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    LongType,
    StringType,
    StructField,
    StructType,
)

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason, IngestionTableTask, KafkaSource
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT, corrupt_text
from hudi_jobs.ingestion.rules.columns import never
from hudi_jobs.ingestion.sources.kafka.formats.debezium.connect import (
    Kind,
    NotConnect,
    columns_of,
    field_named,
    parse,
)
from hudi_jobs.ingestion.sources.kafka.formats.debezium.event_columns import (
    ADDED,
    AFTER,
    BEFORE,
    IGNORED,
    OPERATION,
    PROCESSED_AT,
    SOURCE,
)
from hudi_jobs.ingestion.sources.kafka.formats.json_values import inferred_columns
from hudi_jobs.ingestion.sources.kafka.formats.protocol import MESSAGE, Decoded, field
from hudi_jobs.ingestion.sources.kafka.formats.shapes import merged, shaped
from hudi_jobs.ingestion.text.text_values import FAULT_OF_ROW, ROW, read
from hudi_jobs.schemas.columns import declared_columns
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import TaskFailed

MOST_SCHEMAS = 100
_BEFORE_NAMES = r"^(payload\.)?(before|after)\."
_LONGEST_SCHEMA = 1_000_000
_LONGEST_TYPE = 100

_PAYLOAD, _TEXT, _SCHEMA, _WHOLE = "payload", "_text", "_schema", "_whole"
_LONGS = ("ts_ms", "txId", "lsn", "xmin", "pos", "row")
_TEXTS = ("name", "schema", "db", "table", "connector", "file", "snapshot")
SOURCE_TYPE = StructType(
    [StructField(name, LongType()) for name in _LONGS] + [StructField(name, StringType()) for name in _TEXTS]
)
_IGNORED_SCHEMAS = ("Heartbeat", "TransactionMetadataValue", "SchemaChangeValue", "MessageValue")
_IGNORED_KEYS: tuple[tuple[frozenset[str], frozenset[str]], ...] = (
    (frozenset({"ts_ms"}), frozenset({"ts_ms"})),
    (
        frozenset({"source", "ddl"}),
        frozenset({"source", "ts_ms", "databaseName", "schemaName", "ddl", "tableChanges"}),
    ),
)
"""Required and possible fields of messages beside events: heartbeats, schema changes."""

_TRANSACTION = (frozenset({"status", "id"}), frozenset({"status", "id", "event_count", "data_collections", "ts_ms"}))
_STATUSES = ("BEGIN", "END")
_EMPTY = (frozenset({_PAYLOAD}), frozenset({"schema", _PAYLOAD}))
"""The fields of a null value with a schema, as older converters write tombstones."""


@dataclass(frozen=True)
class _Variant:
    """Events of a schema: their condition, their rows' columns, and whether they are embedded in a payload.

    `inferred` means that the columns come from the events' content.
    """

    condition: Column
    columns: dict[str, Kind]
    embedded: bool
    inferred: bool = False

    @property
    def raw(self) -> StructType:
        return StructType([StructField(name, kind.raw) for name, kind in self.columns.items()])

    @property
    def type(self) -> StructType:
        return StructType([StructField(name, kind.type) for name, kind in self.columns.items()])


def require(_source: KafkaSource) -> None:
    """Accept every request; declared columns are parsed once a JVM exists."""


def decode(context: TaskContext[IngestionTableTask], source: KafkaSource, messages: DataFrame) -> Decoded:
    """Return the events' fields as columns, and messages not from Debezium as corrupt records."""
    value = field("value")
    text = sf.decode(value, "UTF-8")
    schema = sf.get_json_object(text, "$.schema")
    is_embedded = sf.get_json_object(text, f"$.{_PAYLOAD}").isNotNull() & schema.isNotNull()
    frame = messages.select(
        MESSAGE,
        sf.when(sf.encode(text, "UTF-8") == value, text).alias(_TEXT),
        sf.when(is_embedded, sf.sha2(schema, 256)).alias(_SCHEMA),
    )
    declared = declared_columns(context.spark, source.value.schema_ddl)
    is_plain = sf.get_json_object(text, f"$.{OPERATION}").isNotNull()
    schemas = _embedded_schemas(messages.select(sf.when(is_embedded, schema).when(is_plain, "").alias(_SCHEMA)))
    ignored, variants = _sorted_out([text for text in schemas if text], declared)
    if "" in schemas or not variants:
        columns = _without_schema(context, frame, declared)
        variants.append(_Variant(sf.col(_SCHEMA).isNull(), columns, embedded=False, inferred=declared is None))
    return Decoded(_events(frame, variants, ignored))


def _events(frame: DataFrame, variants: list[_Variant], ignored: list[Column]) -> DataFrame:
    """Return the events of all schemas in the same shape; in steps, so that no text is parsed twice."""
    wanted = reduce(merged, [variant.type for variant in variants])
    places = list(enumerate(variants))
    beside = reduce(or_, ignored, sf.col(_SCHEMA).isNull() & _has_keys_of_others(sf.col(_TEXT)))
    parsed = frame.select(
        MESSAGE,
        _SCHEMA,
        sf.coalesce(beside, never()).alias(IGNORED),
        *(_parsed(frame.sparkSession, variant).alias(f"_{place}") for place, variant in places),
    )
    events = parsed.select(
        MESSAGE,
        _SCHEMA,
        IGNORED,
        _first(places, lambda place, _: _fault(sf.col(f"_{place}"))).alias(FAULT),
        *(_event(sf.col(f"_{place}"), each).alias(f"_{place}") for place, each in places),
    )

    def image(name: str) -> Column:
        return _first(places, lambda place, variant: _row(sf.col(f"_{place}")[name], variant, wanted))

    def other(name: str) -> Column:
        return _first(places, lambda place, _: sf.col(f"_{place}")[name])

    whole = _first(places, lambda place, _: _is_event(sf.col(f"_{place}")))
    lost = _first(places, lambda place, variant: _lost(sf.col(f"_{place}"), variant))
    columns = {**{name: image(name) for name in (BEFORE, AFTER)}, **{name: other(name) for name in _EVENT}}
    fields = [column.alias(name) for name, column in columns.items()]
    fault = sf.coalesce(FAULT, lost).alias(FAULT)
    made = events.select(MESSAGE, IGNORED, fault, *fields, sf.coalesce(whole, never()).alias(_WHOLE))
    is_whole = sf.col(_WHOLE) & sf.col(FAULT).isNull()
    value, good = field("value"), is_whole | sf.col(IGNORED)
    corrupt = sf.when(value.isNotNull() & ~good, corrupt_text(value)).alias(CORRUPT_RECORD)
    fault = sf.when(~good, sf.col(FAULT)).alias(FAULT)
    is_event = is_whole & ~sf.col(IGNORED)
    kept = [sf.when(is_event, sf.col(name)).alias(name) for name in columns]
    return made.select(MESSAGE, *kept, IGNORED, corrupt, fault)


_EVENT = {SOURCE: SOURCE_TYPE, OPERATION: StringType(), PROCESSED_AT: LongType()}


def _parsed(spark: SparkSession, variant: _Variant) -> Column:
    """Parse a value by the schema, with a fault for different or extra content."""
    fields = [StructField(name, variant.raw) for name in (BEFORE, AFTER)]
    event = StructType(fields + [StructField(name, kind) for name, kind in _EVENT.items()])
    whole = StructType([StructField(_PAYLOAD, event)]) if variant.embedded else event
    options = {"inferred": "true"} if variant.inferred else {}
    return read(spark, sf.when(variant.condition, field("value")), whole, options)


def _event(parsed: Column, variant: _Variant) -> Column:
    """Return the event in a value, or null."""
    found = parsed[ROW]
    return found[_PAYLOAD] if variant.embedded else found


def _fault(parsed: Column) -> Column:
    """Return why a value is no event, with the database's column name."""
    fault = parsed[FAULT_OF_ROW]
    name = sf.regexp_replace(fault["column"], _BEFORE_NAMES, "")
    return sf.when(fault.isNotNull(), sf.struct(name.alias("column"), fault["cause"].alias("cause")))


def _row(raw: Column, variant: _Variant, wanted: StructType) -> Column:
    if not variant.columns:
        return sf.lit(None).cast(wanted)
    made = sf.struct(*(kind.value(raw[name]).alias(name) for name, kind in variant.columns.items()))
    return shaped(sf.when(raw.isNotNull(), made), variant.type, wanted)


def _is_event(event: Column) -> Column:
    """Tell whether a text was an event: without an operation it is none, whatever else it holds."""
    return event.isNotNull() & event[OPERATION].isNotNull()


def _lost(event: Column, variant: _Variant) -> Column:
    """Return the first column of an event with an unconverted value, as a fault."""
    faults = [
        sf.when(
            event[image][name].isNotNull() & kind.value(event[image][name]).isNull(),
            sf.struct(
                sf.lit(name).alias("column"),
                sf.lit(f"holds a value that is no {kind.type.simpleString()[:_LONGEST_TYPE]}").alias("cause"),
            ),
        )
        for image in (AFTER, BEFORE)
        for name, kind in variant.columns.items()
        if kind.convert is not None
    ]
    return sf.coalesce(*faults) if faults else sf.lit(None).cast("struct<column: string, cause: string>")


def _first(places: list[tuple[int, _Variant]], value: Callable[[int, _Variant], Column]) -> Column:
    cases = [(variant.condition, value(place, variant)) for place, variant in places]
    first, *others = cases
    return reduce(lambda chain, case: chain.when(*case), others, sf.when(*first))


def _embedded_schemas(schemas: DataFrame) -> list[str]:
    """Return the schemas in the batch's values; reads the messages once."""
    short = sf.when(sf.length(_SCHEMA) <= _LONGEST_SCHEMA, sf.col(_SCHEMA))
    found = schemas.where(sf.col(_SCHEMA).isNotNull()).select(short.alias(_SCHEMA)).distinct().limit(MOST_SCHEMAS + 1)
    texts = [row[_SCHEMA] for row in found.collect() if row[_SCHEMA] is not None]
    if len(texts) > MOST_SCHEMAS:
        raise TaskFailed(
            FailureReason.BAD_RECORDS,
            f"The events of one batch have more than {MOST_SCHEMAS} different schemas; read less per run, or one table "
            "of the database per source.",
        )
    return sorted(texts)


def _sorted_out(schemas: list[str], declared: StructType | None) -> tuple[list[Column], list[_Variant]]:
    """Return the conditions for messages beside events, and the schemas of events; other messages are corrupt."""
    kept = {one.name: one.dataType for one in declared.fields} if declared is not None else {}
    ignored: list[Column] = []
    variants: list[_Variant] = []
    for text in schemas:
        condition = sf.col(_SCHEMA) == sf.sha2(sf.lit(text), 256)
        try:
            schema = parse(text)
            name = str(schema.get("name"))
            if name.startswith("io.debezium.") and name.rpartition(".")[2] in _IGNORED_SCHEMAS:
                ignored.append(condition)
                continue
            row = field_named(schema, AFTER)
            if row is not None and field_named(schema, OPERATION) is not None:
                variants.append(_Variant(condition, columns_of(row, kept), embedded=True))
        except NotConnect:
            continue
    return ignored, variants


def _without_schema(
    context: TaskContext[IngestionTableTask], frame: DataFrame, declared: StructType | None
) -> dict[str, Kind]:
    if declared is None:
        images = [sf.get_json_object(_TEXT, f"$.{name}") for name in (BEFORE, AFTER)]
        rows = frame.where(sf.col(_SCHEMA).isNull()).select(sf.explode(sf.array(*images)).alias("row"))
        declared = inferred_columns(context, rows.where(column_named("row").startswith("{")), ADDED)
    return {one.name: Kind(one.dataType, one.dataType) for one in declared.fields}


def _has_keys_of_others(text: Column) -> Column:
    keys = sf.json_object_keys(text)

    def has(required: frozenset[str], possible: frozenset[str]) -> Column:
        known = sf.array(*map(sf.lit, sorted(possible)))
        needed = [sf.array_contains(keys, name) for name in sorted(required)]
        return reduce(lambda one, other: one & other, needed, sf.size(sf.array_except(keys, known)) == 0)

    is_transaction = has(*_TRANSACTION) & sf.get_json_object(text, "$.status").isin(*_STATUSES)
    is_empty = has(*_EMPTY) & sf.get_json_object(text, f"$.{_PAYLOAD}").isNull()
    return reduce(or_, [*(has(*each) for each in _IGNORED_KEYS), is_transaction, is_empty])
