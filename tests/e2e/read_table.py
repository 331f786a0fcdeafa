"""Reads a table with Spark's own Hudi reader, in its own program, so that the JVM ends with it.

`read_table.py TABLE STORE COLUMN...`, the store as JSON, prints the rows as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.stage import Table


def read_with_spark(table: Table, *columns: str) -> list[dict[str, Any]]:
    """Return the rows of a table, sorted by these columns."""
    command = [sys.executable, __file__, f"s3a://{table.folder}", json.dumps(vars(table.stage.cluster.s3)), *columns]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    rows: list[dict[str, Any]] = json.loads(done.stdout.strip().splitlines()[-1])
    return rows


def main(table: str, store: str, *columns: str) -> None:
    """Print the rows on the last line, sorted by the columns."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "dev"))
    from demo.verify import open_session, use_store  # noqa: PLC0415 - found once the path is set

    spark = open_session()
    use_store(spark, json.loads(store))
    rows = spark.read.format("hudi").load(table).select(*columns).sort(*columns).collect()
    sys.stdout.write(json.dumps([row.asDict() for row in rows]) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
