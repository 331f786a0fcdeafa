"""Kafka as a source: which topics a table reads, from where on, what messages hold, and what a class allows of it."""

from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from hudi_jobs.contract import (
    DataLossPolicy,
    Envelope,
    Isolation,
    MessageFormat,
    OffsetReset,
    SaslMechanism,
    SecurityProtocol,
    SourceTables,
    Tombstones,
)
from hudi_operator.api.spec.source_kind import DEFAULT_OPERATION, IS_UPSERT, Rules, SourceKind
from hudi_operator.api.values.base import Count, DefaultsTo, Model, Name, Quantity, not_less, rules, value_or, words
from hudi_operator.api.values.kafka_names import (
    AllowedTopic,
    BootstrapServer,
    Moment,
    RegistryUrl,
    TopicName,
    TopicPattern,
)
from hudi_operator.api.values.names import PlainColumn

RECORDS_PER_RUN = 5_000_000
"""Messages of a run without a limit of its own; the same as the default of `hoodie.streamer.kafka.source.maxEvents`."""

_FORMAT = MessageFormat.JSON
_MESSAGE_TYPE = r"^[A-Za-z_][A-Za-z0-9_]*([.][A-Za-z_][A-Za-z0-9_]*)*$"
_METADATA = ("key", "topic", "partition", "offset", "timestamp", "headers")
_COLUMNS = " + ".join(f"(has(self.{one}) ? [self.{one}] : [])" for one in _METADATA)
_SKIPS_TOMBSTONES = "!has(self.tombstones) || self.tombstones != 'Delete'"


class PartitionOffsetSpec(Model):
    """The offset at which a partition begins."""

    topic: TopicName
    """Name of the topic."""

    partition: Annotated[int, Field(ge=0, le=1_000_000)]
    """Number of the partition."""

    offset: Annotated[int, Field(ge=0, le=2**62)]
    """Offset of the first message that is read."""


