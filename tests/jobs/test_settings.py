"""Hudi options and Spark settings: complete, explicit, and the operator's own keys last."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import IMAGE, JOB, class_spec, spec, table

from hudi_operator.jobs.hudi_options import build_hudi_options, owned_hudi_options
from hudi_operator.jobs.sizing import resolve_sizing
from hudi_operator.jobs.spark_conf import build_spark_conf

JAVA_OPTIONS = "-XX:+ExitOnOutOfMemoryError -Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true"


def options(walls: dict[str, Any] | None = None, **changes: Any) -> dict[str, str]:
    return build_hudi_options(table(**changes), class_spec(**(walls or {})))


def spark(walls: dict[str, Any] | None = None, **changes: Any) -> dict[str, str]:
    declared, table_class = spec(**changes), class_spec(**(walls or {}))
    return build_spark_conf(
        spec=declared,
        table_class=table_class,
        sizing=resolve_sizing(declared, table_class),
        run=JOB,
        namespace="team-a",
        image=IMAGE,
    )


def test_all_options_of_a_plain_table_are_these_and_no_others() -> None:
    assert options() == {
        "hoodie.table.name": "flights",
        "hoodie.datasource.write.table.name": "flights",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.index.type": "BLOOM",
        "hoodie.parquet.max.file.size": "125829120",
        "hoodie.parquet.small.file.limit": "104857600",
        "hoodie.copyonwrite.insert.split.size": "500000",
        "hoodie.copyonwrite.record.size.estimate": "1024",
        "hoodie.metadata.enable": "true",
        "hoodie.compact.inline": "false",
        "hoodie.compact.inline.max.delta.commits": "5",
        "hoodie.compact.schedule.inline": "false",
        "hoodie.datasource.compaction.async.enable": "false",
        "hoodie.clustering.inline": "false",
        "hoodie.clustering.inline.max.commits": "4",
        "hoodie.clustering.schedule.inline": "false",
        "hoodie.clustering.async.enabled": "false",
        "hoodie.clean.automatic": "false",
        "hoodie.clean.async.enabled": "false",
        "hoodie.clean.policy": "KEEP_LATEST_COMMITS",
        "hoodie.clean.commits.retained": "10",
        "hoodie.clean.fileversions.retained": "3",
        "hoodie.clean.hours.retained": "24",
        "hoodie.archive.automatic": "false",
        "hoodie.archive.async": "false",
        "hoodie.keep.min.commits": "20",
        "hoodie.keep.max.commits": "30",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
        "hoodie.datasource.write.commitmeta.key.prefix": "hudi-operator.",
        "hoodie.write.rolling.metadata.keys": "hudi-operator.checkpoint",
    }


@pytest.mark.parametrize(
    ("service", "key"),
    [
        ("compaction", "hoodie.compact.inline"),
        ("clustering", "hoodie.clustering.inline"),
        ("cleaning", "hoodie.clean.automatic"),
        ("archival", "hoodie.archive.automatic"),
    ],
)
def test_a_service_runs_in_the_writer_only_when_it_says_inline(service: str, key: str) -> None:
    switches = [
        "hoodie.compact.inline",
        "hoodie.clustering.inline",
        "hoodie.clean.automatic",
        "hoodie.archive.automatic",
    ]
    inline = options(type="MergeOnRead", **{service: {"mode": "Inline"}})
    disabled = options(type="MergeOnRead", **{service: {"mode": "Disabled"}})

    assert [switch for switch in switches if inline[switch] == "true"] == [key]
    assert [switch for switch in switches if disabled[switch] == "true"] == []
    assert {name for name in inline if inline[name] != disabled[name]} == {key}


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"type": "MergeOnRead"}, {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}),
        ({"tableName": "Flights_2026"}, {"hoodie.table.name": "Flights_2026"}),
        ({"recordKey": ["carrier", "flight"]}, {"hoodie.datasource.write.recordkey.field": "carrier,flight"}),
        ({"partitionBy": ["year", "month"]}, {"hoodie.datasource.write.partitionpath.field": "year,month"}),
        ({"orderingFields": ["at", "sequence"]}, {"hoodie.table.ordering.fields": "at,sequence"}),
        ({"index": {"type": "Bucket", "buckets": 8}}, {"hoodie.bucket.index.num.buckets": "8"}),
        ({"index": {"type": "GlobalRecordLevel"}}, {"hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX"}),
        ({"index": {"type": "InMemory"}}, {"hoodie.index.type": "INMEMORY"}),
        ({"fileSizing": {"smallFileLimit": "0"}}, {"hoodie.parquet.small.file.limit": "0"}),
        ({"fileSizing": {"maxFileSize": "3M"}}, {"hoodie.parquet.max.file.size": "3000000"}),
        ({"metadataTable": {"enabled": False}}, {"hoodie.metadata.enable": "false"}),
        ({"cleaning": {"policy": "KeepLatestByHours", "retainHours": 48}}, {"hoodie.clean.hours.retained": "48"}),
        ({"cleaning": {"policy": "KeepLatestFileVersions"}}, {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"}),
        ({"archival": {"minCommits": 5, "maxCommits": 9}}, {"hoodie.keep.min.commits": "5"}),
    ],
)
def test_a_field_of_the_spec_becomes_its_option(changes: dict[str, Any], expected: dict[str, str]) -> None:
    found = options(**changes)
    assert {key: found.get(key) for key in expected} == expected


def test_every_option_that_a_field_decides_wins_over_free_options() -> None:
    owned = owned_hudi_options(table())
    wrong = dict.fromkeys(list(owned)[:60], "wrong")
    assert options({"hudiOptions": wrong}, hudiOptions=wrong) == owned


def test_free_options_of_a_table_win_over_those_of_its_class() -> None:
    key = "hoodie.bloom.index.parallelism"
    assert options({"hudiOptions": {key: "1"}})[key] == "1"
    assert options({"hudiOptions": {key: "1"}}, hudiOptions={key: "2"})[key] == "2"


def test_all_spark_settings_of_a_local_run_are_these_and_no_others() -> None:
    assert spark() == {
        "spark.app.name": JOB,
        "spark.driver.memory": "1536m",
        "spark.driver.extraJavaOptions": JAVA_OPTIONS,
        "spark.speculation": "false",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.master": "local[1]",
        "spark.sql.shuffle.partitions": "2",
        "spark.hadoop.fs.s3a.attempts.maximum": "3",
        "spark.hadoop.fs.s3a.retry.limit": "3",
        "spark.hadoop.fs.s3a.retry.interval": "1s",
        "spark.hadoop.fs.s3a.connection.establish.timeout": "5000",
        "spark.hadoop.fs.s3a.connection.timeout": "30000",
        "spark.hadoop.fs.s3a.connection.maximum": "1000",
        "spark.hadoop.fs.s3a.threads.max": "16",
        "spark.hadoop.fs.s3a.bucket.probe": "0",
        "spark.hadoop.fs.s3a.directory.marker.retention": "keep",
        "spark.hadoop.fs.s3.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
        "spark.hadoop.fs.s3n.impl": "org.apache.hadoop.fs.s3a.S3AFileSystem",
    }


def test_a_run_with_executors_sets_these_beside_what_every_run_sets() -> None:
    local, cluster = spark(), spark(execution={"mode": "Cluster", "executor": {"instances": 3, "memory": "4Gi"}})
    added = {key: value for key, value in cluster.items() if local.get(key) != value}
    assert added == {
        "spark.master": "k8s://https://kubernetes.default.svc",
        "spark.submit.deployMode": "client",
        "spark.app.id": "$(JOB_UID)",
        "spark.driver.host": "$(POD_IP)",
        "spark.driver.bindAddress": "0.0.0.0",
        "spark.driver.port": "7078",
        "spark.blockManager.port": "7079",
        "spark.kubernetes.namespace": "team-a",
        "spark.kubernetes.driver.pod.name": "$(POD_NAME)",
        "spark.kubernetes.container.image": IMAGE,
        "spark.kubernetes.container.image.pullPolicy": "IfNotPresent",
        "spark.kubernetes.executor.podNamePrefix": JOB,
        "spark.kubernetes.executor.podTemplateFile": "/etc/hudi-job/executor.yaml",
        "spark.kubernetes.executor.disableConfigMap": "true",
        "spark.kubernetes.driver.service.deleteOnTermination": "false",
        "spark.kubernetes.driver.ownPersistentVolumeClaim": "false",
        "spark.kubernetes.driver.reusePersistentVolumeClaim": "false",
        "spark.kubernetes.authenticate.executor.serviceAccountName": "hudi-executor",
        "spark.kubernetes.executor.request.cores": "1",
        "spark.executor.instances": "3",
        "spark.executor.cores": "1",
        "spark.executor.memory": "3072m",
        "spark.executor.memoryOverhead": "1024m",
        "spark.executor.extraJavaOptions": JAVA_OPTIONS,
    }
    assert set(local) - set(cluster) == {"spark.sql.shuffle.partitions"}


@pytest.mark.parametrize(
    ("store", "expected"),
    [
        ({}, {"endpoint.region": "us-east-1", "path.style.access": "false"}),
        (
            {"endpoint": "http://s3:9000", "pathStyleAccess": True},
            {"endpoint": "http://s3:9000", "connection.ssl.enabled": "false", "path.style.access": "true"},
        ),
        ({"endpoint": "https://s3.example"}, {"connection.ssl.enabled": "true"}),
        (
            {"credentialsSecretName": "lake"},
            {"aws.credentials.provider": "com.amazonaws.auth.EnvironmentVariableCredentialsProvider"},
        ),
    ],
)
def test_the_object_store_of_the_class_becomes_settings(store: dict[str, Any], expected: dict[str, str]) -> None:
    found = spark({"objectStore": store})
    assert {key: found.get(f"spark.hadoop.fs.s3a.{key}") for key in expected} == expected


def test_executors_get_credentials_by_the_name_of_the_secret_only() -> None:
    walls = {"objectStore": {"credentialsSecretName": "lake"}}
    prefix = "spark.kubernetes.executor.secretKeyRef."
    found = spark(walls, execution={"mode": "Cluster"})
    assert {key: value for key, value in found.items() if key.startswith(prefix)} == {
        f"{prefix}AWS_ACCESS_KEY_ID": "lake:AWS_ACCESS_KEY_ID",
        f"{prefix}AWS_SECRET_ACCESS_KEY": "lake:AWS_SECRET_ACCESS_KEY",
    }
    assert not any(key.startswith(prefix) for key in spark(walls))


@pytest.mark.parametrize("mode", ["Local", "Cluster"])
def test_every_setting_that_the_operator_makes_wins_over_free_settings(mode: str) -> None:
    plain = spark(execution={"mode": mode})
    wrong = dict.fromkeys(plain, "wrong")
    assert spark({"sparkConf": wrong}, execution={"mode": mode}, sparkConf=wrong) == plain


def test_free_settings_of_a_table_win_over_those_of_its_class() -> None:
    key = "spark.sql.ansi.enabled"
    assert spark({"sparkConf": {key: "false"}}, sparkConf={key: "true"})[key] == "true"


def test_the_slots_of_a_local_run_follow_its_cpu() -> None:
    found = spark(execution={"driver": {"cpu": "3500m"}})
    assert (found["spark.master"], found["spark.sql.shuffle.partitions"]) == ("local[4]", "4")
