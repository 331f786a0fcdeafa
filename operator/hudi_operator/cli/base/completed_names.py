"""Completion in shells: click's own scripts, and the answers that kubectl asks of a plugin."""

import sys
from collections.abc import Sequence
from pathlib import PurePath

import click
from click.shell_completion import ShellComplete, get_completion_class, shell_complete

from hudi_operator.cli.base.app import COMPLETE_VAR, KUBECTL_COMPLETES

SHELLS = ("bash", "zsh", "fish")

_NO_FILES = 4
"""Cobra's directive: the shell does not offer files."""

_NOTE = f"""\
# kubectl completes `kubectl hudi` by itself where the PATH has a program {KUBECTL_COMPLETES}: a link to kubectl-hudi.
#   ln -s kubectl-hudi /usr/local/bin/{KUBECTL_COMPLETES}
"""


def script(shell: str, group: click.Group, *, program: str) -> str:
    """Return the script that completes a program in a shell."""
    kind = get_completion_class(shell)
    assert kind is not None, shell
    return _NOTE + kind(group, {}, program.replace(" ", "-"), COMPLETE_VAR).source()


def complete(group: click.Group, instruction: str) -> int:
    """Answer a script of a shell or kubectl; return the exit code."""
    if instruction:
        return shell_complete(group, {}, PurePath(sys.argv[0]).name, COMPLETE_VAR, instruction)
    complete_for_kubectl(group, sys.argv[1:])
    return 0


def complete_for_kubectl(group: click.Group, words: Sequence[str]) -> None:
    """Print completions of the last word, as kubectl asks a plugin for them."""
    *before, incomplete = words or ("",)
    shell = ShellComplete(group, {}, "kubectl hudi", COMPLETE_VAR)
    for item in shell.get_completions([*before], incomplete):
        print(f"{item.value}\t{item.help or ''}")
    print(f":{_NO_FILES}")
