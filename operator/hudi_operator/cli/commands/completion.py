"""`hudi-operator completion`: prints a script for a shell."""

import click

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.app import program
from hudi_operator.cli.base.completed_names import SHELLS, script


@declare(
    details="kubectl completes `kubectl hudi` where kubectl_complete-hudi on the PATH is a link to kubectl-hudi.",
    examples=["completion bash", "completion zsh", "completion fish"],
    exit_codes={0: "printed", 2: "the shell is unknown"},
)
@click.argument("shell", type=click.Choice(SHELLS))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the script."""
    group = context.find_root().command
    assert isinstance(group, click.Group)
    print(script(shell, group, program=program()))
    return 0
