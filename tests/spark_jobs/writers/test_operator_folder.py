"""The operator's folder inside a table is neither data nor a partition to Hudi 1.2.0, whatever Hudi does."""

from typing import Any

import pytest
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import Outcome, Service, TableOwner

pytestmark = pytest.mark.spark

OWNER = TableOwner(operator="cluster/hudi-operator", table_uid="uid", table="team/flights")


def partitions(lake: Any, *, from_metadata: bool) -> list[str]:
    """The partitions as Hudi lists them, from the file system or from the metadata table."""
    hudi = lake.spark._jvm.org.apache.hudi
    context = hudi.client.common.HoodieSparkEngineContext(lake.spark._jsc)
    meta = (
        hudi.common.table.HoodieTableMetaClient.builder()
        .setConf(hudi.storage.hadoop.HadoopStorageConfiguration(lake.spark._jsc.hadoopConfiguration()))
        .setBasePath(lake.base_path)
        .build()
    )
    return sorted(map(str, hudi.common.fs.FSUtils.getAllPartitionPaths(context, meta, from_metadata)))


def ingest(lake: Any, number: int) -> None:
    """Update one row and add another, and leave something in the operator's folder that looks like data."""
    lake.put(f"{number}.csv", f"id,carrier,v\n1,AA,{number}\n{number + 2},DL,{number}\n", at=number)
    assert lake.ingest(operation="Upsert").outcome is Outcome.SUCCEEDED
    (lake.folder / "table/.hudi-operator/read.parquet").write_bytes(b"no parquet")


def expected(commits: int) -> list[tuple[str, ...]]:
    added = ((str(number + 2), "DL", str(number)) for number in range(commits))
    return [("1", "AA", str(commits - 1)), *added]


@pytest.mark.parametrize("table_type", sampled("MergeOnRead", "CopyOnWrite"))
@pytest.mark.parametrize("partitioned", sampled(True, False))
def test_the_operators_folder_is_no_part_of_the_table(lake: Any, table_type: str, partitioned: bool) -> None:
    lake.owner, lake.metadata_table = OWNER, False
    lake.table = {"type": table_type} | ({"partitionBy": ["carrier"]} if partitioned else {})
    lake.spec = {"fileSizing": {"smallFileLimit": "0"}, "cleaning": {"retainCommits": 1}}
    for number in range(4):
        # The metadata table is made from what lies in the file system, the operator's folder included.
        lake.metadata_table = number > 1
        ingest(lake, number)
    assert lake.rows("id", "carrier", "v") == expected(4)

    for service in [Service.COMPACTION] * (table_type == "MergeOnRead") + [Service.CLUSTERING]:
        result = lake.serve(service)
        assert result.outcome is Outcome.SUCCEEDED, result
        assert lake.rows("id", "carrier", "v") == expected(4)
    ingest(lake, 4)  # what the clustering has replaced can be cleaned once there is a later commit
    cleaned = lake.serve(Service.CLEANING)
    assert cleaned.outcome is Outcome.SUCCEEDED, cleaned
    assert (lake.folder / "table/.hudi-operator/read.parquet").exists()
    assert lake.rows("id", "carrier", "v") == expected(5)
    names = ["AA", "DL"] if partitioned else [""]
    for from_metadata in (False, True):
        assert [name.removeprefix("carrier=") for name in partitions(lake, from_metadata=from_metadata)] == names

    assert lake.serve(Service.DELETION).outcome is Outcome.SUCCEEDED
    assert not (lake.folder / "table").exists()
