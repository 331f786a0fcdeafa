"""The command `hudi-operator`.

Only what a command needs is imported: kopf and the Kubernetes client take most of a second.
"""

import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import typer


def run() -> None:
    """Run the command line; `timeline` without the detour over typer, because scripts call it often."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["timeline"]:
        from hudi_operator.cli import timeline  # noqa: PLC0415

        sys.exit(timeline.run(arguments[1:]))
    application()()


def application() -> "typer.Typer":
    """Return the whole command line as a typer application."""
    import typer  # noqa: PLC0415

    from hudi_operator.cli import adopt, operator, timeline  # noqa: PLC0415

    command_line = typer.Typer(
        name="hudi-operator",
        help="Keeps Apache Hudi tables in the shape that their HudiTable resources declare.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    command_line.command("run")(operator.run)
    command_line.command("crds")(operator.crds)
    command_line.command("version")(operator.version)
    timeline.register(command_line)
    adopt.register(command_line)
    return command_line
