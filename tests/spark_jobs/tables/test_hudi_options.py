"""Hudi ignores a key that it does not know, so every key that a job sets is looked up in Hudi's own classes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

from hudi_jobs.contract import Service
from hudi_jobs.spark.jvm import classes
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.jobs.settings.hudi_options import build_hudi_options

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CLASSES = (
    "org.apache.hudi.config.HoodieWriteConfig",
    "org.apache.hudi.config.HoodieClusteringConfig",
    "org.apache.hudi.config.HoodieCompactionConfig",
    "org.apache.hudi.config.HoodieCleanConfig",
    "org.apache.hudi.config.HoodieArchivalConfig",
    "org.apache.hudi.config.HoodieIndexConfig",
    "org.apache.hudi.config.HoodieLockConfig",
    "org.apache.hudi.common.config.HoodieStorageConfig",
    "org.apache.hudi.common.config.HoodieMetadataConfig",
    "org.apache.hudi.common.table.HoodieTableConfig",
)
"""Classes of Hudi whose static fields are keys."""

SPARK_WRITER_KEYS = {
    "hoodie.datasource.write.table.name": "TABLE_NAME",
    "hoodie.datasource.write.table.type": "TABLE_TYPE",
    "hoodie.datasource.write.recordkey.field": "RECORDKEY_FIELD",
    "hoodie.datasource.write.partitionpath.field": "PARTITIONPATH_FIELD",
    "hoodie.datasource.write.hive_style_partitioning": "HIVE_STYLE_PARTITIONING",
    "hoodie.datasource.write.commitmeta.key.prefix": "COMMIT_METADATA_KEYPREFIX",
    "hoodie.datasource.compaction.async.enable": "ASYNC_COMPACT_ENABLE",
}
"""Keys of the Spark data source with their names in the Scala object `DataSourceWriteOptions`."""

LOCK = {"zookeeper": {"connect": "zk:2181"}}
PARTITIONED = {"partitionBy": ["month"]}

TABLES: dict[str, dict[str, Any]] = {
    "a plain table": {},
    "an optimistic table": {
        "concurrency": {"mode": "Optimistic", "lock": LOCK, "lockKey": "flights"},
        "clustering": {"updates": "Allow"},
    },
    "a table with everything inline": {
        service: {"mode": "Inline"} for service in ("compaction", "clustering", "cleaning", "archival")
    },
    **{
        f"compaction by {strategy}": {
            **PARTITIONED,
            "compaction": {"plan": {"strategy": strategy, "partitionRegex": "month=.*"}},
        }
        for strategy in ("LogFileSize", "LogFileNum", "BoundedIO", "DayBased", "Unbounded")
    },
    **{
        f"compaction triggered by {strategy}": {"compaction": {"trigger": {"strategy": strategy}}}
        for strategy in ("NumCommits", "NumCommitsAfterLastRequest", "TimeElapsed", "NumOrTime", "NumAndTime")
    },
    "clustering of the newest partitions": {
        **PARTITIONED,
        "clustering": {"plan": {"strategy": "RecentDays", "partitions": {"lookback": 3, "skipLatest": 1}}},
    },
    "clustering of a range": {
        **PARTITIONED,
        "clustering": {
            "plan": {"strategy": "SelectedPartitions", "partitions": {"begin": "a", "end": "b", "regex": "a.*"}}
        },
    },
    "clustering of named partitions": {
        **PARTITIONED,
        "clustering": {"plan": {"strategy": "SelectedPartitions", "partitions": {"names": ["a", "b"]}}},
    },
    **{
        f"a clustering laid out by {layout}": {
            "clustering": {
                "execution": {"strategy": "SingleSparkJob", "layout": layout, "sortColumns": ["origin", "dest"]}
            }
        }
        for layout in ("Linear", "ZOrder", "Hilbert")
    },
    **{
        f"cleaning by {policy}": {"cleaning": {"policy": policy}}
        for policy in ("KeepLatestCommits", "KeepLatestFileVersions", "KeepLatestByHours")
    },
    **{
        f"a bulk insert sorted by {mode}": {
            "ingestion": {
                "source": {"files": {"path": "s3a://landing/", "format": "csv"}},
                "operation": "BulkInsert",
                "bulkInsert": {"parallelism": 2, "sortMode": mode},
            }
        }
        for mode in (
            "None",
            "GlobalSort",
            "PartitionSort",
            "PartitionPathRepartition",
            "PartitionPathRepartitionAndSort",
        )
    },
    "a table with buckets and an ordering": {"index": {"type": "Bucket", "buckets": 4}, "orderingFields": ["at"]},
}
"""Tables that together set every key and every value that the operator knows."""


def options(spec: dict[str, Any], service: Service) -> dict[str, str]:
    smallest = {"basePath": "s3a://lake/flights", "type": "MergeOnRead", "recordKey": ["id"]}
    document = {"metadata": {"name": "flights", "namespace": "team-a"}, "spec": smallest | spec}
    table_class = HudiTableClassSpec.model_validate({"allowedBasePaths": ["s3a://lake"]})
    return build_hudi_options(HudiTable.model_validate(document), table_class, service)


def keys_of(spark: SparkSession, class_name: str) -> Iterator[str]:
    jvm = classes(spark)
    property_class = jvm.java.lang.Class.forName("org.apache.hudi.common.config.ConfigProperty")
    for field in jvm.java.lang.Class.forName(class_name).getDeclaredFields():
        if field.getType().equals(property_class):
            field.setAccessible(True)
            yield field.get(None).key()


def write_config(spark: SparkSession, given: dict[str, str]) -> Any:
    """Hudi's own configuration made from these options; it is checked by Hudi while it is built."""
    jvm = classes(spark)
    properties = jvm.java.util.Properties()
    for key, value in given.items():
        properties.setProperty(key, value)
    return jvm.org.apache.hudi.config.HoodieWriteConfig.newBuilder().withPath("/x").withProperties(properties).build()