class StartingOffsetsSpec(Model):
    """Where unread partitions begin: exactly one of an end, a time, and offsets by partition.

    A table with a checkpoint continues from there, whatever is written here.
    """

    at: OffsetReset | None = None
    """Earliest reads all messages that the topics hold, Latest only messages after the first run."""

    timestamp: Moment | None = None
    """Reads messages from this time on, such as `2026-11-01T00:00:00Z`."""

    partitions: Annotated[
        tuple[PartitionOffsetSpec, ...],
        Field(
            max_length=1024,
            json_schema_extra={
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["topic", "partition"],
            },
        ),
    ] = ()
    """Offsets of partitions; a partition without an offset begins at its earliest message."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(has(self.at) ? 1 : 0) + (has(self.timestamp) ? 1 : 0) + "
                "(has(self.partitions) && size(self.partitions) > 0 ? 1 : 0) == 1",
                "exactly one of at, timestamp and partitions must be set",
            )
        )
    )


class ProtobufSpec(Model):
    """The message of Protobuf values."""

    message_type: Annotated[
        str,
        Field(
            pattern=_MESSAGE_TYPE,
            max_length=256,
            json_schema_extra=words("must be the full name of a Protobuf message, such as shop.v1.Order"),
        ),
    ]
    """Full name of the message, such as `shop.v1.Order` or, inside of another, `shop.v1.Order.Line`."""

    descriptor: (
        Annotated[
            str,
            Field(
                pattern="^[A-Za-z0-9+/]+={0,2}$",
                max_length=65536,
                json_schema_extra=words("must be a file descriptor set in base64, without line breaks"),
            ),
        ]
        | None
    ) = None
    """File descriptor set in base64: `protoc --include_imports --descriptor_set_out=/dev/stdout order.proto | base64`,
    without line breaks. Not used with a registry, which has the schemas.
    """


class MessageValueSpec(Model):
    """Content of a message's value."""

    format: MessageFormat = _FORMAT
    """Raw gives the unchanged value, as bytes in the column `value`."""

    columns: Annotated[str, Field(min_length=1, max_length=16384)] | None = None
    """Columns of JSON values as Spark DDL, for example `id BIGINT, at TIMESTAMP`; inferred if absent. With envelope
    Debezium the columns of the database's table.
    """

    protobuf: Annotated[ProtobufSpec | None, DefaultsTo("the first message of the subject's newest schema")] = None
    """The message of Protobuf values; required without a registry."""

    envelope: Envelope = Envelope.NONE
    """Debezium applies change events: inserted and updated rows are written, deleted rows are removed."""

    source_tables: SourceTables = SourceTables.ONE
    """With envelope Debezium, whether events may come from several tables of the database, such as shards or a renamed
    table. One refuses events of a second table: its rows would replace rows with equal keys. Several accepts them:
    their keys must never be the same.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                f"!has(self.columns) || {value_or('format', _FORMAT)} == 'Json' || "
                "(has(self.envelope) && self.envelope == 'Debezium')",
                "value.columns is only for format Json and envelope Debezium: other values bring their schema with "
                "them",
            ),
            (
                "!has(self.protobuf) || (has(self.format) && self.format == 'Protobuf')",
                "value.protobuf is only for format Protobuf",
            ),
            (
                "!has(self.envelope) || self.envelope != 'Debezium' || !has(self.format) || "
                "self.format in ['Json', 'Avro']",
                "envelope Debezium is only for formats Json and Avro",
            ),
            (
                f"{value_or('sourceTables', source_tables)} == 'One' || "
                "(has(self.envelope) && self.envelope == 'Debezium')",
                "sourceTables Several is only for envelope Debezium",
            ),
        )
    )


class MessageColumnsSpec(Model):
    """Columns for the parts of a message beside its value; a part without a name gets no column."""

    key: PlainColumn | None = None
    """Column for the key, as text."""

    topic: PlainColumn | None = None
    """Column for the name of the topic."""

    partition: PlainColumn | None = None
    """Column for the number of the partition."""

    offset: PlainColumn | None = None
    """Column for the offset. As an ordering field it needs a single topic that never gets more partitions."""

    timestamp: PlainColumn | None = None
    """Column for the message's timestamp."""

    headers: PlainColumn | None = None
    """Column for the headers."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                f"({_COLUMNS}).all(one, ({_COLUMNS}).exists_one(other, other.lowerAscii() == one.lowerAscii()))",
                "columns must have different names; names that differ only in case are the same to Spark",
            )
        )
    )


class SchemaRegistrySpec(Model):
    """A schema registry with the API of Confluent's registry. Secrets are those of the table's namespace."""

    url: RegistryUrl
    """URL of the registry."""

    subject: Annotated[
        Annotated[
            str,
            Field(
                pattern="^[A-Za-z0-9._-]+$",
                max_length=256,
                json_schema_extra=words("must be of letters, digits, '.', '_' and '-'"),
            ),
        ]
        | None,
        DefaultsTo("<topic>-value"),
    ] = None
    """Subject of the newest schema, with which the rows are read."""

    credentials_secret_name: Name | None = None
    """Secret with `username` and `password`, as of type kubernetes.io/basic-auth."""

    ca_secret_name: Name | None = None
    """Secret with the `ca.crt` that verifies the registry's certificate; without it, the authorities of the image do.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "!has(self.caSecretName) || self.url.startsWith('https://')",
                "registry.caSecretName needs a url that begins with https://",
            )
        )
    )


