"""A source on its way from the spec to the request and the pods."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml
from tests.jobs.pod_security import violations
from tests.planning.world import IMAGE, JOB, OPERATOR, active, class_spec, observe, table, table_class

from hudi_jobs.contract import (
    DataLossPolicy,
    Envelope,
    FileSource,
    HudiSource,
    IngestionTableTask,
    IngestionTask,
    Isolation,
    JobRequest,
    KafkaSecurity,
    KafkaSource,
    MessageColumns,
    MessageFormat,
    MessageValue,
    OffsetReset,
    OperationKind,
    OperationTableTask,
    PartitionOffset,
    RemovedRows,
    SaslMechanism,
    SchemaRegistry,
    SecurityProtocol,
    Service,
    SourceTables,
    StartingCommit,
    StartingOffsets,
    TableOperation,
    Tombstones,
)
from hudi_operator.api.crd.definitions import structural_schema
from hudi_operator.api.spec.sources.kafka import KafkaSourceSpec
from hudi_operator.jobs.decided_job import build_manifest
from hudi_operator.jobs.requests.request import build_request
from hudi_operator.jobs.settings.known_settings import refused_keys

SMALLEST: dict[str, Any] = {"bootstrapServers": ["kafka-0:9092", "kafka-1:9092"], "topics": ["orders", "returns"]}
SECURED: dict[str, Any] = {
    **SMALLEST,
    "value": {"format": "Avro"},
    "registry": {
        "url": "https://registry.example.com/v1/",
        "subject": "orders-value",
        "credentialsSecretName": "registry-user",
        "caSecretName": "registry-ca",
    },
    "security": {
        "protocol": "SASL_SSL",
        "mechanism": "SCRAM-SHA-512",
        "credentialsSecretName": "kafka-user",
        "caSecretName": "kafka-ca",
        "certificateSecretName": "kafka-client",
    },
}


def ingestion(kafka: dict[str, Any], **fields: Any) -> IngestionTask:
    return task_of({"source": {"kafka": kafka}, **fields})


def requested(ingestion: dict[str, Any], **asked: Any) -> JobRequest:
    one = table(ingestion=ingestion)
    return build_request(table=one, table_class=class_spec(), run=JOB, spark_conf={}, operator=OPERATOR, **asked)


def task_of(ingestion: dict[str, Any]) -> IngestionTask:
    request = requested(ingestion, service=Service.INGESTION)
    found = type(request).model_validate_json(request.model_dump_json(by_alias=True, exclude_none=True))
    assert found == request
    (task,) = request.tasks
    assert isinstance(task, IngestionTableTask)
    return task.ingestion


def source(kafka: dict[str, Any]) -> KafkaSource:
    found = ingestion(kafka).source
    assert isinstance(found, KafkaSource)
    return found


def test_the_smallest_source_has_the_defaults_of_the_contract() -> None:
    expected = KafkaSource(bootstrap_servers="kafka-0:9092,kafka-1:9092", topics=("orders", "returns"))
    assert source(SMALLEST) == expected


def test_everything_that_a_source_declares_reaches_the_driver() -> None:
    declared = {
        "bootstrapServers": ["kafka-0:9092"],
        "topicPattern": r"team-a\.orders\..*",
        "startingOffsets": {"at": "Latest"},
        "isolation": "ReadUncommitted",
        "onDataLoss": "Skip",
        "tombstones": "Delete",
        "value": {"format": "Json", "columns": "id BIGINT", "envelope": "Debezium", "sourceTables": "Several"},
        "columns": {"key": "k", "topic": "t", "partition": "p", "offset": "o", "timestamp": "at", "headers": "h"},
    }
    assert source(declared) == KafkaSource(
        bootstrap_servers="kafka-0:9092",
        topic_pattern=r"team-a\.orders\..*",
        starting_offsets=StartingOffsets(reset=OffsetReset.LATEST),
        isolation=Isolation.READ_UNCOMMITTED,
        on_data_loss=DataLossPolicy.SKIP,
        tombstones=Tombstones.DELETE,
        value=MessageValue(
            format=MessageFormat.JSON,
            schema_ddl="id BIGINT",
            envelope=Envelope.DEBEZIUM,
            source_tables=SourceTables.SEVERAL,
        ),
        columns=MessageColumns(key="k", topic="t", partition="p", offset="o", timestamp="at", headers="h"),
    )


def test_a_start_by_time_or_by_offsets_reaches_the_driver() -> None:
    moment = source({**SMALLEST, "startingOffsets": {"timestamp": "2026-11-01T00:00:00Z"}})
    assert moment.starting_offsets == StartingOffsets(timestamp="2026-11-01T00:00:00Z")
    partitions = source(
        {**SMALLEST, "startingOffsets": {"partitions": [{"topic": "orders", "partition": 2, "offset": 7}]}}
    )
    assert partitions.starting_offsets.partitions == (PartitionOffset(topic="orders", partition=2, offset=7),)


def test_a_descriptor_reaches_the_driver() -> None:
    value = {"format": "Protobuf", "protobuf": {"messageType": "shop.v1.Order", "descriptor": "CgA="}}
    assert source({**SMALLEST, "value": value}).value == MessageValue(
        format=MessageFormat.PROTOBUF, message_type="shop.v1.Order", descriptor="CgA="
    )


def test_the_message_of_a_registry_reaches_the_driver_without_a_descriptor() -> None:
    value = {"format": "Protobuf", "protobuf": {"messageType": "shop.v1.Order"}}
    found = source({**SECURED, "value": value})
    assert found.value == MessageValue(format=MessageFormat.PROTOBUF, message_type="shop.v1.Order")
    assert found.registry is not None
    assert found.registry.credentials_folder == "/etc/hudi-secrets/registry-credentials"


def test_secrets_are_told_by_the_folders_that_they_are_mounted_at() -> None:
    found = source(SECURED)
    assert found.registry == SchemaRegistry(
        url="https://registry.example.com/v1",
        subject="orders-value",
        credentials_folder="/etc/hudi-secrets/registry-credentials",
        ca_file="/etc/hudi-secrets/registry-ca/ca.crt",
    )
    assert found.security == KafkaSecurity(
        protocol=SecurityProtocol.SASL_SSL,
        mechanism=SaslMechanism.SCRAM_SHA_512,
        credentials_folder="/etc/hudi-secrets/kafka-credentials",
        ca_file="/etc/hudi-secrets/kafka-ca/ca.crt",
        certificate_folder="/etc/hudi-secrets/kafka-certificate",
    )


def test_limits_of_messages_and_of_files_are_told_apart() -> None:
    limited = ingestion({**SMALLEST, "maxRecordsPerRun": 7, "maxBytesPerRun": "1Ki"})
    assert (limited.max_records, limited.max_files, limited.max_bytes) == (7, None, 1024)
    files = build_request(
        table=table(ingestion={"source": {"files": {"path": "s3a://a/b", "format": "csv", "maxFilesPerRun": 3}}}),
        table_class=class_spec(),
        service=Service.INGESTION,
        run=JOB,
        spark_conf={},
        operator=OPERATOR,
    )
    (found,) = files.tasks
    assert isinstance(found, IngestionTableTask)
    task = found.ingestion
    assert isinstance(task.source, FileSource)
    assert (task.max_files, task.max_records) == (3, None)


def test_messages_have_a_limit_that_nobody_declares_and_any_limit_of_messages_replaces() -> None:
    """The first run of a topic that holds years would be one commit, which no driver's memory may be enough for."""
    assert ingestion(SMALLEST).max_records == 5_000_000
    assert ingestion({**SMALLEST, "maxRecordsPerRun": 50_000_000}).max_records == 50_000_000
    by_size = ingestion({**SMALLEST, "maxBytesPerRun": "1Gi"})
    assert (by_size.max_records, by_size.max_bytes) == (None, 2**30)
    for kind in ({"files": {"path": "s3a://a/b", "format": "csv"}}, {"hudi": {"path": "s3a://a/b"}}):
        task = task_of(ingestion={"source": kind})
        assert (task.max_bytes, task.max_files, task.max_records, task.max_commits) == (None, None, None, None)


