"""Spark settings: complete, explicit, and the operator's own keys last."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import IMAGE, JOB, class_spec, spec

from hudi_operator.jobs.settings.spark_conf import build_spark_conf
from hudi_operator.jobs.sizing import resolve_sizing

JAVA_OPTIONS = (
    "-XX:+ExitOnOutOfMemoryError -Djol.skipHotspotSAAttach=true -Djol.skipDynamicAttach=true "
    "-XX:SharedArchiveFile=/opt/hudi/classes.jsa"
)
SMALL = f"{JAVA_OPTIONS} -XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=128m"


def spark(policy: dict[str, Any] | None = None, *, goes_on: bool = False, **changes: Any) -> dict[str, str]:
    declared, table_class = spec(**changes), class_spec(**(policy or {}))
    return build_spark_conf(
        spec=declared,
        table_class=table_class,
        sizing=resolve_sizing(declared, table_class),
        run=JOB,
        namespace="team-a",
        image=IMAGE,
        goes_on=goes_on,
    )


def test_all_spark_settings_of_a_local_run_are_these_and_no_others() -> None:
    assert spark() == {
        "spark.app.name": JOB,
        "spark.driver.memory": "1536m",
        "spark.driver.extraJavaOptions": f"{SMALL} -Xms1536m",
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
        "spark.driver.extraJavaOptions": f"{JAVA_OPTIONS} -Xms1536m",
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
        "spark.executor.failuresValidityInterval": "1h",
    }
    assert set(local) - set(cluster) == {"spark.sql.shuffle.partitions"}


def test_a_small_driver_that_goes_on_has_both_compilers() -> None:
    options = spark(goes_on=True)["spark.driver.extraJavaOptions"]
    assert options == f"{JAVA_OPTIONS} -XX:+UseSerialGC -Xms1536m"


@pytest.mark.parametrize(("driver", "heap"), [({"cpu": "3"}, "1536m"), ({"memory": "6Gi"}, "4608m")])
def test_a_driver_with_more_cores_or_heap_keeps_the_compiler_and_collector_for_long_runs(
    driver: dict[str, str], heap: str
) -> None:
    assert spark(execution={"driver": driver})["spark.driver.extraJavaOptions"] == f"{JAVA_OPTIONS} -Xms{heap}"


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
    policy = {"objectStore": {"credentialsSecretName": "lake"}}
    prefix = "spark.kubernetes.executor.secretKeyRef."
    found = spark(policy, execution={"mode": "Cluster"})
    assert {key: value for key, value in found.items() if key.startswith(prefix)} == {
        f"{prefix}AWS_ACCESS_KEY_ID": "lake:AWS_ACCESS_KEY_ID",
        f"{prefix}AWS_SECRET_ACCESS_KEY": "lake:AWS_SECRET_ACCESS_KEY",
    }
    assert not any(key.startswith(prefix) for key in spark(policy))


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
