"""Reads a table with Spark's own Hudi reader: `read_table.py TABLE ENDPOINT COLUMN...` prints its rows as JSON.

A program of its own, so that the JVM ends with it. The credentials come from the environment.
"""

import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "dev"))
from demo.__main__ import fetch_jars
from demo.verify import open_session


def main(table: str, endpoint: str, *columns: str) -> None:
    """Print the rows on the last line, sorted by the columns."""
    spark = open_session(endpoint, str(fetch_jars()))
    rows = spark.read.format("hudi").load(table).select(*columns).sort(*columns).collect()
    sys.stdout.write(json.dumps([row.asDict() for row in rows]) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
