"""A Kafka source in a request: its topics, where reading begins, and what the messages hold."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.table.columns import DeclaredSchema


class Isolation(StrEnum):
    """Whether messages of open or aborted transactions are read, as in Kafka's `isolation.level`."""

    READ_COMMITTED = "ReadCommitted"
    READ_UNCOMMITTED = "ReadUncommitted"


class OffsetReset(StrEnum):
    """Where reading begins in a partition that has not been read."""

    EARLIEST = "Earliest"
    LATEST = "Latest"


class DataLossPolicy(StrEnum):
    """What happens when unread messages are no longer in the topic."""

    FAIL = "Fail"
    SKIP = "Skip"


class MessageFormat(StrEnum):
    """The format of a message's value."""

    JSON = "Json"
    AVRO = "Avro"
    PROTOBUF = "Protobuf"
    RAW = "Raw"


class Envelope(StrEnum):
    """The envelope around the row of a message."""

    NONE = "None"
    DEBEZIUM = "Debezium"


class SourceTables(StrEnum):
    """Whether change events may come from several tables of a database."""

    ONE = "One"
    SEVERAL = "Several"


class Tombstones(StrEnum):
    """The meaning of a message without a value."""

    SKIP = "Skip"
    DELETE = "Delete"
    """The record with the message's key is deleted."""


class PartitionOffset(Document):
    """The offset at which a partition begins."""

    topic: str
    partition: int = Field(ge=0)
    offset: int = Field(ge=0)


class StartingOffsets(Document):
    """Where unread partitions begin: at named offsets, at a time, or at an end.

    `timestamp` is RFC 3339. A partition that is added to the topic later begins at its earliest message.
    """

    reset: OffsetReset = OffsetReset.EARLIEST
    timestamp: str | None = None
    partitions: tuple[PartitionOffset, ...] = ()


class MessageColumns(Document):
    """Names of the columns for the parts of a message beside its value; a part without a name gets no column."""

    key: str | None = None
    topic: str | None = None
    partition: str | None = None
    offset: str | None = None
    timestamp: str | None = None
    headers: str | None = None


class MessageValue(Document):
    """The content of a message's value.

    `schema_ddl` declares the columns of a JSON value; without it Spark infers them. For Protobuf without a registry,
    `descriptor` is a base64 file descriptor set. `message_type` is the full name of the message in the set or in the
    schemas of the registry; without it the first message of the registry's schema counts.
    """

    format: MessageFormat = MessageFormat.JSON
    schema_ddl: str | None = None
    descriptor: str | None = None
    message_type: str | None = None
    envelope: Envelope = Envelope.NONE
    source_tables: SourceTables = SourceTables.ONE
    table_columns: DeclaredSchema | None = None
    """The declared columns of the table, for values that nothing else converts; the driver sets them."""

    @property
    def columns_ddl(self) -> str | None:
        """The columns that JSON values are read with, as DDL."""
        return self.table_columns.ddl if self.table_columns is not None else self.schema_ddl


class SchemaRegistry(Document):
    """A registry with the API of Confluent's registry.

    `credentials_folder` holds the files `username` and `password`, `ca_file` the certificates that verify the registry.
    """

    url: str
    subject: str | None = None
    """The subject of the newest schema, with which rows are read; `<topic>-value` without it."""
    credentials_folder: str | None = None
    ca_file: str | None = None


class SecurityProtocol(StrEnum):
    """Kafka's `security.protocol`; the value is Kafka's own name."""

    PLAINTEXT = "PLAINTEXT"
    SSL = "SSL"
    SASL_PLAINTEXT = "SASL_PLAINTEXT"
    SASL_SSL = "SASL_SSL"


class SaslMechanism(StrEnum):
    """Kafka's `sasl.mechanism`; the value is Kafka's own name."""

    PLAIN = "PLAIN"
    SCRAM_SHA_256 = "SCRAM-SHA-256"
    SCRAM_SHA_512 = "SCRAM-SHA-512"


class KafkaSecurity(Document):
    """How the driver connects to the brokers. Folders are those of mounted Secrets; the request holds no secret.

    `credentials_folder` holds the files `username` and `password`, `certificate_folder` the files `tls.crt` and
    `tls.key`, PEM as in Secrets of the type `kubernetes.io/tls`, and `ca_file` is PEM.
    """

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    mechanism: SaslMechanism | None = None
    credentials_folder: str | None = None
    ca_file: str | None = None
    certificate_folder: str | None = None


class KafkaSource(Document):
    """Topics of one Kafka cluster, by name or by a pattern."""

    kind: Literal["kafka"] = "kafka"
    bootstrap_servers: str
    topics: tuple[str, ...] = ()
    topic_pattern: str | None = None
    starting_offsets: StartingOffsets = StartingOffsets()
    isolation: Isolation = Isolation.READ_COMMITTED
    on_data_loss: DataLossPolicy = DataLossPolicy.FAIL
    tombstones: Tombstones = Tombstones.SKIP
    value: MessageValue = MessageValue()
    columns: MessageColumns = MessageColumns()
    registry: SchemaRegistry | None = None
    security: KafkaSecurity = KafkaSecurity()
