"""The command `hudi-operator`, which is also kubectl's plugin `kubectl hudi`."""

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path, PurePath

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.base.app import COMPLETE_VAR, KUBECTL_COMPLETES, LazyGroup, run_command
from hudi_operator.cli.base.exit_codes import FOUND, OK
from hudi_operator.cli.registry import COMMANDS, load

GROUP = LazyGroup(
    entries=COMMANDS, load=load, summary="Manages Apache Hudi tables as their HudiTable resources declare."
)


def run() -> None:
    """Run the command line of this process; a terminal without Unicode gets escapes."""
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    instruction = os.environ.get(COMPLETE_VAR, "")
    if instruction or PurePath(sys.argv[0]).name == KUBECTL_COMPLETES:
        from hudi_operator.cli.base.completed_names import complete  # noqa: PLC0415 - only shells need it

        sys.exit(complete(GROUP, instruction))
    sys.exit(execute(sys.argv[1:]))


def _open_streams() -> None:
    """Put the null device where the caller closed a stream, which Python then lacks."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode))  # noqa: SIM115 - open until the process ends


def execute(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code."""
    try:
        code = run_command(GROUP, arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        return OK
    except OSError as error:
        _drop_output()
        print(f"Error: {escaped(str(error))}", file=sys.stderr)
        return FOUND
    return code


def _drop_output() -> None:
    """Keep Python from complaining when it flushes at the end what nobody takes."""
    with suppress(OSError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
