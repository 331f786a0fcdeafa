"""The program that compares tables with the original data, started early because that takes long."""

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
"""How the rows of a table differ from those that it should hold: counts, and a few examples."""


class ComparisonFailed(Exception):
    """The tables could not be read; the message names the log."""


class Comparison:
    """A session of Spark that reads a table when it is asked, and the flights at once where it is told so."""

    def __init__(self, *original: str) -> None:
        self._original = original

    def __enter__(self) -> Self:
        self._process = self._start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def compare(self, store: S3Access, table: str, rows: Sequence[Mapping[str, str]] | None = None) -> Found:
        """Compare the rows of a table with those that it should hold; raise `ComparisonFailed`.

        Without `rows` these are the flights, which the program has read then.

        A program that has ended by now, because something could not be downloaded perhaps, gets a second chance.
        """
        if self._process.poll() is not None:
            self._process = self._start()
        questions, answers = self._process.stdin, self._process.stdout
        assert questions is not None
        assert answers is not None
        try:
            print(json.dumps({**vars(store), "table": table, "rows": rows}), file=questions, flush=True)
            # The JVM of the program says things of its own there.
            found: Found = json.loads(next((line for line in answers if line.startswith("{")), ""))
        except (OSError, ValueError) as error:
            raise ComparisonFailed(f"{table} could not be read; see {_LOG}") from error
        return found

    def _start(self) -> "subprocess.Popen[str]":
        _LOG.parent.mkdir(parents=True, exist_ok=True)
        with _LOG.open("w") as errors:
            return subprocess.Popen(
                (sys.executable, str(_PROGRAM), *self._original),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
