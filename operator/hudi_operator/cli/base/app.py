"""A group of commands that loads a command when it is used, and commands with examples in their help.

Scripts call the command line often, and kopf and the Kubernetes client take most of a second: no command loads what
only another needs.
"""

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, TypeAlias

import click

from hudi_operator.cli.base.exit_codes import INTERRUPTED, MEANINGS

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Option: TypeAlias = Callable[[Callable[..., int]], Callable[..., int]]
"""A decorator that declares an option or an argument of a command."""

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


COMPLETE_VAR = "_HUDI_COMPLETE"
"""The variable by which the script of a shell asks for completions."""

KUBECTL_COMPLETES = "kubectl_complete-hudi"
"""The program on the PATH that kubectl asks for completions of `kubectl hudi`."""


def program() -> str:
    """Return what a person types: kubectl starts `kubectl-hudi` as its plugin."""
    return "kubectl hudi" if PurePath(sys.argv[0]).name.startswith("kubectl") else "hudi-operator"


class _Usage(click.Command):
    """A command with its usage in one style."""

    def format_usage(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the first line of the help."""
        formatter.write_usage(ctx.command_path, " ".join(self.collect_usage_pieces(ctx)), prefix="usage: ")


class Command(_Usage):
    """A command whose function returns the exit code; `examples` lack the program."""

    examples: Sequence[str] = ()
    exit_codes: Mapping[int, str] = MEANINGS
    details: str = ""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the summary and the details."""
        super().format_help_text(ctx, formatter)
        for paragraph in filter(None, self.details.split("\n\n")):
            formatter.write_paragraph()
            with formatter.indentation():
                formatter.write_text(paragraph)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - click's signature
        """Write the examples and the exit codes."""
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':{formatter.current_indent}}{program()} {example}\n")
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), meaning) for code, meaning in self.exit_codes.items()])


def command(
    *,
    examples: Sequence[str] = (),
    exit_codes: Mapping[int, str] = MEANINGS,
    details: str = "",
) -> Callable[[Callable[..., int]], Command]:
    """Make a command of a function that returns an exit code; name and summary come from the registry."""

    def declare(function: Callable[..., int]) -> Command:
        made = click.command(cls=Command, context_settings=SETTINGS)(function)
        made.examples, made.exit_codes, made.details = examples, exit_codes, details
        return made

    return declare


def combined(*options: Option) -> Option:
    """Return a decorator that declares options in the order of the help."""

    def declare(function: Callable[..., int]) -> Callable[..., int]:
        for option in reversed(options):
            function = option(function)
        return function

    return declare


class LazyGroup(_Usage, click.Group):
    """The commands of a registry: `entries` are section and summary by name, `load` imports a command."""

    def __init__(self, *, entries: Mapping[str, tuple[str, str]], load: Callable[[str], Command], summary: str) -> None:
        super().__init__(help=summary, context_settings=SETTINGS)
        self._entries, self._load = entries, load

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Return the names in the order of the registry."""
        return [*self._entries]

    def get_command(self, ctx: click.Context, cmd_name: str) -> Command | None:  # noqa: ARG002 - click's signature
        """Return a command, or None."""
        return self._load(cmd_name) if cmd_name in self._entries else None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command of arguments; an unknown name is refused with the names that there are."""
        name = args[0]
        if name not in self._entries and not name.startswith("-"):
            known = ", ".join(self._entries)
            raise click.UsageError(f"invalid choice: {name!r} (choose from {known})", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 - as above
        """Write the list of commands by section, without loading them."""
        width = max(map(len, self._entries))
        sections: dict[str, list[tuple[str, str]]] = {}
        for name, (section, summary) in self._entries.items():
            sections.setdefault(section, []).append((f"{name:{width}}", summary))
        with formatter.section("Commands"):
            for section, shown in sections.items():
                with formatter.section(section[0].upper() + section[1:]):
                    formatter.write_dl(shown)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> "list[CompletionItem]":
        """Return the names that begin with a text, without loading their commands."""
        from click.shell_completion import CompletionItem  # noqa: PLC0415 - only shells need it

        return [
            CompletionItem(name, help=summary)
            for name, (_, summary) in self._entries.items()
            if name.startswith(incomplete)
        ] or click.Command.shell_complete(self, ctx, incomplete)


def run_command(group: click.Group, arguments: Sequence[str]) -> int:
    """Run a command and return its exit code; errors are sentences on standard error."""
    try:
        # Not `main` of click, which turns a closed pipe into an error.
        with group.make_context(program(), [*arguments] or ["--help"]) as context:
            code = group.invoke(context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        print("Stopped.", file=sys.stderr)
        return INTERRUPTED
    return code if isinstance(code, int) else 0