class KafkaSecuritySpec(Model):
    """Security of the connection to the brokers. Secrets are in the table's namespace; the class must allow them."""

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    """Kafka's security.protocol."""

    mechanism: SaslMechanism | None = None
    """Kafka's sasl.mechanism."""

    credentials_secret_name: Name | None = None
    """Secret with `username` and `password`, as of type kubernetes.io/basic-auth."""

    ca_secret_name: Name | None = None
    """Secret with the `ca.crt` that verifies the brokers' certificates; without it, the authorities of the image do."""

    certificate_secret_name: Name | None = None
    """Secret with `tls.crt` and `tls.key`, as of type kubernetes.io/tls: the client's own certificate."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(has(self.protocol) && self.protocol.startsWith('SASL')) == has(self.mechanism)",
                "mechanism is required for the protocols SASL_PLAINTEXT and SASL_SSL, and only for them",
            ),
            (
                "(has(self.protocol) && self.protocol.startsWith('SASL')) == has(self.credentialsSecretName)",
                "credentialsSecretName is required for the protocols SASL_PLAINTEXT and SASL_SSL, and only for them",
            ),
            (
                "(!has(self.caSecretName) && !has(self.certificateSecretName)) || "
                "(has(self.protocol) && self.protocol.endsWith('SSL'))",
                "caSecretName and certificateSecretName need the protocol SSL or SASL_SSL",
            ),
        )
    )


_KAFKA = "self.ingestion.source.kafka"

_NO_CHANGE_EVENTS = (
    f"!has(self.ingestion) || !has({_KAFKA}) || !has({_KAFKA}.value) || !has({_KAFKA}.value.envelope) || "
    f"{_KAFKA}.value.envelope != 'Debezium'"
)

_INGESTION_RULES = (
    (
        "!has(self.source.kafka) || !has(self.operation) || self.operation != 'InsertOverwrite'",
        "operation InsertOverwrite is only for source.files: a stream holds changes and no whole partitions",
    ),
    (
        "!has(self.source.kafka) || !has(self.source.kafka.tombstones) || self.source.kafka.tombstones != 'Delete' || "
        f"{IS_UPSERT}",
        "source.kafka.tombstones Delete needs operation Upsert",
    ),
    (
        "!has(self.source.kafka) || !has(self.source.kafka.value) || !has(self.source.kafka.value.envelope) || "
        f"self.source.kafka.value.envelope != 'Debezium' || {IS_UPSERT}",
        "source.kafka.value.envelope Debezium needs operation Upsert: change events replace and delete rows",
    ),
)

_TABLE_RULES = (
    (
        f"{_NO_CHANGE_EVENTS} || (has(self.orderingFields) && self.orderingFields in "
        "[['_event_lsn'], ['_event_bin_file', '_event_pos']])",
        "envelope Debezium needs the orderingFields [_event_lsn] for PostgreSQL or [_event_bin_file, _event_pos] for "
        "MySQL: they tell which of two changes is later",
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

_HAS_COLUMNS = f"({value_or('value.format', _FORMAT)} != 'Json' || (has(self.value) && has(self.value.columns)))"


class KafkaSourceSpec(SourceKind):
    """Topics of a Kafka cluster."""

    how_it_is_read: ClassVar[dict[str, Any]] = {
        "on_data_loss": True,
        "value": {"columns": True, "protobuf": {"descriptor"}, "source_tables": True},
        "columns": True,
        "registry": {"url", "credentials_secret_name", "ca_secret_name"},
        "security": True,
        "max_records_per_run": True,
        "max_bytes_per_run": True,
    }

    ingestion_rules: ClassVar[Rules] = _INGESTION_RULES

    table_rules: ClassVar[Rules] = _TABLE_RULES

    bootstrap_servers: Annotated[
        tuple[BootstrapServer, ...],
        Field(min_length=1, max_length=16, json_schema_extra={"x-kubernetes-list-type": "set"}),
    ]
    """Bootstrap brokers, as host:port; the driver learns the other brokers from them."""

    topics: Annotated[
        tuple[TopicName, ...], Field(max_length=64, json_schema_extra={"x-kubernetes-list-type": "set"})
    ] = ()
    """Topics by their names."""

    topic_pattern: TopicPattern | None = None
    """Topics by a regular expression that their whole name matches, such as `team-a\\.orders\\..+`."""

    starting_offsets: StartingOffsetsSpec = StartingOffsetsSpec(at=OffsetReset.EARLIEST)
    """Where reading begins in unread partitions."""

    isolation: Isolation = Isolation.READ_COMMITTED
    """Whether messages of open or aborted transactions are read."""

    on_data_loss: DataLossPolicy = DataLossPolicy.FAIL
    """Reaction to unread messages that the topic has lost: Fail reads nothing more, Skip continues with the rest and
    reports the finding RecordsSkipped."""

    tombstones: Tombstones = Tombstones.SKIP
    """Messages without a value are left out, or delete the record of their key; Delete needs operation Upsert."""

    value: MessageValueSpec = MessageValueSpec()
    """Content of a message's value."""

    columns: MessageColumnsSpec = MessageColumnsSpec()
    """Columns for the parts of a message beside its value."""

    registry: SchemaRegistrySpec | None = None
    """The schema registry of Avro and Protobuf values."""

    security: KafkaSecuritySpec = KafkaSecuritySpec()
    """Security of the connection to the brokers."""

    max_records_per_run: Annotated[
        Count | None, DefaultsTo(f"{RECORDS_PER_RUN}, and no limit where maxBytesPerRun is set")
    ] = None
    """Maximum messages per run, or batch. The default keeps the first run of a long topic from becoming a single
    commit.
    """

    max_bytes_per_run: Quantity | None = None
    """Maximum bytes of messages per run, or batch, as an estimate; at least one message is read."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            not_less("maxBytesPerRun", "1"),
            (
                "(has(self.topics) && size(self.topics) > 0) != has(self.topicPattern)",
                "exactly one of topics and topicPattern must be set",
            ),
            (
                "has(self.registry) || !has(self.value) || !has(self.value.format) || self.value.format != 'Avro'",
                "format Avro needs a registry",
            ),
            (
                "!has(self.value) || !has(self.value.format) || self.value.format != 'Protobuf' || "
                "has(self.registry) != (has(self.value.protobuf) && has(self.value.protobuf.descriptor))",
                "format Protobuf needs either a registry or value.protobuf.descriptor",
            ),
            (
                "!has(self.registry) || "
                "(has(self.value) && has(self.value.format) && self.value.format in ['Avro', 'Protobuf'])",
                "registry is only for formats Avro and Protobuf",
            ),
            (
                "!has(self.startingOffsets) || !has(self.startingOffsets.partitions) || !has(self.topics) || "
                "self.startingOffsets.partitions.all(one, one.topic in self.topics)",
                "startingOffsets.partitions must be of topics that are named in topics",
            ),
            (
                "!has(self.startingOffsets) || !has(self.startingOffsets.at) || self.startingOffsets.at != 'Latest' || "
                f"{_HAS_COLUMNS}",
                "startingOffsets.at Latest needs value.columns for format Json: the first run makes the table without "
                "rows to record where reading began",
            ),
            (
                f"{_SKIPS_TOMBSTONES} || {_HAS_COLUMNS}",
                "tombstones Delete needs value.columns for format Json: a key is read by the types of the columns",
            ),
            (
                f"{_SKIPS_TOMBSTONES} || {value_or('value.envelope', MessageValueSpec().envelope)} == 'None'",
                "tombstones Delete is not for envelope Debezium, because its events name the deleted rows themselves",
            ),
        )
    )

    @property
    def records_per_run(self) -> int | None:
        """Return the most messages that a run reads: the declared number, or the default without a declared limit."""
        is_limited = self.max_records_per_run is not None or self.max_bytes_per_run is not None
        return self.max_records_per_run if is_limited else RECORDS_PER_RUN

    def _passed_over(self) -> dict[str, Any]:
        """Count the user if a pattern names the topics: brokers show only the topics that this user may describe."""
        if self.topic_pattern is None:
            return self.how_it_is_read
        return {**self.how_it_is_read, "security": {"protocol", "mechanism", "ca_secret_name"}}


class AllowedRegistry(Model):
    """A schema registry and the Secrets that are for it."""

    url: RegistryUrl
    """URL that tables may name."""

    secret_names: Annotated[tuple[Name, ...], Field(max_length=8)] = ()
    """Secrets of the table's namespace that tables may name for this registry; none if empty."""


class AllowedKafka(Model):
    """A Kafka cluster with its topics, registries and Secrets. The same entry must allow everything that a table names.

    So a Secret of an entry never goes to the brokers or the registry of another entry, and the Secrets of the brokers
    never go to a registry. Hosts are compared whole, without regard to case; there are no wildcards in them.
    """

    bootstrap_servers: Annotated[tuple[BootstrapServer, ...], Field(min_length=1, max_length=64)]
    """Brokers that tables may name, as host:port."""

    topics: Annotated[tuple[AllowedTopic, ...], Field(min_length=1, max_length=64)]
    """Topics that tables may read: names, or beginnings that end with `*`; `{namespace}` is the table's namespace."""

    registries: Annotated[tuple[AllowedRegistry, ...], Field(max_length=16)] = ()
    """Schema registries that tables may name, with their own Secrets; none if empty."""

    secret_names: Annotated[tuple[Name, ...], Field(max_length=32)] = ()
    """Secrets of the table's namespace that tables may name for these brokers, and for no registry; none if empty."""
