"""Hudi's options: complete, explicit, and the operator's own keys last."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import class_spec, table

from hudi_jobs.contract import Service
from hudi_operator.jobs.settings.hudi_options import build_hudi_options, owned_hudi_keys, owned_hudi_options
from hudi_operator.jobs.settings.known_settings import refused_keys

COMPACTION = "org.apache.hudi.table.action.compact.strategy"
PLAN = "hoodie.clustering.plan.strategy"
TRANSACTION = "org.apache.hudi.client.transaction"
LOCK = {"zookeeper": {"connect": "zk:2181"}}
INCREMENTAL = "hoodie.table.services.incremental.enabled"
SWITCHES = {
    "compaction": "hoodie.compact.inline",
    "clustering": "hoodie.clustering.inline",
    "cleaning": "hoodie.clean.automatic",
    "archival": "hoodie.archive.automatic",
}


def options(
    policy: dict[str, Any] | None = None, *, service: Service = Service.INGESTION, **changes: Any
) -> dict[str, str]:
    return build_hudi_options(table(**changes), class_spec(**(policy or {})), service)


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
        "hoodie.compact.inline": "false",
        "hoodie.compact.schedule.inline": "false",
        "hoodie.datasource.compaction.async.enable": "false",
        "hoodie.compact.inline.trigger.strategy": "NUM_COMMITS",
        "hoodie.compact.inline.max.delta.commits": "5",
        "hoodie.compact.inline.max.delta.seconds": "3600",
        "hoodie.clustering.inline": "false",
        "hoodie.clustering.inline.max.commits": "4",
        "hoodie.clustering.schedule.inline": "false",
        "hoodie.clustering.async.enabled": "false",
        "hoodie.clustering.updates.strategy": (
            "org.apache.hudi.client.clustering.update.strategy.SparkRejectUpdateStrategy"
        ),
        f"{PLAN}.class": "org.apache.hudi.client.clustering.plan.strategy.SparkSizeBasedClusteringPlanStrategy",
        f"{PLAN}.small.file.limit": "314572800",
        f"{PLAN}.target.file.max.bytes": "1073741824",
        f"{PLAN}.max.bytes.per.group": "2147483648",
        f"{PLAN}.max.num.groups": "30",
        f"{PLAN}.single.group.clustering.enabled": "false",
        "hoodie.clustering.plan.partition.filter.mode": "NONE",
        "hoodie.clustering.execution.strategy.class": (
            "org.apache.hudi.client.clustering.run.strategy.SparkSortAndSizeExecutionStrategy"
        ),
        "hoodie.layout.optimize.strategy": "LINEAR",
        "hoodie.clean.automatic": "false",
        "hoodie.clean.async.enabled": "false",
        "hoodie.clean.policy": "KEEP_LATEST_COMMITS",
        "hoodie.clean.trigger.max.commits": "1",
        "hoodie.clean.commits.retained": "10",
        "hoodie.clean.fileversions.retained": "3",
        "hoodie.clean.hours.retained": "24",
        "hoodie.archive.automatic": "false",
        "hoodie.archive.async": "false",
        "hoodie.keep.min.commits": "20",
        "hoodie.keep.max.commits": "30",
        "hoodie.archive.beyond.savepoint": "false",
        "hoodie.client.heartbeat.interval_in_ms": "60000",
        "hoodie.client.heartbeat.tolerable.misses": "2",
        "hoodie.write.concurrency.mode": "SINGLE_WRITER",
        "hoodie.clean.failed.writes.policy": "EAGER",
        "hoodie.write.auto.upgrade": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
        "hoodie.datasource.write.commitmeta.key.prefix": "hudi-operator.",
        "hoodie.write.rolling.metadata.keys": "hudi-operator.checkpoint,hudi-operator.index",
        "hudi-operator.index": "Bloom",
    }


def test_a_merge_on_read_table_adds_the_plan_of_its_compaction() -> None:
    plain, merging = options(), options(type="MergeOnRead")
    assert {key: value for key, value in merging.items() if plain.get(key) != value} == {
        "hoodie.datasource.write.table.type": "MERGE_ON_READ",
        "hoodie.compaction.strategy": f"{COMPACTION}.LogFileSizeBasedCompactionStrategy",
        "hoodie.compaction.target.io": "512000",
        "hoodie.compaction.logfile.size.threshold": "0",
        "hoodie.compaction.logfile.num.threshold": "0",
        "hoodie.compaction.daybased.target.partitions": "10",
    }


@pytest.mark.parametrize("service", SWITCHES)
@pytest.mark.parametrize("mode", ["Async", "Inline", "Disabled"])
def test_a_service_runs_in_the_writer_only_when_it_says_inline(service: str, mode: str) -> None:
    declared: dict[str, Any] = {service: {"mode": mode}}
    found = options(type="MergeOnRead", **declared)
    on = {switch for switch in SWITCHES.values() if found[switch] == "true"}
    assert on == ({SWITCHES[service]} if mode == "Inline" else set())


@pytest.mark.parametrize("service", [one for one in Service if one is not Service.INGESTION])
def test_no_service_runs_inside_the_job_of_another(service: Service) -> None:
    inline = {name: {"mode": "Inline"} for name in SWITCHES}
    found = options(service=service, type="MergeOnRead", **inline)
    assert [switch for switch in SWITCHES.values() if found[switch] == "true"] == []


@pytest.mark.parametrize(
    ("service", "expected"),
    [
        (
            Service.COMPACTION,
            {"hoodie.compact.inline.trigger.strategy": "TIME_ELAPSED", "hoodie.compact.inline.max.delta.seconds": "0"},
        ),
        (Service.CLEANING, {"hoodie.clean.trigger.max.commits": "1"}),
        (Service.CLUSTERING, {}),
        (Service.ARCHIVAL, {}),
        (Service.DELETION, {}),
    ],
)
def test_hudi_does_not_count_again_in_the_job_of_a_service(service: Service, expected: dict[str, str]) -> None:
    declared: dict[str, Any] = {
        "type": "MergeOnRead",
        "compaction": {"trigger": {"strategy": "NumAndTime", "deltaCommits": 7, "elapsed": "2h"}},
        "cleaning": {"trigger": {"commits": 6}},
    }
    writer, job = options(**declared), options(service=service, **declared)
    assert writer["hoodie.compact.inline.trigger.strategy"] == "NUM_AND_TIME"
    assert writer["hoodie.clean.trigger.max.commits"] == "6"
    assert {key: value for key, value in job.items() if writer.get(key) != value} == expected


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"tableName": "Flights_2026"}, {"hoodie.table.name": "Flights_2026"}),
        ({"recordKey": ["carrier", "flight"]}, {"hoodie.datasource.write.recordkey.field": "carrier,flight"}),
        ({"partitionBy": ["year", "month"]}, {"hoodie.datasource.write.partitionpath.field": "year,month"}),
        ({"orderingFields": ["at", "sequence"]}, {"hoodie.table.ordering.fields": "at,sequence"}),
        ({"index": {"type": "Bucket", "buckets": 8}}, {"hoodie.bucket.index.num.buckets": "8"}),
        ({"index": {"type": "GlobalRecordLevel"}}, {"hoodie.index.type": "GLOBAL_RECORD_LEVEL_INDEX"}),
        (
            {"index": {"type": "Bucket"}},
            {"hoodie.bucket.index.num.buckets": "256", "hudi-operator.index": "Bucket/256"},
        ),
        ({"index": {"type": "Simple"}}, {"hudi-operator.index": "Simple"}),
        ({"fileSizing": {"smallFileLimit": "0"}}, {"hoodie.parquet.small.file.limit": "0"}),
        ({"fileSizing": {"maxFileSize": "3M"}}, {"hoodie.parquet.max.file.size": "3000000"}),
        ({"tableVersion": 6}, {"hoodie.write.table.version": "6", "hoodie.write.auto.upgrade": "false"}),
        ({}, {"hoodie.write.table.version": None}),
        ({"metadataTable": {"enabled": False}}, {"hoodie.metadata.enable": "false"}),
        ({"metadataTable": {"enabled": True}}, {"hoodie.metadata.enable": "true"}),
        ({"cleaning": {"policy": "KeepLatestByHours", "retainHours": 48}}, {"hoodie.clean.hours.retained": "48"}),
        ({"cleaning": {"policy": "KeepLatestFileVersions"}}, {"hoodie.clean.policy": "KEEP_LATEST_FILE_VERSIONS"}),
        ({"archival": {"minCommits": 5, "maxCommits": 9}}, {"hoodie.keep.min.commits": "5"}),
    ],
)
def test_a_field_of_the_spec_becomes_its_option(changes: dict[str, Any], expected: dict[str, str]) -> None:
    found = options(**changes)
    assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("strategy", "name", "value"),
    [
        ("LogFileSize", "LogFileSizeBased", {"logFileSizeThreshold": "1Ki"}),
        ("LogFileNum", "LogFileNumBased", {"logFileNumThreshold": 3}),
        ("BoundedIO", "BoundedIO", {"targetIO": "3Gi"}),
        ("DayBased", "DayBased", {"targetPartitions": 2}),
        ("Unbounded", "UnBounded", {}),
    ],
)
def test_a_compaction_plan_names_its_strategy_and_limits(strategy: str, name: str, value: dict[str, Any]) -> None:
    found = options(type="MergeOnRead", compaction={"plan": {"strategy": strategy, **value}})
    limits = {
        "logFileSizeThreshold": found["hoodie.compaction.logfile.size.threshold"],
        "logFileNumThreshold": found["hoodie.compaction.logfile.num.threshold"],
        "targetIO": found["hoodie.compaction.target.io"],
        "targetPartitions": found["hoodie.compaction.daybased.target.partitions"],
    }
    expected = {"logFileSizeThreshold": "0", "logFileNumThreshold": "0", "targetIO": "512000", "targetPartitions": "10"}
    changed = {"logFileSizeThreshold": "1024", "logFileNumThreshold": "3", "targetIO": "3072", "targetPartitions": "2"}
    assert found["hoodie.compaction.strategy"] == f"{COMPACTION}.{name}CompactionStrategy"
    assert limits == expected | {field: changed[field] for field in value}


def test_a_partition_regex_narrows_what_the_strategy_of_a_compaction_sees() -> None:
    found = options(
        type="MergeOnRead",
        partitionBy=["month"],
        compaction={"plan": {"strategy": "BoundedIO", "partitionRegex": "month=1"}},
    )
    assert found["hoodie.compaction.strategy"] == (
        f"{COMPACTION}.PartitionRegexBasedCompactionStrategy,{COMPACTION}.BoundedIOCompactionStrategy"
    )
    assert found["hoodie.compaction.partition.path.regex"] == "month=1"


@pytest.mark.parametrize(
    ("clustering", "expected"),
    [
        ({"trigger": {"commits": 9}}, {"hoodie.clustering.inline.max.commits": "9"}),
        (
            {"plan": {"smallFileLimit": "1Mi", "targetFileSize": "2Mi", "maxBytesPerGroup": "3Mi", "maxGroups": 4}},
            {
                f"{PLAN}.small.file.limit": "1048576",
                f"{PLAN}.target.file.max.bytes": "2097152",
                f"{PLAN}.max.bytes.per.group": "3145728",
                f"{PLAN}.max.num.groups": "4",
            },
        ),
        (
            {"plan": {"strategy": "RecentDays", "partitions": {"lookback": 7, "skipLatest": 1}}},
            {
                "hoodie.clustering.plan.partition.filter.mode": "RECENT_DAYS",
                f"{PLAN}.daybased.lookback.partitions": "7",
                f"{PLAN}.daybased.skipfromlatest.partitions": "1",
            },
        ),
        (
            {
                "plan": {
                    "strategy": "SelectedPartitions",
                    "partitions": {"begin": "month=1", "end": "month=3", "regex": "month=[12]"},
                }
            },
            {
                "hoodie.clustering.plan.partition.filter.mode": "SELECTED_PARTITIONS",
                f"{PLAN}.cluster.begin.partition": "month=1",
                f"{PLAN}.cluster.end.partition": "month=3",
                f"{PLAN}.partition.regex.pattern": "month=[12]",
            },
        ),
        (
            {"plan": {"strategy": "SelectedPartitions", "partitions": {"names": ["month=1", "month=2"]}}},
            {f"{PLAN}.partition.selected": "month=1,month=2"},
        ),
        (
            {"execution": {"layout": "Hilbert", "sortColumns": ["origin", "dest"]}},
            {"hoodie.layout.optimize.strategy": "HILBERT", f"{PLAN}.sort.columns": "origin,dest"},
        ),
        ({"execution": {"strategy": "SingleSparkJob"}}, {"hoodie.clustering.max.parallelism": "1"}),
        (
            {"updates": "Allow"},
            {
                "hoodie.clustering.updates.strategy": (
                    "org.apache.hudi.client.clustering.update.strategy.SparkAllowUpdateStrategy"
                )
            },
        ),
    ],
)
def test_a_field_of_a_clustering_becomes_its_option(clustering: dict[str, Any], expected: dict[str, str]) -> None:
    for service in (Service.CLUSTERING, Service.INGESTION):
        found = options(service=service, partitionBy=["month"], clustering=clustering)
        assert {key: found.get(key) for key in expected} == expected


@pytest.mark.parametrize(
    ("service", "changes", "expected"),
    [
        (Service.CLUSTERING, {}, None),
        (Service.CLUSTERING, {"clustering": {"plan": {"strategy": "RecentDays"}}}, "false"),
        (
            Service.CLUSTERING,
            {"clustering": {"plan": {"strategy": "SelectedPartitions", "partitions": {"regex": "a"}}}},
            "false",
        ),
        (Service.COMPACTION, {}, None),
        (Service.COMPACTION, {"compaction": {"plan": {"strategy": "DayBased"}}}, "false"),
        (Service.COMPACTION, {"compaction": {"plan": {"partitionRegex": "a"}}}, "false"),
        (Service.COMPACTION, {"clustering": {"plan": {"strategy": "RecentDays"}}}, None),
        (Service.INGESTION, {"clustering": {"mode": "Inline", "plan": {"strategy": "RecentDays"}}}, "false"),
        (Service.INGESTION, {"clustering": {"mode": "Async", "plan": {"strategy": "RecentDays"}}}, None),
    ],
)
def test_a_plan_for_chosen_partitions_looks_at_all_of_them_again(
    service: Service, changes: dict[str, Any], expected: str | None
) -> None:
    found = options(service=service, type="MergeOnRead", partitionBy=["month"], **changes)
    assert found.get(INCREMENTAL) == expected


@pytest.mark.parametrize("service", Service)
def test_every_job_of_an_optimistic_table_takes_the_lock_and_lets_writers_win(service: Service) -> None:
    serialized = options(service=service)
    found = options(service=service, concurrency={"mode": "Optimistic", "lock": LOCK})
    assert {key: value for key, value in found.items() if serialized.get(key) != value} == {
        "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
        "hoodie.clean.failed.writes.policy": "LAZY",
        "hoodie.write.lock.conflict.resolution.strategy": f"{TRANSACTION}.PreferWriterConflictResolutionStrategy",
        "hoodie.clustering.fail.on.pending.ingestion.during.conflict.resolution": "true",
        "hoodie.write.lock.provider": f"{TRANSACTION}.lock.ZookeeperBasedLockProvider",
        "hoodie.write.lock.zookeeper.url": "zk:2181",
        "hoodie.write.lock.zookeeper.base_path": "/hudi",
        "hoodie.write.lock.zookeeper.lock_key": "team-a.flights",
    }


@pytest.mark.parametrize(
    ("own", "default", "expected"),
    [
        (None, LOCK, "zk:2181"),
        (LOCK, None, "zk:2181"),
        ({"zookeeper": {"connect": "own:1"}}, LOCK, "own:1"),
        (None, None, None),
    ],
)
def test_the_lock_is_the_tables_then_the_classes(own: Any, default: Any, expected: str | None) -> None:
    found = options({"lock": default}, concurrency={"mode": "Optimistic", "lock": own})
    assert found.get("hoodie.write.lock.zookeeper.url") == expected


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, "team-a.flights"),
        ("flights", "team-a.flights"),
        ("team-a.flights", "team-a.flights"),
        ("team-a.", "team-a."),
        ("team-b.delays", "team-a.team-b.delays"),
        ("team-a", "team-a.team-a"),
        ("team-ab.x", "team-a.team-ab.x"),
        ("TEAM-A.x", "team-a.TEAM-A.x"),
    ],
)
def test_no_table_can_name_the_lock_of_a_table_of_another_namespace(given: str | None, expected: str) -> None:
    found = options({"lock": LOCK}, concurrency={"mode": "Optimistic", **({"lockKey": given} if given else {})})
    assert found["hoodie.write.lock.zookeeper.lock_key"] == expected


@pytest.mark.parametrize(("given", "expected"), [(None, "team-a.flights"), ("team-b.delays", "team-b.delays")])
def test_a_class_can_have_lock_keys_taken_as_they_are(given: str | None, expected: str) -> None:
    policy = {"lock": LOCK, "allowSharedLockKeys": True}
    found = options(policy, concurrency={"mode": "Optimistic", **({"lockKey": given} if given else {})})
    assert found["hoodie.write.lock.zookeeper.lock_key"] == expected


def test_a_class_with_a_lock_leaves_serialized_tables_without_one() -> None:
    assert options({"lock": LOCK}) == options()


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, {"hoodie.bulkinsert.sort.mode": "NONE"}),
        (
            {"parallelism": 8, "sortMode": "PartitionPathRepartitionAndSort"},
            {
                "hoodie.bulkinsert.sort.mode": "PARTITION_PATH_REPARTITION_AND_SORT",
                "hoodie.bulkinsert.shuffle.parallelism": "8",
            },
        ),
    ],
)
def test_a_bulk_insert_is_arranged_as_it_says(given: dict[str, Any], expected: dict[str, str]) -> None:
    found = options(ingestion={"operation": "BulkInsert", "bulkInsert": given})
    assert {key: value for key, value in found.items() if key.startswith("hoodie.bulkinsert.")} == expected


@pytest.mark.parametrize("service", Service)
def test_every_option_that_a_field_decides_wins_over_free_options(service: Service) -> None:
    owned = owned_hudi_options(table(), service)
    wrong = dict.fromkeys(list(owned)[:64], "wrong")
    assert options({"hudiOptions": wrong}, service=service, hudiOptions=wrong) == owned


def test_free_options_of_a_table_win_over_those_of_its_class() -> None:
    key = "hoodie.bloom.index.parallelism"
    assert options({"hudiOptions": {key: "1"}})[key] == "1"
    assert options({"hudiOptions": {key: "1"}}, hudiOptions={key: "2"})[key] == "2"


def test_the_keys_of_every_service_and_of_the_lock_are_the_operators() -> None:
    optimistic = table(
        type="MergeOnRead",
        partitionBy=["month"],
        concurrency={"mode": "Optimistic"},
        compaction={"plan": {"strategy": "DayBased"}},
    )
    keys = owned_hudi_keys(optimistic, class_spec(lock=LOCK))
    assert {INCREMENTAL, "hoodie.write.lock.provider", "hoodie.compaction.strategy", f"{PLAN}.class"} <= set(keys)


@pytest.mark.parametrize(
    "key",
    [
        "hoodie.index.type",
        "hoodie.index.class",
        "hoodie.index.bucket.engine",
        "hoodie.bucket.index.num.buckets",
        "hoodie.bucket.index.hash.field",
        "hoodie.bucket.index.partition.expressions",
        "hoodie.Bucket.Index.Hash.Field",
        "hoodie.metadata.record.index.enable",
        "hoodie.metadata.record.level.index.enable",
        "hoodie.metadata.global.record.level.index.enable",
        "hoodie.record.index.update.partition.path",
        "hoodie.simple.index.update.partition.path",
        "hoodie.bloom.index.update.partition.path",
        "hoodie.write.complex.keygen.new.encoding",
        "hoodie.datasource.write.keygenerator.class",
        "hoodie.datasource.write.keygenerator.consistent.logical.timestamp.enabled",
        "hoodie.datasource.write.partitionpath.urlencode",
        "hoodie.datasource.write.hive_style_partitioning",
        "hoodie.table.keygenerator.type",
        "hoodie.populate.meta.fields",
    ],
)
@pytest.mark.parametrize("index", [{}, {"type": "Bucket", "buckets": 4}])
def test_no_table_may_set_what_decides_where_a_key_is_found(key: str, index: dict[str, Any]) -> None:
    owned = owned_hudi_keys(table(index=index), class_spec())
    (sentence,) = refused_keys({key: "x"}, allowed=("*",), prefix="hoodie.", owned=owned)
    assert "is set by the operator" in sentence
    assert refused_keys({"hoodie.bloom.index.parallelism": "4"}, allowed=("*",), prefix="hoodie.", owned=owned) == ()


def test_the_zone_of_another_tool_goes_to_the_driver() -> None:
    assert options(timelineTimeZone="Asia/Tokyo")["hudi-jobs.timeline.zone"] == "Asia/Tokyo"
    assert "hudi-jobs.timeline.zone" not in options()


@pytest.mark.parametrize("zone", ["", "asia/tokyo", "Asia/Tokyo;x", "../UTC", "Asia/", "UTC+1", "A" * 65])
def test_invalid_zone_is_refused(zone: str) -> None:
    with pytest.raises(ValueError, match="timelineTimeZone"):
        options(timelineTimeZone=zone)
