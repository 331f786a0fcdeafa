"""Kafka as a source: its request, its Secrets, and what a class allows of it, all of it by one entry."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hudi_jobs.contract import (
    DataLossPolicy,
    KafkaSecurity,
    KafkaSource,
    MessageColumns,
    MessageValue,
    OffsetReset,
    PartitionOffset,
    SchemaRegistry,
    StartingOffsets,
)
from hudi_jobs.contract.wording import listed
from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.spec.sources.kafka import (
    AllowedKafka,
    KafkaSecuritySpec,
    KafkaSourceSpec,
    MessageValueSpec,
    SchemaRegistrySpec,
    StartingOffsetsSpec,
)
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.values.kafka_names import compared, literal_prefix, pattern_problem
from hudi_operator.sources.definition import (
    AUTHORITY,
    CERTIFICATE,
    CREDENTIALS,
    SECRETS_FOLDER,
    DeclaredSource,
    Refusal,
    RefusalReason,
    RunLimits,
    SkippedInput,
    SourceSecret,
    bytes_of,
    losses,
)
from hudi_operator.sources.look import InputReader

_KAFKA_CREDENTIALS = f"{SECRETS_FOLDER}/kafka-credentials"
_KAFKA_CERTIFICATE = f"{SECRETS_FOLDER}/kafka-certificate"
_KAFKA_AUTHORITY = f"{SECRETS_FOLDER}/kafka-ca"
_REGISTRY_CREDENTIALS = f"{SECRETS_FOLDER}/registry-credentials"
_REGISTRY_AUTHORITY = f"{SECRETS_FOLDER}/registry-ca"
_NAMED = 8


@dataclass(frozen=True)
class Kafka(DeclaredSource[KafkaSourceSpec]):
    """Topics of one Kafka cluster, which one entry of the class allows with their registry and Secrets."""

    name = "kafka"
    limit_fields = ("maxBytesPerRun", "maxRecordsPerRun")
    upstream_field = None
    can_be_looked_at = False
    rescan_refused = (
        "The source is Kafka, and only files and upstream tables are read again by request. To read messages again, "
        "restore the table to an older commit, or write another table from them."
    )
    pattern_refused = None

    @property
    def document(self) -> KafkaSource:
        """The source as the driver receives it."""
        spec = self.spec
        return KafkaSource(
            bootstrap_servers=",".join(spec.bootstrap_servers),
            topics=spec.topics,
            topic_pattern=spec.topic_pattern,
            starting_offsets=_starting_offsets(spec.starting_offsets),
            isolation=spec.isolation,
            on_data_loss=spec.on_data_loss,
            tombstones=spec.tombstones,
            value=_value(spec.value),
            columns=MessageColumns(**spec.columns.model_dump()),
            registry=None if spec.registry is None else _registry(spec.registry),
            security=_security(spec.security),
        )

    @property
    def limits(self) -> RunLimits:
        """The most bytes and messages that a run reads."""
        return {"max_bytes": bytes_of(self.spec.max_bytes_per_run), "max_records": self.spec.records_per_run}

    @property
    def secrets(self) -> tuple[SourceSecret, ...]:
        """The Secrets for the registry and for the brokers."""
        return tuple(_secrets(self.spec))

    @property
    def paths(self) -> Mapping[str, str]:
        """None: topics lie in no store."""
        return {}

    def refusals(self, table_class: HudiTableClass, namespace: str) -> Iterator[Refusal]:
        """Yield a pattern that cannot be read, or what the closest entry of the class lacks."""
        pattern = self.spec.topic_pattern
        if pattern is not None and (problem := pattern_problem(pattern)) is not None:
            message = f"{self.field}.topicPattern {problem}; correct it."
            yield Refusal(reason=RefusalReason.INVALID_PATTERN, message=message)
            return
        entries, secrets = table_class.spec.allowed_kafka, self.secrets
        left_out = [list(_not_allowed(self.spec, secrets, entry, namespace)) for entry in entries]
        if any(not one for one in left_out):
            return
        lacking = min(left_out, key=len, default=[])
        message = f"{self.field}: {_lacks(table_class.metadata.name, lacking)}"
        yield Refusal(reason=RefusalReason.SOURCE_NOT_ALLOWED, message=message)

    def digest(self, reader: InputReader) -> None:
        """Return None: the operator asks no broker. An idle topic costs no Job in the mode Continuous."""

    @property
    def skipped(self) -> SkippedInput | None:
        """The finding for messages that were gone before they could be read, if ingestion continues then."""
        if self.spec.on_data_loss is not DataLossPolicy.SKIP:
            return None
        return SkippedInput(code=FindingCode.RECORDS_SKIPPED, message=_skipped_messages)

    @property
    def without_input(self) -> None:
        """None: a run says what is missing."""

    @property
    def upstream(self) -> None:
        """None: the source reads no table."""


def _skipped_messages(known: int, last: Iterable[str]) -> str:
    return (
        f"Messages of the source were gone before they could be read: {losses(known, last)}. Their rows are not in "
        "the table; ingestion continues, because onDataLoss is Skip. With onDataLoss Fail it stops at the next "
        "loss, and this finding goes away."
    )


def _secrets(kafka: KafkaSourceSpec) -> Iterator[SourceSecret]:
    named = [
        ("registry.credentialsSecretName", _REGISTRY_CREDENTIALS, CREDENTIALS),
        ("registry.caSecretName", _REGISTRY_AUTHORITY, AUTHORITY),
        ("security.credentialsSecretName", _KAFKA_CREDENTIALS, CREDENTIALS),
        ("security.caSecretName", _KAFKA_AUTHORITY, AUTHORITY),
        ("security.certificateSecretName", _KAFKA_CERTIFICATE, CERTIFICATE),
    ]
    for (field, folder, keys), name in zip(named, _names(kafka), strict=True):
        if name is not None:
            yield SourceSecret(field=field, name=name, folder=folder, keys=keys)


def _names(kafka: KafkaSourceSpec) -> tuple[str | None, ...]:
    registry, security = kafka.registry, kafka.security
    return (
        registry.credentials_secret_name if registry else None,
        registry.ca_secret_name if registry else None,
        security.credentials_secret_name,
        security.ca_secret_name,
        security.certificate_secret_name,
    )


def _starting_offsets(offsets: StartingOffsetsSpec) -> StartingOffsets:
    return StartingOffsets(
        reset=offsets.at or OffsetReset.EARLIEST,
        timestamp=offsets.timestamp,
        partitions=tuple(PartitionOffset(**one.model_dump()) for one in offsets.partitions),
    )


def _value(value: MessageValueSpec) -> MessageValue:
    return MessageValue(
        format=value.format,
        schema_ddl=value.columns,
        descriptor=value.protobuf.descriptor if value.protobuf else None,
        message_type=value.protobuf.message_type if value.protobuf else None,
        envelope=value.envelope,
        source_tables=value.source_tables,
    )


def _registry(registry: SchemaRegistrySpec) -> SchemaRegistry:
    return SchemaRegistry(
        url=registry.url.rstrip("/"),
        subject=registry.subject,
        credentials_folder=_REGISTRY_CREDENTIALS if registry.credentials_secret_name else None,
        ca_file=f"{_REGISTRY_AUTHORITY}/ca.crt" if registry.ca_secret_name else None,
    )


def _security(security: KafkaSecuritySpec) -> KafkaSecurity:
    return KafkaSecurity(
        protocol=security.protocol,
        mechanism=security.mechanism,
        credentials_folder=_KAFKA_CREDENTIALS if security.credentials_secret_name else None,
        ca_file=f"{_KAFKA_AUTHORITY}/ca.crt" if security.ca_secret_name else None,
        certificate_folder=_KAFKA_CERTIFICATE if security.certificate_secret_name else None,
    )


def _not_allowed(
    kafka: KafkaSourceSpec, secrets: Iterable[SourceSecret], entry: AllowedKafka, namespace: str
) -> Iterator[str]:
    """Yield the parts of a source that an entry does not allow."""
    brokers = {compared(one) for one in entry.bootstrap_servers}
    yield from (f"broker {one}" for one in kafka.bootstrap_servers if compared(one) not in brokers)
    topics = [one.replace("{namespace}", namespace) for one in entry.topics if _is_sound(one)]
    yield from (f"topic {one}" for one in kafka.topics if not _covers(topics, one, whole=True))
    if kafka.topic_pattern is not None:
        prefix, whole = literal_prefix(kafka.topic_pattern)
        if not _covers(topics, prefix, whole=whole):
            yield f"topics that match {kafka.topic_pattern}"
    url = compared(kafka.registry.url) if kafka.registry is not None else None
    registries = [one for one in entry.registries if compared(one.url) == url]
    if kafka.registry is not None and not registries:
        yield f"registry {kafka.registry.url}"
    for_registry = {name for one in registries for name in one.secret_names}
    lacking = ((one, for_registry if _is_for_registry(one) else set(entry.secret_names)) for one in secrets)
    named = (f"Secret {one.name} for {_receiver(one)}" for one, allowed in lacking if one.name not in allowed)
    yield from dict.fromkeys(named)


def _is_for_registry(secret: SourceSecret) -> bool:
    """Whether a Secret is for the schema registry, and not for the brokers."""
    return secret.folder in {_REGISTRY_CREDENTIALS, _REGISTRY_AUTHORITY}


def _receiver(secret: SourceSecret) -> str:
    return "the registry" if _is_for_registry(secret) else "the brokers"


def _is_sound(topic: str) -> bool:
    """Whether `{namespace}` ends in an allowed topic where no namespace name can continue, as the API server checks."""
    return all(rest[:1] in {"", ".", "_"} for rest in topic.split("{namespace}")[1:])


def _covers(allowed: Iterable[str], text: str, *, whole: bool) -> bool:
    """Whether an allowed topic covers every topic with the prefix `text`, or only `text` if it is whole."""
    return any(
        text.startswith(one.removesuffix("*")) if one.endswith("*") else whole and text == one for one in allowed
    )


def _lacks(class_name: str, left_out: list[str]) -> str:
    if not left_out:
        return (
            f"class {class_name} allows no Kafka cluster: ask the platform team for an entry of "
            "allowedKafka, or use a class that has one."
        )
    return (
        f"no entry of allowedKafka of class {class_name} allows everything that the source names; the closest entry "
        f"lacks {listed(left_out, _NAMED)}. Use only what a single entry allows, or ask the platform team to add it. "
        "The part of a topicPattern before the first wildcard must lie inside what is allowed."
    )