def test_every_key_that_a_job_sets_is_one_of_hudis(spark: SparkSession) -> None:
    known = {key for name in CLASSES for key in keys_of(spark, name)}
    writer = classes(spark).org.apache.hudi.DataSourceWriteOptions
    known |= {getattr(writer, name)().key() for name in SPARK_WRITER_KEYS.values()}

    wanted = {key for spec in TABLES.values() for service in Service for key in options(spec, service)}
    # Our own notes in the metadata of a commit, by the prefix that Hudi is told (COMMIT_METADATA_KEYPREFIX).

    notes = {key for key in wanted if key.startswith("hudi-operator.")}
    assert wanted - notes - known == set()
    assert len(wanted) > 70


def test_hudi_has_no_key_that_would_lose_commit_metadata(spark: SparkSession) -> None:
    keys = {key for name in CLASSES for key in keys_of(spark, name)}
    assert not {key for key in keys if "preserve" in key}


@pytest.mark.parametrize("spec", TABLES.values(), ids=TABLES)
def test_hudi_accepts_the_values_and_has_the_classes(spark: SparkSession, spec: dict[str, Any]) -> None:
    for service in Service:
        given = options(spec, service)
        config = write_config(spark, given)
        for key, value in given.items():
            assert config.getProps().getProperty(key) == value
            for name in value.split(",") if value.startswith("org.apache.") else ():
                assert classes(spark).java.lang.Class.forName(name).getName() == name
        for getter in (
            "getCompactionStrategy",
            "getInlineCompactTriggerStrategy",
            "getClusteringPlanPartitionFilterMode",
            "getLayoutOptimizationStrategy",
            "getCleanerPolicy",
            "getFailedWritesCleanPolicy",
            "getWriteConcurrencyMode",
            "getBulkInsertSortMode",
            "getIndexType",
        ):
            assert getattr(config, getter)() is not None


def test_a_compaction_of_some_partitions_still_goes_by_its_strategy(spark: SparkSession) -> None:
    spec = {**PARTITIONED, "compaction": {"plan": {"strategy": "BoundedIO", "partitionRegex": "month=1"}}}
    strategy = write_config(spark, options(spec, Service.COMPACTION)).getCompactionStrategy()
    text = strategy.toString()
    assert "PartitionRegexBasedCompactionStrategy" in text
    assert "BoundedIOCompactionStrategy" in text
