"""The source of a table's input: exactly one kind."""

from typing import Annotated, Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from hudi_jobs.contract import FileFormat, WriteOperation
from hudi_operator.api.spec.kafka import KafkaSourceSpec
from hudi_operator.api.spec.source_kind import SourceKind
from hudi_operator.api.spec.upstream import HudiSourceSpec
from hudi_operator.api.values.base import Count, Model, Quantity, not_less, rules
from hudi_operator.api.values.defaults import value_or
from hudi_operator.api.values.paths import SourcePath, apart

OptionValue = Annotated[str, Field(max_length=1024)]


class FileSourceSpec(SourceKind):
    """Files under a prefix, on S3 or a file system that the Spark pods can reach."""

    how_it_is_read: ClassVar[dict[str, Any]] = {
        "options": True,
        "columns": True,
        "max_files_per_run": True,
        "max_bytes_per_run": True,
    }

    path: SourcePath
    """Folder that is read recursively; names that start with `_` or `.` are ignored."""

    format: FileFormat
    """Format of the files."""

    options: dict[str, OptionValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 32})
    """Options of Spark's reader, for example header, sep or multiLine."""

    columns: Annotated[str, Field(min_length=1, max_length=16384)] | None = None
    """Columns as Spark DDL, for example `id BIGINT, at TIMESTAMP`; without it CSV columns are strings."""

    path_glob: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    """Only files with a name that matches this pattern, for example `*.csv`; a wider pattern brings older files too."""

    max_files_per_run: Count | None = None
    """Maximum files per run, or batch."""

    max_bytes_per_run: Quantity | None = None
    """Maximum bytes of files per run, or batch; at least one file is read."""

    model_config = ConfigDict(json_schema_extra=rules(not_less("maxBytesPerRun", "1")))


