"""A Kafka source as the request says it: which topics, from where on, and what their messages hold."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from hudi_jobs.contract.document import Document


class Isolation(StrEnum):
    """Whether messages of transactions that are open or were aborted are read, as Kafka's `isolation.level` has it."""

    READ_COMMITTED = "ReadCommitted"
    READ_UNCOMMITTED = "ReadUncommitted"


class OffsetReset(StrEnum):
    """Where a partition begins of which nothing has been read."""

    EARLIEST = "Earliest"
    LATEST = "Latest"


class DataLossPolicy(StrEnum):
    """What happens when messages that have not been read are no longer in the topic."""

    FAIL = "Fail"
    SKIP = "Skip"


class MessageFormat(StrEnum):
    """What the value of a message is."""

    JSON = "Json"
    AVRO = "Avro"
    PROTOBUF = "Protobuf"
    RAW = "Raw"


class Envelope(StrEnum):
    """What the row of a message is wrapped in."""

    NONE = "None"
    DEBEZIUM = "Debezium"


class SourceTables(StrEnum):
    """Whether change events may be of several tables of a database."""

    ONE = "One"
    SEVERAL = "Several"


class Tombstones(StrEnum):
    """What a message without a value means."""

    SKIP = "Skip"
    DELETE = "Delete"
    """The record with the message's key is deleted."""


class PartitionOffset(Document):
    """Where one partition begins."""

    topic: str
    partition: int = Field(ge=0)
    offset: int = Field(ge=0)


class StartingOffsets(Document):
    """Where partitions begin of which nothing has been read: those that are named, at a time, or at an end.

    `timestamp` is RFC 3339. A partition that comes later, because the topic has grown, begins at its earliest message.
    """

    reset: OffsetReset = OffsetReset.EARLIEST
    timestamp: str | None = None
    partitions: tuple[PartitionOffset, ...] = ()


class MessageColumns(Document):
    """Names of the columns that hold what a message has beside its value; none is added without a name."""

    key: str | None = None
    topic: str | None = None
    partition: str | None = None
    offset: str | None = None
    timestamp: str | None = None
    headers: str | None = None


class MessageValue(Document):
    """What the value of a message holds.

    `schema_ddl` are the columns of a JSON value, and the inference of Spark without it. For Protobuf, `descriptor` is a
    base64 file descriptor set where there is no registry, and `message_type` the full name of the message: in the set,
    or in the schemas of the registry, where the first one counts without it.
    """

    format: MessageFormat = MessageFormat.JSON
    schema_ddl: str | None = None
    descriptor: str | None = None
    message_type: str | None = None
    envelope: Envelope = Envelope.NONE
    source_tables: SourceTables = SourceTables.ONE


class SchemaRegistry(Document):
    """A registry that speaks the API of Confluent's.

    `credentials_folder` holds the files `username` and `password`, `ca_file` the certificates that it is trusted by.
    """

    url: str
    subject: str | None = None
    """Subject whose newest schema the rows are read as; `<topic>-value` without it."""
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
    """How the brokers are reached. Folders are those of mounted Secrets; nothing secret is in the request.

    `credentials_folder` holds the files `username` and `password`, `certificate_folder` the files `tls.crt` and
    `tls.key`, PEM as in Secrets of the type `kubernetes.io/tls`, and `ca_file` is PEM.
    """

    protocol: SecurityProtocol = SecurityProtocol.PLAINTEXT
    mechanism: SaslMechanism | None = None
    credentials_folder: str | None = None
    ca_file: str | None = None
    certificate_folder: str | None = None


class KafkaSource(Document):
    """Topics of one Kafka cluster: those that are named, or those whose name matches a pattern."""

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
