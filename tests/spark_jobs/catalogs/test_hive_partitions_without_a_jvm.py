"""Whether a Hive Metastore would show partitions with their true values, by their paths."""

import pytest
from pyspark.sql.types import DateType, LongType, StringType, StructField, StructType, TimestampType

from hudi_jobs.catalogs.kinds.hive_partitions import PartitionForm
from hudi_jobs.contract import HivePartitionStyle

NAMED = "hoodie.datasource.write.hive_style_partitioning"
ENCODED = "hoodie.datasource.write.partitionpath.urlencode"
TYPES = {"day": DateType(), "at": TimestampType(), "ts": LongType(), "region": StringType()}
SCHEMA = StructType([StructField(name, kind) for name, kind in TYPES.items()])


def form(*columns: str, style: str = "Columns", named: str = "true", encoded: str = "false") -> PartitionForm:
    properties = {NAMED: named, ENCODED: encoded}
    return PartitionForm.of(columns, SCHEMA, properties, HivePartitionStyle(style))


@pytest.mark.parametrize(
    ("table", "paths"),
    [
        (form("region"), ["region=eu", "region=größe 日本", "region=100%", "region=%2F", "region=EU", "region="]),
        (form("region"), ["region=__HIVE_DEFAULT_PARTITION__"]),
        (form("region", named="false"), ["eu", "a b", "100%"]),
        (form("region", named=""), ["eu", "region=us"]),
        (form("day", "region"), ["day=2026-03-10/region=eu", "day=__HIVE_DEFAULT_PARTITION__/region=x"]),
        (form("ts"), ["ts=-7", "ts=9223372036854775807", "ts=__HIVE_DEFAULT_PARTITION__"]),
        (form("at"), ["at=2026-03-10 10:00:00.5"]),
        (form("region", encoded="true"), ["region=a b", "region=50%"]),
        (form("region", style="Whole", named="false"), ["2026/03/10", "eu"]),
        (form("day", style="Day", named="false"), ["2026/03/10"]),
        (form(), [""]),
    ],
)
def test_partitions_with_true_values_are_not_refused(table: PartitionForm, paths: list[str]) -> None:
    assert table.refusal(paths) is None


@pytest.mark.parametrize(
    ("table", "paths", "told"),
    [
        (form("region"), ["region=eu", "region=a=b"], "The partition region=a=b cannot be shown: Hudi would cut"),
        (form("region", named="false"), ["a=b"], "The partition a=b cannot be shown"),
        (form("region", named="false"), ["region=b"], "The partition region=b cannot be shown"),
        (form("region"), ["Region=b"], "The partition Region=b cannot be shown"),
        (form("region"), ["region=a/b"], "2 folders, and partitionBy 1; set spec.catalog.hive.partitionStyle"),
        (form("day", "region"), ["day=2026-03-10/region=a/b"], "3 folders, and partitionBy 2; replace the /"),
        (form("region", encoded="true"), ["region=a%2Fb"], "readers would see the escapes"),
        (form("region", style="Whole", encoded="true"), ["a%3Db"], "readers would see the escapes"),
        (form("region", style="Whole"), ["region=eu"], "set spec.catalog.hive.partitionStyle to Columns"),
        (form("region", style="Whole"), ["a/b", "a-b"], "partitions a/b and a-b would have the same values"),
        (form("region", "region"), ["a, b/c", "a/b, c"], "would have the same values"),
        (form("ts"), ["ts=2026-03-10"], "2026-03-10 is no bigint, the type of ts"),
        (form("day"), ["day=20522"], "20522 is no date"),
        (form("at"), ["at=1773136800500000"], "1773136800500000 is no timestamp"),
        (form("region"), ["region=a\nb=\x1b[31m"], r"region=a\x0ab=\x1b[31m"),
    ],
)
def test_partition_that_would_have_another_value_is_named_with_the_remedy(
    table: PartitionForm, paths: list[str], told: str
) -> None:
    assert told in str(table.refusal(paths))


def test_refusal_of_a_long_path_is_short() -> None:
    assert len(str(form("region").refusal([f"region={'x' * 900}=y"]))) < 400
