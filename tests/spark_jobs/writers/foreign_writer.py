"""A writer that is not the operator's: a plain Spark program that upserts in a loop until it is asked to end.

`foreign_writer.py BASE_PATH TABLE LOCK_KEY ZOOKEEPER END`, with spark-submit or python. It ends when there is a file at
END, a path for Hadoop. Each batch holds a hundred new keys and updates the keys of
the batch before; two batches share a partition. One that fails is tried again. After each commit the program reads
the table and prints a report as one line of JSON; `reports_in` reads them from its log.
"""

import json
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

KEYS = 100
KEYS_PER_PARTITION = 2 * KEYS
PAUSE_SECONDS = 6
"""A clustering that takes longer than this loses to every batch, as it should: writers have precedence."""

_EXCEPTION = re.compile(r"^(?:Caused by)?: (?:[\w$]+\.)*(\w+)", re.MULTILINE)


@dataclass(frozen=True)
class Report:
    """What the writer knows after a commit."""

    batches: int
    """Batches that are acknowledged."""

    instant: str
    """The commit of the last of them."""

    wrong: int
    """Rows that a read right after this commit found too many, or did not find."""

    failures: dict[str, int]
    """How often a write failed so far, by the innermost exception."""


def rows_after(batches: int) -> Counter[tuple[str, int]]:
    """Return the ids and values that so many batches leave, each once."""
    return Counter(
        (str(key), min(batch + 1, batches - 1))
        for batch in range(batches)
        for key in range(batch * KEYS, (batch + 1) * KEYS)
    )


def wrong_rows(found: Iterable[tuple[str, int]], batches: int) -> int:
    """Return how many rows are too many or missing; those that a batch cannot have written are not looked at."""
    written, expected = Counter(row for row in found if row[0].isdigit()), rows_after(batches)
    return (written - expected).total() + (expected - written).total()


def reports_in(log: str) -> list[Report]:
    """Return the reports in what the program has printed, oldest first."""
    return [Report(**json.loads(line)) for line in log.splitlines() if line.startswith('{"batches"')]


def main(base_path: str, table: str, lock_key: str, zookeeper: str, end: str) -> None:
    """Write until the end."""
    spark = open_session()
    options = hudi_options(table, lock_key, zookeeper)
    batch = 0
    failures: Counter[str] = Counter()
    while not exists(spark, end):
        rows = spark.range(max(batch - 1, 0) * KEYS, (batch + 1) * KEYS, numPartitions=1)
        part = f"format_string('p%03d', id DIV {KEYS_PER_PARTITION}) AS part"
        frame = rows.selectExpr("CAST(id AS STRING) AS id", f"{batch} AS v", part)
        try:
            frame.write.format("hudi").options(**options).mode("append").save(base_path)
        except Exception as error:  # noqa: BLE001 - a writer under a lock has to expect to lose
            failures[innermost(error)] += 1
            print(f"batch {batch} failed: {error}", file=sys.stderr, flush=True)  # noqa: T201 - the program's log
            time.sleep(0.5)
            continue
        batch += 1
        report = look(spark, base_path, batch, failures)
        print(json.dumps(asdict(report)), flush=True)  # noqa: T201 - as above
        time.sleep(PAUSE_SECONDS)
    spark.stop()


def open_session() -> "SparkSession":
    """Start the session; the master, the memory and the store are the command line's to say."""
    from pyspark.sql import SparkSession  # noqa: PLC0415 - the tests that read the reports need no Spark

    settings = {
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.log.level": "WARN",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "1",
    }
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def hudi_options(table: str, lock_key: str, zookeeper: str) -> dict[str, str]:
    """What every writer of the table has to agree on, and no table services."""
    return {
        "hoodie.table.name": table,
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "part",
        "hoodie.datasource.write.hive_style_partitioning": "true",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.clean.failed.writes.policy": "LAZY",
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider",
        "hoodie.write.lock.zookeeper.url": zookeeper,
        "hoodie.write.lock.zookeeper.base_path": "/hudi",
        "hoodie.write.lock.zookeeper.lock_key": lock_key,
        "hoodie.write.lock.conflict.resolution.strategy": (
            "org.apache.hudi.client.transaction.PreferWriterConflictResolutionStrategy"
        ),
        # New rows go into new files and updates into log files, so that there is work for every service.
        "hoodie.parquet.small.file.limit": "0",
        "hoodie.clean.automatic": "false",
        "hoodie.archive.automatic": "false",
        "hoodie.compact.inline": "false",
        "hoodie.embed.timeline.server": "false",
        "hoodie.write.markers.type": "DIRECT",
        "hoodie.write.auto.upgrade": "false",
    }


def exists(spark: Any, path: str) -> bool:
    """Whether there is a file at a path of any store."""
    place = spark._jvm.org.apache.hadoop.fs.Path(path)
    return bool(place.getFileSystem(spark._jsc.hadoopConfiguration()).exists(place))


def innermost(error: Exception) -> str:
    """The name of the exception that caused the others."""
    names: list[str] = [type(error).__name__, *_EXCEPTION.findall(str(error))]
    return names[-1]


def look(spark: "SparkSession", base_path: str, batches: int, failures: Counter[str]) -> Report:
    """Read the table as any reader would, right after a commit."""
    rows = spark.read.format("hudi").load(base_path).select("id", "v", "_hoodie_commit_time").collect()
    return Report(
        batches=batches,
        instant=max(row[2] for row in rows if row.v == batches - 1 and row.id != "first"),
        wrong=wrong_rows(((row.id, row.v) for row in rows), batches),
        failures=dict(failures),
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
