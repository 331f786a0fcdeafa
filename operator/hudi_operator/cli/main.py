"""The command `hudi-operator`: an argparse parser per command, because scripts call it often.

Only the named command's imports are loaded: kopf and the Kubernetes client take most of a second. So each command's
module is imported on use and declares its own arguments.
"""

import argparse
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from io import TextIOWrapper
from typing import NamedTuple


class _Command(NamedTuple):
    summary: str
    declared_in: str
    """The module, and its function that declares arguments and returns the command's function."""


Execute = Callable[[argparse.Namespace], int]

_COMMANDS = {
    "run": _Command(
        "Run the operator until SIGTERM or SIGINT; its settings are variables HUDI_OPERATOR_*.", "operator:declare_run"
    ),
    "crds": _Command(
        "Print the CustomResourceDefinitions, for `kubectl apply --server-side -f -`.", "operator:declare_crds"
    ),
    "timeline": _Command(
        "Show the timeline of Hudi tables: instants, what is pending, and what the operator counts.",
        "timeline:declare",
    ),
    "adopt": _Command(
        "Write resources that observe the Hudi tables below a prefix, as YAML to review.",
        "adopt:declare",
    ),
    "version": _Command("Print the version.", "operator:declare_version"),
}


def run() -> None:
    """Run the command line of this process; a terminal without Unicode gets escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(execute(sys.argv[1:]))


def execute(arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; invalid arguments end the process, as in argparse."""
    name = arguments[0] if arguments else ""
    if name not in _COMMANDS:
        return _without_command(arguments)
    command = _COMMANDS[name]
    parser = argparse.ArgumentParser(prog=f"{_program()} {name}", description=command.summary)
    module, _, function = command.declared_in.partition(":")
    declare: Callable[[argparse.ArgumentParser], Execute] = getattr(
        importlib.import_module(f"hudi_operator.cli.{module}"), function
    )
    chosen = declare(parser)
    try:
        code = chosen(parser.parse_intermixed_args(list(arguments[1:])))
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader closed the output; keep Python from complaining when it flushes at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    return code


def _program() -> str:
    """Return what a person types: kubectl starts `kubectl-hudi` as its plugin."""
    return "kubectl hudi" if sys.argv[0].endswith("kubectl-hudi") else "hudi-operator"


def _without_command(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog=_program(), description="Manages Apache Hudi tables as their HudiTable resources declare."
    )
    names = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name, command in _COMMANDS.items():
        names.add_parser(name, help=command.summary, add_help=False)
    parser.parse_args(arguments or ["--help"])
    return 2
