"""The commands: one line each, in the order of the help.

A command `NAME` is the value `command` of the module `commands/NAME.py`, which is imported when it is used.
"""

import importlib
from typing import NamedTuple

from hudi_operator.cli.base.app import Command


class Entry(NamedTuple):
    """A command in the list of commands."""

    section: str
    summary: str


CLUSTER = "tables of a cluster"
STORE = "tables of a store, without a cluster"
OPERATOR = "the operator and this command"

COMMANDS = {
    "status": Entry(CLUSTER, "Show tables at a glance: ready or why not, how far behind, findings."),
    "explain": Entry(CLUSTER, "Explain a table: conditions, findings with a remedy, why each service runs or not."),
    "history": Entry(CLUSTER, "Show what ran on a table, and who asked for it."),
    "timeline": Entry(CLUSTER, "Show the timeline of a table, by name or by path: instants, pending work, counts."),
    "schema": Entry(CLUSTER, "Show the declared columns of a table, their differences, and which commit changed what."),
    "events": Entry(CLUSTER, "Show the Events about a table."),
    "logs": Entry(CLUSTER, "Print the log of a run, or the kept end of the log of the newest failed run."),
    "top": Entry(CLUSTER, "Show how large tables are, how fast they grow, and their small files and logs."),
    "cost": Entry(CLUSTER, "Sum what runs cost, by table, namespace, class, service or day."),
    "wait": Entry(CLUSTER, "Wait until a table is ready, healthy, fresh, suspended or idle."),
    "run": Entry(CLUSTER, "Run a service of a table now; `hudi-operator run` without a table runs the operator."),
    "retry": Entry(CLUSTER, "Retry failed services or a failed HudiOperation of a table."),
    "suspend": Entry(CLUSTER, "Stop new Jobs of tables, and say who did it and why."),
    "resume": Entry(CLUSTER, "End a suspension of tables or of a namespace."),
    "restore": Entry(CLUSTER, "Take a table back to an earlier commit."),
    "erase": Entry(CLUSTER, "Erase records from every file of a table, and prove it."),
    "move": Entry(CLUSTER, "Move a table to another class or namespace, and say what to do for another cluster."),
    "plan": Entry(CLUSTER, "Show what resources in files would do, with or without a cluster, for pull requests."),
    "preflight": Entry(CLUSTER, "Say what must be done or known before the operator is upgraded."),
    "doctor": Entry(STORE, "Say what is wrong with every Hudi table below a prefix, with evidence and a remedy."),
    "adopt": Entry(STORE, "Write resources that observe the Hudi tables below a prefix, as YAML to review."),
    "crds": Entry(OPERATOR, "Print the CustomResourceDefinitions, for `kubectl apply --server-side -f -`."),
    "completion": Entry(OPERATOR, "Print a script that completes commands and names of tables in a shell."),
    "version": Entry(OPERATOR, "Print the version."),
}  # fmt: skip


def load(name: str) -> Command:
    """Return a command of the list."""
    module = importlib.import_module(f"hudi_operator.cli.commands.{name}")
    command: Command = module.command
    command.name, command.help = name, COMMANDS[name].summary
    return command