class Source(Model):
    """The source of input: exactly one kind."""

    files: FileSourceSpec | None = None
    """Files under a prefix."""

    kafka: KafkaSourceSpec | None = None
    """Topics of a Kafka cluster."""

    hudi: HudiSourceSpec | None = None
    """Another Hudi table."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "[has(self.files), has(self.kafka), has(self.hudi)].filter(one, one).size() == 1",
                "exactly one of files, kafka and hudi must be set",
            )
        )
    )

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        """Refuse a kind of source that a newer definition accepts and this version does not know."""
        if sum(one is not None for one in (self.files, self.kafka, self.hudi)) != 1:
            raise ValueError("exactly one of files, kafka and hudi must be set, and this version knows no other source")
        return self

    def what_is_read(self) -> dict[str, Any]:
        """Return the kind of the source, and the fields that decide which input there is."""
        kinds: dict[str, SourceKind | None] = {"files": self.files, "kafka": self.kafka, "hudi": self.hudi}
        return {name: kind.what_is_read() for name, kind in kinds.items() if kind is not None}


DEFAULT_OPERATION = WriteOperation.UPSERT
"""The write operation of an ingestion without one."""

_IS_UPSERT = f"{value_or('operation', DEFAULT_OPERATION)} == 'Upsert'"

SOURCE_RULES = (
    (
        f"!has(self.source.hudi) || {_IS_UPSERT}",
        "source.hudi needs operation Upsert: a row of the upstream table may come more than once",
    ),
    (
        "!has(self.source.hudi) || !has(self.badRecords) || !has(self.badRecords.quarantinePath) || ("
        + apart("self.badRecords.quarantinePath", "self.source.hudi.path")
        + ")",
        "quarantinePath and source.hudi.path must not lie inside one another: bad rows would lie in the upstream table",
    ),
    (
        "!has(self.source.kafka) || !has(self.operation) || self.operation != 'InsertOverwrite'",
        "operation InsertOverwrite is only for source.files: a stream holds changes and no whole partitions",
    ),
    (
        "!has(self.source.kafka) || !has(self.source.kafka.tombstones) || self.source.kafka.tombstones != 'Delete' || "
        f"{_IS_UPSERT}",
        "source.kafka.tombstones Delete needs operation Upsert",
    ),
    (
        "!has(self.source.kafka) || !has(self.source.kafka.value) || !has(self.source.kafka.value.envelope) || "
        f"self.source.kafka.value.envelope != 'Debezium' || {_IS_UPSERT}",
        "source.kafka.value.envelope Debezium needs operation Upsert: change events replace and delete rows",
    ),
)
"""Rules that a source sets for its ingestion."""

_KAFKA = "self.ingestion.source.kafka"

_NO_CHANGE_EVENTS = (
    f"!has(self.ingestion) || !has({_KAFKA}) || !has({_KAFKA}.value) || !has({_KAFKA}.value.envelope) || "
    f"{_KAFKA}.value.envelope != 'Debezium'"
)

TABLE_RULES = (
    (
        "!has(self.ingestion) || !has(self.ingestion.source.hudi) || ("
        + apart("self.basePath", "self.ingestion.source.hudi.path")
        + ")",
        "basePath and ingestion.source.hudi.path must not lie inside one another: the table would read itself",
    ),
    (
        f"{_NO_CHANGE_EVENTS} || (has(self.orderingFields) && self.orderingFields in "
        "[['_event_lsn'], ['_event_bin_file', '_event_pos']])",
        "envelope Debezium needs the orderingFields [_event_lsn] for PostgreSQL or [_event_bin_file, _event_pos] for "
        "MySQL: they tell which of two changes is the later one",
    ),
    (
        f"{_NO_CHANGE_EVENTS} || !has(self.partitionBy) || self.partitionBy.all(one, one in self.recordKey) || "
        "(has(self.index) && has(self.index.type) && self.index.type.startsWith('Global'))",
        "envelope Debezium needs a global index if a column of partitionBy is not in recordKey: a delete does not "
        "name the partition of its row",
    ),
    (
        f"!has(self.ingestion) || !has({_KAFKA}) || !has({_KAFKA}.tombstones) || {_KAFKA}.tombstones != 'Delete' || "
        f"!has(self.orderingFields) || (has({_KAFKA}.columns) && self.orderingFields.all(one, "
        f"(has({_KAFKA}.columns.offset) && one == {_KAFKA}.columns.offset) || "
        f"(has({_KAFKA}.columns.timestamp) && one == {_KAFKA}.columns.timestamp))) || size(self.orderingFields) == 0",
        "tombstones Delete needs a table without orderingFields, where the later message wins, or with those of "
        "columns.timestamp and columns.offset alone: a message without a value has no other",
    ),
    (
        f"!has(self.ingestion) || !has({_KAFKA}) || !has({_KAFKA}.value) || !has({_KAFKA}.value.format) || "
        f"{_KAFKA}.value.format != 'Protobuf' || !has(self.execution) || !has(self.execution.mode) || "
        "self.execution.mode != 'Cluster'",
        "format Protobuf is not for execution.mode Cluster: executors do not have the descriptor",
    ),
    (
        f"!has(self.ingestion) || !has({_KAFKA}) || !has({_KAFKA}.columns) || !has({_KAFKA}.columns.offset) || "
        f"!has(self.orderingFields) || !({_KAFKA}.columns.offset in self.orderingFields) || "
        f"{value_or('ingestion.operation', DEFAULT_OPERATION)} != 'Upsert' || "
        f"(!has({_KAFKA}.topicPattern) && (!has({_KAFKA}.topics) || size({_KAFKA}.topics) < 2)) || "
        f"{_KAFKA}.columns.offset in self.recordKey || "
        f"(has({_KAFKA}.columns.topic) && {_KAFKA}.columns.topic in self.recordKey)",
        "orderingFields with columns.offset need one topic: offsets do not tell which message of several topics is "
        "newer; leave orderingFields out, name a column of the messages, or make columns.topic part of recordKey",
    ),
)
"""Rules that a source sets for its table."""
