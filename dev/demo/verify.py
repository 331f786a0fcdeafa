"""Compares tables with the original data, row by row and value by value, with Spark's own Hudi reader.

Run as a program of its own: `verify.py ENDPOINT TABLE...`; it prints one JSON line. The credentials come from
the environment.
"""

import csv
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as sql

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from demo.flights import MISSING, read_flights
from toolkit.spark_home import java_options, spark_home

DELAYED = "CAST(dep_delay AS INT) > 60"
"""Which flights the table `delays` holds: as its transform says."""


def main(endpoint: str, *tables: str) -> None:
    """Read both sides, a table after the other, and print how they differ."""
    spark = open_session(endpoint)
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        flights = read_flights()
        writer = csv.DictWriter(file, fieldnames=list(flights[0]))
        writer.writeheader()
        writer.writerows(flights)
        file.flush()
        original = spark.read.csv(file.name, header=True, nullValue=MISSING)
        found = {}
        for table in tables:
            rows = original.where(DELAYED) if table.endswith("/delays") else original
            found[table] = compare(rows, spark.read.format("hudi").load(table))
    print(json.dumps(found))
    spark.stop()


def compare(original: DataFrame, table: DataFrame) -> dict[str, Any]:
    """Count how often each row is in the original and in the table, by the columns that the table has, in one pass."""
    columns = [column for column in original.columns if column in table.columns]
    here = original.select(*columns, sql.lit(1).alias("expected"), sql.lit(0).alias("actual"))
    there = as_text(table, columns).select(*columns, sql.lit(0).alias("expected"), sql.lit(1).alias("actual"))
    rows = (
        here.unionAll(there)
        .groupBy(columns)
        .agg(sql.sum("expected").alias("expected"), sql.sum("actual").alias("actual"))
    )
    missing = sql.greatest(rows.expected - rows.actual, sql.lit(0))
    unexpected = sql.greatest(rows.actual - rows.expected, sql.lit(0))
    counts = rows.agg(
        sql.sum(rows.expected).alias("expectedRows"),
        sql.sum(rows.actual).alias("actualRows"),
        sql.sum(missing).alias("missingRows"),
        sql.sum(unexpected).alias("unexpectedRows"),
    ).collect()[0]
    # Only a failure pays for a second pass.
    found = rows.where(unexpected > 0).select(columns).limit(3).collect() if counts["unexpectedRows"] else []
    return {**counts.asDict(), "examples": [row.asDict() for row in found]}


def as_text(frame: DataFrame, columns: list[str]) -> DataFrame:
    """Return the columns as the original file spells them."""
    zulu = "date_format(time_hour, \"yyyy-MM-dd'T'HH:mm:ss'Z'\") AS time_hour"
    return frame.selectExpr(
        *(zulu if column == "time_hour" else f"CAST({column} AS STRING) AS {column}" for column in columns)
    )


def open_session(endpoint: str) -> SparkSession:
    """Start Spark in this process, with the jars and the archive of classes of the Spark image."""
    home = spark_home()
    os.environ["SPARK_HOME"] = str(home)
    settings = {
        "spark.master": "local[2]",
        "spark.driver.memory": "3g",
        "spark.driver.extraJavaOptions": f"{java_options(home)} -Xms3g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        "spark.hadoop.fs.s3a.endpoint": endpoint,
        "spark.hadoop.fs.s3a.path.style.access": "true",
        "spark.hadoop.fs.s3a.connection.ssl.enabled": "false",
        "spark.hadoop.fs.s3a.connection.maximum": "1000",
        "spark.hadoop.fs.s3a.aws.credentials.provider": "com.amazonaws.auth.EnvironmentVariableCredentialsProvider",
    }
    builder = SparkSession.builder.appName("verify")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


if __name__ == "__main__":
    main(*sys.argv[1:])
