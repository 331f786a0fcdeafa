"""Reads tables with Spark's own Hudi reader, in its own program, so that the JVM ends with it.

`read_table.py TABLES STORE COLUMN...`, the tables and the store as JSON, prints the rows of each as JSON.
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


def read_with_spark(tables: Sequence[Table], *columns: str) -> list[list[dict[str, Any]]]:
    """Return the rows of each table, sorted by these columns."""
    paths = json.dumps([f"s3a://{table.folder}" for table in tables])
    store = json.dumps(vars(tables[0].stage.cluster.s3))
    command = [sys.executable, __file__, paths, store, *columns]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    rows: list[list[dict[str, Any]]] = json.loads(done.stdout.strip().splitlines()[-1])
    return rows


def main(tables: str, store: str, *columns: str) -> None:
    """Print the rows on the last line, those of each table sorted by the columns."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "dev"))
    from demo.verify import open_session, use_store  # noqa: PLC0415 - found once the path is set

    spark = open_session()
    use_store(spark, json.loads(store))
    found = [spark.read.format("hudi").load(table).select(*columns).sort(*columns) for table in json.loads(tables)]
    sys.stdout.write(json.dumps([[row.asDict() for row in rows.collect()] for rows in found]) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
