"""The command `hudi-operator`, which is also kubectl's plugin `kubectl hudi`."""

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from pathlib import PurePath

from hudi_operator.cli.base.app import COMPLETE_VAR, KUBECTL_COMPLETES, LazyGroup, run_command
from hudi_operator.cli.registry import COMMANDS, load

GROUP = LazyGroup(
    entries=COMMANDS, load=load, summary="Manages Apache Hudi tables as their HudiTable resources declare."
)


def run() -> None:
    """Run the command line of this process; a terminal without Unicode gets escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    instruction = os.environ.get(COMPLETE_VAR, "")
    if instruction or PurePath(sys.argv[0]).name == KUBECTL_COMPLETES:
        from hudi_operator.cli.base.completed_names import complete  # noqa: PLC0415 - only shells need it

        sys.exit(complete(GROUP, instruction))
    sys.exit(execute(sys.argv[1:]))


def execute(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    try:
        code = run_command(GROUP, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the output; keep Python from complaining when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code
