"""Runs the program that compares tables with the original data; it starts early, because Spark takes long."""

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, TypeAlias

from toolkit.cluster import ROOT, S3Access

_PROGRAM = Path(__file__).parent / "verify.py"
_LOG = ROOT / ".dev" / "logs" / "verify.log"


Found: TypeAlias = dict[str, Any]
"""The differences between a table and its expected rows: counts, and a few examples."""


class ComparisonFailed(Exception):
    """The tables could not be read, and the message names the log; or they hold other rows."""


def rows_of(table: str, found: Found) -> int:
    """Return how many rows a table holds; raise `ComparisonFailed` for differences."""
    if found["missingRows"] or found["unexpectedRows"] or found["expectedRows"] != found["actualRows"]:
        raise ComparisonFailed(f"{table} does not hold the rows that it should: {found}")
    rows: int = found["actualRows"]
    return rows


class Comparison:
    """A Spark session that compares tables on request.

    With the word `FLIGHTS` it reads the original flights at its start. With the address of a metastore it also reads
    tables by the names of their entries.
    """

    def __init__(self, *words: str) -> None:
        self._words = words

    def __enter__(self) -> Self:
        self._process = self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def compare(self, store: S3Access, table: str, rows: Sequence[Mapping[str, str]] | None = None) -> Found:
        """Compare the rows of a table with the expected ones; raise `ComparisonFailed`.

        Without `rows` the flights are expected.

        A program that has already ended, perhaps after a failed download, is restarted once.
        """
        if self._process.poll() is not None:
            self._process = self._start()
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None
        assert answers is not None
        try:
            print(json.dumps({**vars(store), "table": table, "rows": rows}), file=questions, flush=True)
            # The program's JVM prints lines of its own there.
            found: Found = json.loads(next((line for line in answers if line.startswith("{")), ""))
        except (OSError, ValueError) as error:
            raise ComparisonFailed(f"{table} could not be read; see {_LOG}") from error
        return found

    def _start(self) -> "subprocess.Popen[str]":
        _LOG.parent.mkdir(parents=True, exist_ok=True)
        with _LOG.open("w") as errors:
            return subprocess.Popen(
                (sys.executable, str(_PROGRAM), *self._words),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
