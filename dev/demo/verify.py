"""Compares tables with the original data, row by row and value by value, with Spark's own Hudi reader.

Run as a program of its own. It reads the original data, then answers questions: a JSON line with the store, a table and
perhaps its rows, is answered by a JSON line with the differences. A table is a path, or the name of an entry in the
Hive Metastore of the command line.
"""

import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from demo.flights import FLIGHTS, MISSING, Row, read_flights
from toolkit.spark_home import java_options, spark_home

_BETWEEN = "|"
"""Separates the values of a row; no value contains it."""


def main() -> None:
    """Read the original data, and compare each requested table."""
    metastore = next((word for word in sys.argv if word.startswith("thrift://")), None)
    spark = open_session(**(in_metastore(metastore) if metastore else {}))
    original = read_flights() if FLIGHTS in sys.argv else []
    for question in sys.stdin:
        request = json.loads(question)
        use_store(spark, request)
        wanted = expected(original, request["table"]) if request["rows"] is None else request["rows"]
        found = compare(wanted, read(spark, request["table"]))
        print(json.dumps(found), flush=True)
    spark.stop()


def expected(original: list[Row], table: str) -> list[Row]:
    """Return the rows that a table should hold; for `delays` the rows of its files that its transform passes."""
    if not table.endswith(("/delays", ".delays")):
        return original
    late = (row for row in original if row["dep_delay"] != MISSING and int(row["dep_delay"]) > 60)
    return [row for row in late if int(row["month"]) >= 10]


def read(spark: SparkSession, table: str) -> DataFrame:
    """Return the rows of a table."""
    return spark.read.format("hudi").load(table) if "://" in table else spark.table(table)


def compare(original: list[Row], table: DataFrame) -> dict[str, Any]:
    """Count each row in the original and in the table, over the table's columns."""
    columns = [column for column in original[0] if column in table.columns]
    wanted = Counter(_BETWEEN.join(row[column] for column in columns) for row in original)
    actual = Counter(as_text(table, columns))
    unexpected = actual - wanted
    return {
        "expectedRows": wanted.total(),
        "actualRows": actual.total(),
        "missingRows": (wanted - actual).total(),
        "unexpectedRows": unexpected.total(),
        "examples": list(unexpected)[:3],
    }


def as_text(table: DataFrame, columns: list[str]) -> list[str]:
    """Return each row as one text, with values spelled as in the original file."""
    spelled = {name: f"CAST({name} AS STRING)" for name in columns}
    spelled["time_hour"] = "date_format(time_hour, \"yyyy-MM-dd'T'HH:mm:ss'Z'\")"
    values = ", ".join(f"coalesce({spelled[name]}, '{MISSING}')" for name in columns)
    # One list of texts reaches Python in half the time of as many rows.
    rows: list[str] = table.selectExpr(f"collect_list(concat_ws('{_BETWEEN}', {values}))").collect()[0][0]
    return rows


def use_store(spark: SparkSession, store: dict[str, str]) -> None:
    """Set Hadoop's S3 client to the store, before its first use."""
    settings = {
        "fs.s3a.endpoint": store["endpoint"],
        "fs.s3a.endpoint.region": store["region"],
        "fs.s3a.access.key": store["access_key"],
        "fs.s3a.secret.key": store["secret_key"],
    }
    hadoop: Any = spark.sparkContext._jsc.hadoopConfiguration()  # noqa: SLF001 - PySpark has no other way
    for key, value in settings.items():
        hadoop.set(key, value)


def in_metastore(uri: str) -> dict[str, str]:
    """Return the settings of a session that finds tables by name."""
    return {"spark.sql.catalogImplementation": "hive", "spark.hadoop.hive.metastore.uris": uri}


def open_session(**more: str) -> SparkSession:
    """Start Spark in this process, with the Spark image's jars and archive of classes; `more` are further settings."""
    home = spark_home()
    os.environ["SPARK_HOME"] = str(home)
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": java_options(home),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.connection.maximum": "1000",
    }
    builder = SparkSession.builder.appName("verify")
    for key, value in (settings | more).items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    main()
