"""What a class does not allow a table."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import table, table_class

from hudi_operator.planning.policy.class_policy import policy_blockers

LOCK = {"zookeeper": {"connect": "zk:2181"}}
INSIDE_ANOTHER_LOCK = {"zookeeper": {"connect": "zk:2181", "basePath": "/hudi/team-b.delays"}}


def reasons(spec: dict[str, Any], policy: dict[str, Any] | None = None) -> list[str]:
    return [str(one.reason) for one in policy_blockers(table(**spec), table_class(**(policy or {})))]


def source(path: str) -> dict[str, Any]:
    return {"ingestion": {"source": {"files": {"path": path, "format": "csv"}}}}


def upstream(path: str) -> dict[str, Any]:
    return {"ingestion": {"source": {"hudi": {"path": path}}}}


def reading(options: dict[str, str]) -> dict[str, Any]:
    return {"ingestion": {"source": {"files": {"path": "s3a://landing/", "format": "csv", "options": options}}}}


def quarantine(path: str) -> dict[str, Any]:
    return {"ingestion": {"badRecords": {"policy": "Quarantine", "quarantinePath": path}}}


@pytest.mark.parametrize(
    ("spec", "policy"),
    [
        ({}, {}),
        ({"ingestion": None}, {}),
        ({"ingestion": None}, {"allowedSourcePaths": []}),
        (quarantine("s3a://rejected/bad/"), {"allowedQuarantinePaths": ["s3://rejected/"]}),
        (quarantine("s3a://rejected/"), {"allowedQuarantinePaths": ["s3://rejected/"]}),
        ({"sparkConf": {"spark.sql.ansi.enabled": "true"}}, {"allowedSparkConf": ["spark.sql.*"]}),
        ({"hudiOptions": {"hoodie.bloom.index.parallelism": "4"}}, {"allowedHudiOptions": ["hoodie.bloom.*"]}),
        (reading({"header": "true", "sep": ";"}), {}),
        (upstream("s3a://landing/orders"), {}),
        (upstream("s3a://lake/team-a/orders"), {"allowedSourcePaths": ["s3://lake/{namespace}/"]}),
        ({"execution": {"driver": {"memory": "8Gi", "cpu": "4"}}}, {}),
        ({"execution": {"mode": "Local", "executor": {"memory": "1Ti"}}}, {}),
        ({"ingestion": {"schedule": {"cron": "0 3 * * *", "timeZone": "Europe/Berlin"}}}, {}),
        ({"concurrency": {"mode": "Optimistic", "lock": LOCK}}, {}),
        ({"concurrency": {"mode": "Optimistic"}}, {"lock": LOCK}),
        ({"concurrency": {"mode": "Optimistic"}}, {"lock": INSIDE_ANOTHER_LOCK}),
        ({"concurrency": {"mode": "Optimistic", "lock": INSIDE_ANOTHER_LOCK}}, {"allowSharedLockKeys": True}),
        ({"concurrency": {"mode": "Serialized"}}, {}),
        ({"compaction": {"plan": {"partitionRegex": "month=(1|2)$"}}}, {}),
    ],
)
def test_a_spec_inside_of_the_policy_has_no_blocker(spec: dict[str, Any], policy: dict[str, Any]) -> None:
    assert reasons(spec, policy) == []


@pytest.mark.parametrize(
    ("spec", "policy", "expected"),
    [
        ({"concurrency": {"mode": "Optimistic", "lock": INSIDE_ANOTHER_LOCK}}, {}, ["SettingNotAllowed"]),
        ({"basePath": "s3a://lake/team-b/flights"}, {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://lake/team-a/../team-b/flights"}, {}, ["PathNotAllowed"]),
        (source("s3a://elsewhere/flights/"), {}, ["PathNotAllowed"]),
        (source("s3a://landing/flights/"), {"allowedSourcePaths": []}, ["PathNotAllowed"]),
        (upstream("s3a://lake/team-a/orders"), {}, ["PathNotAllowed"]),
        (upstream("s3a://lake/team-b/orders"), {"allowedSourcePaths": ["s3://lake/{namespace}/"]}, ["PathNotAllowed"]),
        (upstream("s3a://landing/.hoodie/metadata"), {}, ["PathNotAllowed"]),
        (quarantine("s3a://elsewhere/bad"), {"allowedQuarantinePaths": ["s3://rejected/"]}, ["PathNotAllowed"]),
        (quarantine("s3a://landing/bad/"), {}, ["PathNotAllowed"]),
        (quarantine("s3a://landing/bad/"), {"allowedQuarantinePaths": ["s3://rejected/"]}, ["PathNotAllowed"]),
        (
            quarantine("s3a://rejected/.hoodie/timeline"),
            {"allowedQuarantinePaths": ["s3://rejected/"]},
            ["PathNotAllowed"],
        ),
        (source("s3a://rejected/x"), {"allowedQuarantinePaths": ["s3://rejected/"]}, ["PathNotAllowed"]),
        (source("s3a://Landing/flights/"), {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://Lake/team-a/flights"}, {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://lake/team-a/.hoodie"}, {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://lake/team-a/flights/.hoodie/metadata"}, {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://lake/team-a/flights/.HOODIE/x"}, {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://lake/team-a/flights/%2ehoodie/x"}, {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://lake/team-a/flights/.hudi-operator/files"}, {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://lake/team-a"}, {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://lake/team-a/"}, {}, ["PathNotAllowed"]),
        ({"basePath": "s3a://lake//team-a/x/.."}, {}, ["PathNotAllowed"]),
        (
            {"basePath": "s3a://lake/shared"},
            {"allowedBasePaths": ["s3://lake", "s3://lake/shared/{namespace}"]},
            ["PathNotAllowed"],
        ),
        ({"basePath": "s3a://lake"}, {"allowedBasePaths": ["s3://lake"]}, ["PathNotAllowed"]),
        ({"sparkConf": {"spark.jars": "http://x/evil.jar"}}, {}, ["SettingNotAllowed"]),
        ({"sparkConf": {"spark.master": "local"}}, {"allowedSparkConf": ["spark.*"]}, ["SettingNotAllowed"]),
        ({"hudiOptions": {"hoodie.table.name": "x"}}, {"allowedHudiOptions": ["hoodie.*"]}, ["SettingNotAllowed"]),
        (
            {"sparkConf": {"spark.sql.files.ignoreCorruptFiles": "true"}},
            {"allowedSparkConf": ["spark.sql.shuffle.partitions", "spark.sql.files.*"]},
            ["SettingNotAllowed"],
        ),
        (
            {"sparkConf": {"spark.hadoop.fs.s3a.bucket.lake.endpoint": "http://elsewhere"}},
            {"allowedSparkConf": ["spark.hadoop.*"]},
            ["SettingNotAllowed"],
        ),
        ({"hudiOptions": {"hoodie.base.path": "x"}}, {"allowedHudiOptions": ["hoodie.*"]}, ["SettingNotAllowed"]),
        (reading({"fs.s3a.endpoint": "http://elsewhere"}), {}, ["SettingNotAllowed"]),
        (reading({"header": "true", "ignoreCorruptFiles": "true"}), {}, ["SettingNotAllowed"]),
        ({"execution": {"driver": {"memory": "9Gi"}}}, {}, ["SizeNotAllowed"]),
        ({"execution": {"driver": {"cpu": "4001m"}}}, {}, ["SizeNotAllowed"]),
        (
            {"execution": {"mode": "Cluster", "executor": {"memory": "17Gi", "cpu": "9", "instances": 51}}},
            {},
            ["SizeNotAllowed"] * 3,
        ),
        (
            {"concurrency": {"mode": "Optimistic"}, "hudiOptions": {"hoodie.write.lock.provider": "x"}},
            {"allowedHudiOptions": ["hoodie.*"], "lock": LOCK},
            ["SettingNotAllowed"],
        ),
        (
            {
                "partitionBy": ["day"],
                "clustering": {"plan": {"strategy": "RecentDays"}},
                "hudiOptions": {"hoodie.table.services.incremental.enabled": "true"},
            },
            {"allowedHudiOptions": ["hoodie.*"]},
            ["SettingNotAllowed"],
        ),
        ({"execution": {"profile": "spot"}}, {}, ["ProfileNotAllowed"]),
        ({"execution": {"profile": "spot"}}, {"profiles": [{"name": "plain"}]}, ["ProfileNotAllowed"]),
        ({"execution": {"profile": "plain"}}, {"profiles": [{"name": "plain"}]}, []),
        ({}, {"profiles": [{"name": "plain"}], "execution": {"profile": "plain"}}, []),
        ({"ingestion": {"schedule": {"cron": "0 0 31 2 *"}}}, {}, ["InvalidSchedule"]),
        ({"concurrency": {"mode": "Optimistic"}}, {}, ["LockMissing"]),
        ({"compaction": {"plan": {"partitionRegex": "month=("}}}, {}, ["InvalidPattern"]),
        (
            {"clustering": {"plan": {"strategy": "SelectedPartitions", "partitions": {"regex": "*"}}}},
            {},
            ["InvalidPattern"],
        ),
        ({"ingestion": {"schedule": {"cron": "0 0 * * *", "timeZone": "Mars/Olympus"}}}, {}, ["InvalidSchedule"]),
        (
            {
                "basePath": "s3a://other/flights",
                "sparkConf": {"spark.jars": "x"},
                "ingestion": {"schedule": {"cron": "0 0 31 2 *"}},
            },
            {},
            ["PathNotAllowed", "SettingNotAllowed", "InvalidSchedule"],
        ),
    ],
)
def test_everything_outside_of_the_policy_is_named(
    spec: dict[str, Any], policy: dict[str, Any], expected: list[str]
) -> None:
    assert reasons(spec, policy) == expected


def test_a_blocker_says_what_is_allowed_and_what_to_do() -> None:
    (blocker,) = policy_blockers(table(basePath="s3a://lake/team-b/flights"), table_class())
    assert blocker.message == (
        "basePath s3a://lake/team-b/flights is outside of what class standard allows (s3://lake/{namespace}/): "
        "choose a path inside, or ask the platform team to allow it."
    )


def test_profile_outside_of_the_class_is_named_with_the_profiles_on_offer() -> None:
    profiles = {"profiles": [{"name": "spot"}, {"name": "large"}]}
    (blocker,) = policy_blockers(table(execution={"profile": "gpu"}), table_class(**profiles))
    assert blocker.message == (
        "execution.profile gpu is not a profile of class standard, which offers spot, large: choose one of them, or "
        "ask the platform team to add it."
    )
    (blocker,) = policy_blockers(table(execution={"profile": "gpu"}), table_class())
    assert "offers none: remove it, or ask" in blocker.message


@pytest.mark.parametrize(
    ("logs", "refused"),
    [
        ("s3a://lake/{namespace}", True),
        ("s3a://lake/{namespace}/flights", True),
        ("s3://lake/{namespace}/flights/logs/", True),
        ("s3a://lake/{namespace}/flights-logs", False),
        ("s3a://logs/{namespace}", False),
    ],
)
def test_table_and_event_logs_of_its_class_do_not_lie_inside_one_another(logs: str, *, refused: bool) -> None:
    found = policy_blockers(table(), table_class(job={"eventLogPath": logs}))
    assert [one.reason for one in found] == (["PathNotAllowed"] if refused else [])
    assert all("job.eventLogPath" in one.message for one in found)


def test_whole_prefix_is_refused_as_no_folder_of_a_single_table() -> None:
    (blocker,) = policy_blockers(table(basePath="s3a://lake/team-a"), table_class())
    assert blocker.message == (
        "basePath s3a://lake/team-a is itself a folder below which class standard allows tables "
        "(s3://lake/{namespace}/): choose a folder below it."
    )
    assert blocker.hides


@pytest.mark.parametrize(
    "spec", [source("s3a://elsewhere/x"), quarantine("s3a://elsewhere/bad"), {"sparkConf": {"spark.jars": "x"}}]
)
def test_blocker_without_the_base_path_hides_nothing(spec: dict[str, Any]) -> None:
    (blocker,) = policy_blockers(table(**spec), table_class())
    assert not blocker.hides


def test_a_missing_lock_is_named_with_what_to_do() -> None:
    (blocker,) = policy_blockers(table(concurrency={"mode": "Optimistic"}), table_class())
    assert blocker.message == (
        "concurrency.mode is Optimistic, and neither the table nor class standard names a lock: "
        "set concurrency.lock to the lock that all writers share."
    )


def test_a_blocker_of_a_class_that_allows_no_source_says_so() -> None:
    (blocker,) = policy_blockers(table(), table_class(allowedSourcePaths=[]))
    assert "allows (nothing)" in blocker.message


def test_the_policy_of_one_namespace_is_not_that_of_another() -> None:
    assert policy_blockers(table(namespace="team-a"), table_class()) == ()
    assert len(policy_blockers(table(namespace="team-b"), table_class())) == 1
