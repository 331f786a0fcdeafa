"""Reads a table as it is, and as it was at some instants, with Spark's own Hudi reader, in its own program.

`time_travel.py TABLE STORE COLUMNS INSTANT...`, the store as JSON and the columns with commas between them, prints the
rows as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.e2e.stage import Table

NOW = "now"
_REFUSALS = ("Cleaner cleaned up the timestamp of interest", "must be earlier than the first incomplete commit")
"""What Hudi says of an instant whose files a clean has removed, and of one after a write that has not ended."""


def read_at(table: Table, instants: Sequence[str], *columns: str) -> dict[str, Counter[tuple[Any, ...]]]:
    """Return how often each row is there now and at each instant; one that Hudi refuses to read is left out."""
    store = json.dumps(vars(table.stage.cluster.s3))
    command = [sys.executable, __file__, f"s3a://{table.folder}", store, ",".join(columns), NOW, *instants]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[list[Any]]] = json.loads(done.stdout.strip().splitlines()[-1])
    return {instant: Counter(tuple(row) for row in rows) for instant, rows in found.items()}


def main(table: str, store: str, columns: str, *instants: str) -> None:
    """Print the rows of each instant on the last line."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "dev"))
    from demo.verify import open_session, use_store  # noqa: PLC0415 - found once the path is set

    spark = open_session()
    use_store(spark, json.loads(store))
    found = {}
    for instant in instants:
        reader = spark.read.format("hudi")
        if instant != NOW:
            reader = reader.option("as.of.instant", instant)
        try:
            found[instant] = [list(row) for row in reader.load(table).select(*columns.split(",")).collect()]
        except Exception as error:
            if not any(refusal in str(error) for refusal in _REFUSALS):
                raise
    sys.stdout.write(json.dumps(found) + "\n")
    spark.stop()


if __name__ == "__main__":
    main(*sys.argv[1:])