def test_the_limit_of_messages_that_nobody_declares_is_stored_nowhere() -> None:
    """A default of the API server would be in every table, also where the limit is none of its source."""
    declared = table(ingestion={"source": {"kafka": SMALLEST}}).spec
    assert "maxRecordsPerRun" not in declared.model_dump_json(by_alias=True, exclude_none=True)
    assert "default" not in structural_schema(KafkaSourceSpec)["properties"]["maxRecordsPerRun"]


def test_an_upstream_table_is_told_with_its_choices_and_its_limit() -> None:
    declared = {"path": "s3a://lake/orders", "startingCommit": "Latest", "onRemovedRows": "Ignore"}
    task = task_of(ingestion={"source": {"hudi": {**declared, "maxCommitsPerRun": 3}}})
    assert task.source == HudiSource(
        path="s3a://lake/orders", starting_commit=StartingCommit.LATEST, on_removed_rows=RemovedRows.IGNORE
    )
    assert (task.max_files, task.max_records, task.max_commits) == (None, None, 3)
    plain = task_of(ingestion={"source": {"hudi": {"path": "s3a://lake/orders"}}})
    assert plain.source == HudiSource(path="s3a://lake/orders")
    assert plain.max_commits is None


@pytest.mark.parametrize(
    "declared",
    [
        {"kafka": SMALLEST},
        {"hudi": {"path": "s3a://lake/orders"}},
        {"files": {"path": "s3a://lake/in", "format": "csv"}},
    ],
    ids=lambda one: next(iter(one)),
)
def test_a_restore_is_told_of_any_kind_of_source_whose_rows_are_to_be_read_again(declared: dict[str, Any]) -> None:
    back = TableOperation(kind=OperationKind.RESTORE, instant="20260310115900000", resource="team/back", uid="uid")
    (task,) = requested({"source": declared}, service=Service.OPERATION, operation=back).tasks
    assert isinstance(task, OperationTableTask)
    assert task.ingestion is not None
    assert task.ingestion.source == task_of({"source": declared}).source
    without = back.copy_with(reingest=False)
    (task,) = requested({"source": declared}, service=Service.OPERATION, operation=without).tasks
    assert isinstance(task, OperationTableTask)
    assert task.ingestion is None


