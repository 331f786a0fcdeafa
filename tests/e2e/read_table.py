"""Reads tables with Spark's own Hudi reader, in its own program, so that the JVM ends with it.

`read_table.py TABLES STORE METASTORE COLUMN...`, the tables and the store as JSON, prints the rows of each as JSON.
With the address of a metastore, the tables are names of its entries, else paths.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.stage import Table

    from toolkit.cluster import S3Access


def read_with_spark(tables: Sequence[Table], *columns: str) -> list[list[dict[str, Any]]]:
    """Return the rows of each table, sorted by these columns."""
    return _run([f"s3a://{table.folder}" for table in tables], tables[0].stage.cluster.s3, "", columns)


def read_by_name(entries: Sequence[str], store: S3Access, metastore: str, *columns: str) -> list[list[dict[str, Any]]]:
    """Return the rows of each entry of a metastore, sorted by these columns."""
    return _run(entries, store, metastore, columns)


def _run(tables: Sequence[str], store: S3Access, metastore: str, columns: Sequence[str]) -> list[list[dict[str, Any]]]:
    command = [sys.executable, __file__, json.dumps(tables), json.dumps(vars(store)), metastore, *columns]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    rows: list[list[dict[str, Any]]] = json.loads(done.stdout.strip().splitlines()[-1])
    return rows


def main(tables: str, store: str, metastore: str, *columns: str) -> None:
    """Print the rows on the last line, those of each table sorted by the columns."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "dev"))
    from demo.verify import in_metastore, open_session, use_store  # noqa: PLC0415 - found once the path is set

    spark = open_session(**(in_metastore(metastore) if metastore else {}))
    use_store(spark, json.loads(store))
    opened = (spark.table(one) if metastore else spark.read.format("hudi").load(one) for one in json.loads(tables))
    found = [rows.select(*columns).sort(*columns) for rows in opened]
    sys.stdout.write(json.dumps([[row.asDict() for row in rows.collect()] for rows in found]) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
