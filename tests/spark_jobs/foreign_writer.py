"""A writer that is not the operator's: a plain Spark program that upserts until it is told to end.

Arguments: the base path, the class path, a file of acknowledged batches, a file whose presence means "end", the address
of ZooKeeper. Each batch holds a hundred new keys and updates the keys of the batch before; one that fails is tried
again.
"""

import sys
import time
from pathlib import Path

from pyspark.sql import SparkSession

KEYS = 100
PAUSE_SECONDS = 6
"""A service that takes longer than this loses to every batch, as it should: writers have precedence."""


def main() -> None:
    base_path, class_path, acknowledged, end, zookeeper = sys.argv[1:]
    settings = {
        "spark.master": "local[1]",
        "spark.driver.extraClassPath": class_path,
        "spark.driver.memory": "1g",
        "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
        "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "1",
    }
    builder = SparkSession.builder
    for key, value in settings.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    options = {
        "hoodie.table.name": "flights",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.operation": "upsert",
        "hoodie.write.concurrency.mode": "optimistic_concurrency_control",
        "hoodie.clean.failed.writes.policy": "LAZY",
        "hoodie.write.lock.provider": "org.apache.hudi.client.transaction.lock.ZookeeperBasedLockProvider",
        "hoodie.write.lock.zookeeper.url": zookeeper,
        "hoodie.write.lock.zookeeper.base_path": "/hudi",
        "hoodie.write.lock.zookeeper.lock_key": "flights",
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
    batch = failures = 0
    while not Path(end).exists():
        rows = spark.range(max(batch - 1, 0) * KEYS, (batch + 1) * KEYS, numPartitions=1)
        frame = rows.selectExpr("CAST(id AS STRING) AS id", f"{batch} AS v")
        try:
            frame.write.format("hudi").options(**options).mode("append").save(base_path)
        except Exception as error:  # noqa: BLE001 - a writer under a lock has to expect to lose
            failures += 1
            sys.stderr.write(f"batch {batch} failed: {str(error)[:300]}\n")
            time.sleep(0.5)
            continue
        batch += 1
        Path(acknowledged).write_text(f"{batch} {failures}")
        time.sleep(PAUSE_SECONDS)
    spark.stop()


if __name__ == "__main__":
    main()