def manifest(
    kafka: dict[str, Any], *, mode: str = "Local", service: Service = Service.INGESTION, **more: Any
) -> dict[str, Any]:
    entry = {"hive": {"database": "team_a", "table": "flights"}}
    one = table(ingestion={"source": {"kafka": kafka}}, execution={"mode": mode}, catalog=entry)
    hive = {"metastoreUris": ["thrift://metastore:9083"], "allowedDatabases": ["team_a"]}
    observation = observe(one, table_class=table_class(catalog={"hive": hive}))
    named = {"work": "Make", "instant": "20260310115900000", "resource": "daily", "uid": "uid-of-daily"}
    asked = {"kind": "Restore", "instant": "20260310115900000", "resource": "back", "uid": "uid-of-back", **more}
    given: dict[str, Any] = {Service.SAVEPOINT: {"named_savepoint": named}, Service.OPERATION: {"operation": asked}}
    return build_manifest(observation, active(service=service, **given.get(service, {})), default_image=IMAGE)


def driver(job: dict[str, Any]) -> dict[str, Any]:
    pod: dict[str, Any] = job["spec"]["template"]["spec"]
    return pod


def executor(job: dict[str, Any]) -> dict[str, Any]:
    annotations = job["spec"]["template"]["metadata"]["annotations"]
    pod: dict[str, Any] = yaml.safe_load(annotations["hudi-operator.io/executor-template"])["spec"]
    return pod


MOUNTED = {
    "/etc/hudi-secrets/registry-credentials": ("registry-user", ["username", "password"]),
    "/etc/hudi-secrets/registry-ca": ("registry-ca", ["ca.crt"]),
    "/etc/hudi-secrets/kafka-credentials": ("kafka-user", ["username", "password"]),
    "/etc/hudi-secrets/kafka-ca": ("kafka-ca", ["ca.crt"]),
    "/etc/hudi-secrets/kafka-certificate": ("kafka-client", ["tls.crt", "tls.key"]),
}


def mounted(pod: dict[str, Any]) -> dict[str, tuple[str, list[str]]]:
    """The Secrets of a pod by the folders that they are mounted at, with their keys."""
    secrets = {volume["name"]: volume["secret"] for volume in pod["volumes"] if "secret" in volume}
    assert all(secret["defaultMode"] == 0o440 for secret in secrets.values())
    assert all(item["key"] == item["path"] for secret in secrets.values() for item in secret["items"])
    mounts = [mount for mount in pod["containers"][0]["volumeMounts"] if mount["name"] in secrets]
    assert all(mount["readOnly"] is True for mount in mounts)
    return {
        mount["mountPath"]: (
            secrets[mount["name"]]["secretName"],
            [item["key"] for item in secrets[mount["name"]]["items"]],
        )
        for mount in mounts
    }


