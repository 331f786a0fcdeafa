"""How the values of partitions are found in the paths of a table of another tool, as the metastore then holds them."""

import pytest
from tests.spark_jobs.catalogs.conftest import CatalogTrial
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import Outcome, Service

pytestmark = pytest.mark.spark

SLASHES = {
    "hoodie.datasource.write.partitionpath.urlencode": "false",
    "hoodie.datasource.write.hive_style_partitioning": "false",
}
"""A slash in the value of a partition makes a folder, as other tools write it."""


@pytest.mark.parametrize(
    ("style", "path", "value"),
    sampled(("Day", "2026/03/10", "2026-03-10"), ("Whole", "2026/03/10", "2026-03-10"), ("Whole", "eu/de", "eu-de")),
)
def test_partitions_of_a_nested_path_have_one_value(trial: CatalogTrial, style: str, path: str, value: str) -> None:
    trial.settings = {"partitionStyle": style}
    options = trial.lake.hudi_options(Service.INGESTION) | SLASHES
    rows = trial.lake.spark.createDataFrame([{"id": "1", "v": "a", "day": path}])
    rows.write.format("hudi").options(**options).mode("overwrite").save(trial.lake.base_path)
    assert (trial.lake.folder / "table" / path).is_dir()

    result = trial.serve()

    entry = trial.metastore.entry(trial.table)
    assert result.outcome is Outcome.SUCCEEDED, result
    assert entry.partition_columns == {"day": "string"}
    assert {key: place.endswith(f"/table/{path}") for key, place in entry.partitions.items()} == {value: True}


@pytest.mark.parametrize(
    ("options", "value", "told"),
    sampled(
        (SLASHES, "a=b", "The partition a=b cannot be shown: Hudi would cut the value of day"),
        ({"hoodie.datasource.write.partitionpath.urlencode": "true"}, "a=b", "readers would see the escapes"),
        (SLASHES, "2026/03/10", "set spec.catalog.hive.partitionStyle to Whole or Day"),
    ),
)
def test_partition_that_would_have_another_value_is_refused_by_name(
    trial: CatalogTrial, options: dict[str, str], value: str, told: str
) -> None:
    rows = trial.lake.spark.createDataFrame([{"id": "1", "v": "a", "day": value}])
    options = trial.lake.hudi_options(Service.INGESTION) | options
    rows.write.format("hudi").options(**options).mode("overwrite").save(trial.lake.base_path)

    result = trial.serve()

    assert result.outcome is Outcome.FAILED
    assert told in result.message
    assert trial.table not in trial.metastore.names()
