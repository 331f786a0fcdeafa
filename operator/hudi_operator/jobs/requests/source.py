"""The source of a table as the request says it: one function for each kind of source."""

from typing import TypedDict

from hudi_jobs.contract import (
    FileSource,
    HudiSource,
    KafkaSecurity,
    KafkaSource,
    MessageColumns,
    MessageValue,
    OffsetReset,
    PartitionOffset,
    SchemaRegistry,
    StartingOffsets,
)
from hudi_operator.api.spec.kafka import (
    KafkaSecuritySpec,
    KafkaSourceSpec,
    MessageValueSpec,
    SchemaRegistrySpec,
    StartingOffsetsSpec,
)
from hudi_operator.api.spec.source import FileSourceSpec, Source
from hudi_operator.api.spec.upstream import HudiSourceSpec
from hudi_operator.api.values.base import quantity_bytes
from hudi_operator.jobs.source_secrets import (
    KAFKA_AUTHORITY,
    KAFKA_CERTIFICATE,
    KAFKA_CREDENTIALS,
    REGISTRY_AUTHORITY,
    REGISTRY_CREDENTIALS,
)


def source_document(source: Source) -> FileSource | KafkaSource | HudiSource:
    """Return what the driver is told of a source."""
    if source.kafka is not None:
        return _kafka(source.kafka)
    if source.files is not None:
        return _files(source.files)
    if source.hudi is not None:
        return _hudi(source.hudi)
    raise ValueError("a source has exactly one kind")


class RunLimits(TypedDict, total=False):
    """How much one run reads at most, as an IngestionTask takes it; what is left out has no limit."""

    max_bytes: int | None
    max_files: int | None
    max_records: int | None
    max_commits: int | None


def run_limits(source: Source) -> RunLimits:
    """Return how much one run of a source reads at most."""
    if source.kafka is not None:
        return {"max_bytes": _bytes(source.kafka.max_bytes_per_run), "max_records": source.kafka.records_per_run}
    if source.files is not None:
        return {"max_bytes": _bytes(source.files.max_bytes_per_run), "max_files": source.files.max_files_per_run}
    if source.hudi is not None:
        return {"max_commits": source.hudi.max_commits_per_run}
    raise ValueError("a source has exactly one kind")


def _bytes(quantity: str | None) -> int | None:
    return quantity_bytes(quantity) if quantity else None


def _files(files: FileSourceSpec) -> FileSource:
    return FileSource(
        path=files.path,
        format=files.format,
        options=files.options,
        schema_ddl=files.columns,
        path_glob=files.path_glob,
    )


def _hudi(hudi: HudiSourceSpec) -> HudiSource:
    return HudiSource(path=hudi.path, starting_commit=hudi.starting_commit, on_removed_rows=hudi.on_removed_rows)


def _kafka(kafka: KafkaSourceSpec) -> KafkaSource:
    return KafkaSource(
        bootstrap_servers=",".join(kafka.bootstrap_servers),
        topics=kafka.topics,
        topic_pattern=kafka.topic_pattern,
        starting_offsets=_starting_offsets(kafka.starting_offsets),
        isolation=kafka.isolation,
        on_data_loss=kafka.on_data_loss,
        tombstones=kafka.tombstones,
        value=_value(kafka.value),
        columns=MessageColumns(**kafka.columns.model_dump()),
        registry=None if kafka.registry is None else _registry(kafka.registry),
        security=_security(kafka.security),
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
        credentials_folder=REGISTRY_CREDENTIALS if registry.credentials_secret_name else None,
        ca_file=f"{REGISTRY_AUTHORITY}/ca.crt" if registry.ca_secret_name else None,
    )


def _security(security: KafkaSecuritySpec) -> KafkaSecurity:
    return KafkaSecurity(
        protocol=security.protocol,
        mechanism=security.mechanism,
        credentials_folder=KAFKA_CREDENTIALS if security.credentials_secret_name else None,
        ca_file=f"{KAFKA_AUTHORITY}/ca.crt" if security.ca_secret_name else None,
        certificate_folder=KAFKA_CERTIFICATE if security.certificate_secret_name else None,
    )
