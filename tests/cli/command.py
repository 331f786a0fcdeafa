"""A command of `hudi-operator` in the process of the test, because a process of its own takes a second to start."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO
from typing import NamedTuple

from hudi_operator.cli.main import execute


class Done(NamedTuple):
    """The exit code of a command and what it printed."""

    returncode: int
    stdout: str
    stderr: str


def command(*arguments: str) -> Done:
    """Run a command to its end."""
    with redirect_stdout(StringIO()) as output, redirect_stderr(StringIO()) as errors:
        code = execute(arguments)
    return Done(code, output.getvalue(), errors.getvalue())