@pytest.mark.parametrize("mode", ["Local", "Cluster"])
def test_the_driver_gets_the_keys_that_it_needs_as_files_of_its_group(mode: str) -> None:
    pod = driver(manifest(SECURED, mode=mode))
    assert mounted(pod) == MOUNTED
    assert pod["securityContext"]["fsGroup"] == 185
    assert violations(pod) == []


def test_executors_get_the_same_and_meet_the_restricted_standard() -> None:
    pod = executor(manifest(SECURED, mode="Cluster"))
    assert mounted(pod) == MOUNTED
    assert violations(pod) == []


def test_no_folder_of_a_secret_lies_in_that_of_the_request() -> None:
    """The folder of the request is read-only, so that nothing can be mounted below it."""
    assert not any(f"{folder}/".startswith("/etc/hudi-job/") for folder in MOUNTED)


def test_a_missing_secret_keeps_the_driver_from_starting_with_a_word_in_the_status_of_its_pod() -> None:
    """The kubelet tells nobody but Events of a volume whose Secret is missing; of a variable it says it in the pod."""
    pod = driver(manifest(SECURED))
    assert all(volume["secret"]["optional"] for volume in pod["volumes"] if "secret" in volume)
    asked = {
        (one["valueFrom"]["secretKeyRef"]["name"], one["valueFrom"]["secretKeyRef"]["key"])
        for one in pod["containers"][0]["env"]
        if "secretKeyRef" in one.get("valueFrom", {}) and not one["valueFrom"]["secretKeyRef"].get("optional")
    }
    assert asked == {(name, keys[0]) for name, keys in MOUNTED.values()}
    assert {key for _, key in asked} & {"password", "tls.key"} == set()


@pytest.mark.parametrize("service", sorted(set(Service) - {Service.INGESTION, Service.DELETION, Service.OPERATION}))
def test_no_other_service_gets_the_secrets_of_the_source(service: Service) -> None:
    assert mounted(driver(manifest(SECURED, service=service))) == {}


def test_an_operation_that_reads_messages_again_asks_their_source_and_ingests_nothing() -> None:
    job = manifest(SECURED, service=Service.OPERATION)
    request = json.loads(job["spec"]["template"]["metadata"]["annotations"]["hudi-operator.io/request"])
    (task,) = request["tasks"]
    assert task["ingestion"]["source"]["topics"] == SECURED["topics"]
    assert "continuous" not in task["ingestion"]
    assert mounted(driver(job)) == mounted(driver(manifest(SECURED)))


def test_an_operation_that_reads_nothing_again_is_told_of_no_source() -> None:
    job = manifest(SECURED, service=Service.OPERATION, reingest=False)
    request = json.loads(job["spec"]["template"]["metadata"]["annotations"]["hudi-operator.io/request"])
    assert "ingestion" not in request["tasks"][0]
    assert mounted(driver(job)) == {}


def test_a_source_without_secrets_mounts_none() -> None:
    assert mounted(driver(manifest(SMALLEST))) == {}


def test_content_of_a_secret_is_nowhere_in_the_job() -> None:
    text = json.dumps(manifest(SECURED, mode="Cluster"))
    assert "/etc/hudi-secrets/kafka-credentials" in text
    request = json.loads(manifest(SECURED)["spec"]["template"]["metadata"]["annotations"]["hudi-operator.io/request"])
    assert not any(name in json.dumps(request) for name in ("kafka-user", "kafka-client", "registry-user"))


@pytest.mark.parametrize(
    "key",
    [
        "spark.kafka.clusters.ours.sasl.token.mechanism",
        "spark.sql.kafka.bootstrap.servers",
        "spark.kafka.consumer.cache.capacity",
        "spark.hadoop.kafka.sasl.jaas.config",
    ],
)
def test_no_prefix_of_a_class_opens_a_setting_of_kafka(key: str) -> None:
    refused = refused_keys({key: "x"}, allowed=["spark.*"], prefix="spark.", owned={})
    assert len(list(refused)) == 1


@pytest.mark.parametrize(
    "key",
    [
        "hoodie.streamer.source.kafka.topic",
        "hoodie.deltastreamer.source.kafka.topic",
        "hoodie.streamer.schemaprovider.registry.url",
    ],
)
def test_no_prefix_of_a_class_opens_an_option_of_hudis_own_kafka_source(key: str) -> None:
    refused = refused_keys({key: "x"}, allowed=["hoodie.*"], prefix="hoodie.", owned={})
    assert len(list(refused)) == 1
