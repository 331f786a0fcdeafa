"""The page about the command line, made from the registry of commands and from each command's options and examples."""

from collections.abc import Iterator

import click

from hudi_operator.cli.base.app import Command
from hudi_operator.cli.base.exit_codes import MEANINGS
from hudi_operator.cli.registry import CLUSTER, COMMANDS, load

_HEAD = """# The command line

Made from the code by `python dev/generate.py --write`: change the code, not this page.

The command has two names: `kubectl hudi`, kubectl's plugin, and `hudi-operator`.
[Install](../start/install.md#the-command-line) puts it on the `PATH`. `--help` shows the same as this page.

Exit codes, where a command names no others:

{codes}
"""


def page() -> str:
    """Return the whole page."""
    sections: dict[str, list[str]] = {}
    for name, entry in COMMANDS.items():
        sections.setdefault(entry.section, []).append("\n".join(_lines(name)))
    head = _HEAD.format(codes="\n".join(f"- `{code}`: {meaning}" for code, meaning in MEANINGS.items()))
    parts = [
        head,
        *(part for title, shown in sections.items() for part in (f"## {title[0].upper()}{title[1:]}\n", *shown)),
    ]
    return "\n".join(parts)


def _lines(name: str) -> Iterator[str]:
    command, program = load(name), _program(name)
    yield f'### {name} <a id="{name}"></a>\n\n{COMMANDS[name].summary}\n'
    if command.details:
        yield f"{command.details}\n"
    yield "\n".join(["```console", *(f"$ {program} {example}" for example in command.examples), "```\n"])
    with click.Context(command, info_name=name) as context:
        usage = " ".join([program, name, *command.collect_usage_pieces(context)[1:]])
        yield f"Usage: `{usage}`\n"
        yield from _options(command, context)
    if command.exit_codes is not MEANINGS:
        yield "Exit codes: " + "; ".join(f"`{code}` {meaning}" for code, meaning in command.exit_codes.items()) + ".\n"


def _program(name: str) -> str:
    return "kubectl hudi" if COMMANDS[name].section == CLUSTER else "hudi-operator"


def _options(command: Command, context: click.Context) -> Iterator[str]:
    records = [one.get_help_record(context) for one in command.params]
    listed = [f"- `{declared}`: {text}" for declared, text in filter(None, records) if text]
    if listed:
        yield "\n".join([*listed, ""])
