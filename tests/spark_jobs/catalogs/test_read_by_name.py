"""Another Spark session reads a table by the name of its entry, as the guide shows it."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.spark_jobs.catalogs.conftest import DATABASE, CatalogTrial

from toolkit.spark_home import LOCAL_FILES

pytestmark = [pytest.mark.spark, pytest.mark.slow]

GUIDE = Path(__file__).parents[3] / "docs" / "guides" / "catalog.md"

READER = """
import sys
from pyspark.sql import SparkSession

spark = (
    SparkSession.builder.appName("read").master("local[1]")
    .config("spark.ui.enabled", "false")
    .config("spark.serializer", "org.apache.spark.serializer.KryoSerializer")
    .config("spark.kryo.registrator", "org.apache.spark.HoodieSparkKryoRegistrar")
    .config("spark.sql.extensions", "org.apache.spark.sql.hudi.HoodieSparkSessionExtension")
    .config("spark.sql.catalog.spark_catalog", "org.apache.spark.sql.hudi.catalog.HoodieCatalog")
    {settings}
    .getOrCreate()
)
for name in sys.argv[1:]:
    rows = spark.sql(f"SELECT id, v, day FROM {{name}} ORDER BY id").collect()
    print("ROWS", name, [tuple(row) for row in rows])
"""


@pytest.mark.parametrize("kind", ["CopyOnWrite", "MergeOnRead"])
def test_spark_reads_every_row_by_name(trial: CatalogTrial, installed_spark: Path, kind: str) -> None:
    trial.lake.table |= {"type": kind}
    trial.ingest({"id": "1", "v": "a", "day": "mon"})
    trial.ingest({"id": "1", "v": "b", "day": "mon"}, {"id": "2", "v": "c", "day": "tue"})
    settings = re.findall(r"^    \.config\(.*\)$", GUIDE.read_text(), re.MULTILINE)
    assert len(settings) == 2
    local = [f'.config("{key}", "{value}")' for key, value in LOCAL_FILES.items()]
    text = "\n    ".join((*settings, *local)).replace("thrift://metastore.example.com:9083", trial.proxy.uri)
    entry = f"{DATABASE}.{trial.table}"
    names = [entry, f"{entry}_rt", f"{entry}_ro"] if kind == "MergeOnRead" else [entry]

    found = subprocess.run(
        [sys.executable, "-c", READER.format(settings=text), *names],
        env={"SPARK_HOME": str(installed_spark), "PATH": "/usr/bin:/bin", "HOME": str(trial.lake.folder)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    all_rows = [("1", "b", "mon"), ("2", "c", "tue")]
    of_base_files = [("1", "a", "mon"), ("2", "c", "tue")]
    expected = {name: of_base_files if name.endswith("_ro") else all_rows for name in names}
    shown = [line for line in found.stdout.splitlines() if line.startswith("ROWS")]
    assert shown == [f"ROWS {name} {rows}" for name, rows in expected.items()], found.stderr[-3000:]
