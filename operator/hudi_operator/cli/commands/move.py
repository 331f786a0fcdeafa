"""`kubectl hudi move`: a table to another class or namespace, and what to do for another cluster."""

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from hudi_jobs.contract.wording import escaped
from hudi_operator.api.values.base import parse_duration
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.app import program
from hudi_operator.cli.base.cluster import Failed, Place, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.exit_codes import FOUND, OK
from hudi_operator.cli.base.object_names import ObjectName
from hudi_operator.cli.base.output import has_colour
from hudi_operator.cli.base.read import table_of
from hudi_operator.cli.base.write import confirm
from hudi_operator.cli.move.move_plan import cluster_steps, plan_text
from hudi_operator.cli.move.moved_objects import Document, in_files
from hudi_operator.cli.move.places import Found, Route, class_change, look, savepoints_of
from hudi_operator.cli.move.steps import Mover
from hudi_operator.cli.render.text import as_document, qualified_name
from hudi_operator.cli.render.view import TableView

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient


@declare(
    details="Another class is one field, and the next Job uses it. To another namespace the command suspends the table "
    "until it has no Job, creates the new one, suspended, moves its HudiSavepoints, deletes the old table and resumes "
    "the new one. It deletes no data, and two tables never have the folder.\n\n"
    "The command first says what it does and what the table forgets, and asks. Repeat an interrupted command: it goes "
    "on where it was. A table that Argo CD, Flux or Helm keeps is refused, and its new YAML printed.",
    examples=[
        "move orders --to-class gold",
        "move orders -n team-a --to-namespace team-b --dry-run",
        "move orders -n team-a --to-namespace team-b --yes",
        "move orders -n team-a --to-cluster",
    ],
    exit_codes={
        0: "moved; with --dry-run: nothing forbids it",
        1: "there is no such table, the move is refused, or a step did not end in time",
        2: "the arguments make no sense",
        3: "the cluster is unreachable, or does not allow it",
    },
)
@table_argument()
@click.option("--to-class", "table_class", type=ObjectName(), metavar="NAME", help="The HudiTableClass to use.")
@click.option("--to-namespace", "destination", type=ObjectName(), metavar="NAME", help="The namespace to move to.")
@click.option("--to-cluster", is_flag=True, help="Print the YAML for another cluster, and the steps; change nothing.")
@click.option("--dry-run", is_flag=True, help="Check everything and print the plan; change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--timeout", metavar="DURATION", default="30m", help="The longest time for each step, such as 90s or 1h.")
@click.option(
    "-o", "--output", type=click.Choice(["json", "yaml"]), help="Print the resources at the new place; change nothing."
)
@cluster_options
def command(
    *,
    place: Place,
    table: str,
    table_class: str | None,
    destination: str | None,
    to_cluster: bool,
    dry_run: bool,
    yes: bool,
    timeout: str,
    output: str | None,
) -> int:
    """Move the table, or print what a move would do."""
    if to_cluster and (table_class or destination or yes or dry_run):
        raise click.UsageError("--to-cluster prints steps alone: give it without another destination")
    longest = _longest(timeout)
    if not (to_cluster or table_class or destination):
        raise click.UsageError("say where: give --to-class, --to-namespace or --to-cluster")
    if to_cluster:
        return _for_another_cluster(place, table, output or "yaml")
    route, found = _looked(place, table, destination, table_class)
    if output is not None or found.is_in_git:
        return _print_files(route, found, output or "yaml")
    print(plan_text(route, found, colour=has_colour()), file=sys.stdout if dry_run else sys.stderr)
    if found.refusals:
        return FOUND
    if not dry_run:
        confirm(yes=yes)
        _carry_out(place, route, longest)
    return OK


def _looked(place: Place, table: str, destination: str | None, table_class: str | None) -> tuple[Route, Found]:
    async def read(client: "PersonClient") -> tuple[Route, Found]:
        route = Route(
            name=table, source=client.namespace, target=destination or client.namespace, table_class=table_class
        )
        if route.is_class_alone and table_class is None:
            raise click.UsageError(f"the table is in namespace {destination} already")
        return route, await look(client, route)

    return in_cluster(place, read)


def _carry_out(place: Place, route: Route, longest: timedelta) -> None:
    if route.is_class_alone:
        document = in_cluster(place, lambda client: client.patch(route.old, class_change(route)))
        print(f"{qualified_name(document)} has class {route.table_class}")
    else:

        def say(step: str) -> None:
            print(escaped(step), flush=True)

        in_cluster(place, lambda client: Mover(client=client, route=route, longest=longest, say=say).run())
    print(f"Watch it with: {program()} wait {route.name} -n {route.target} --for ready", file=sys.stderr)


def _print_files(route: Route, found: Found, output: str) -> int:
    """Print the resources at the new place, and what forbids the move."""
    if found.old is None:
        raise Failed(f"HudiTable {route.old} is gone, and the move to {route.target} has not ended: repeat it.")
    print(as_document(in_files(found.old, found.savepoints, route.target, route.table_class), output))
    for one in found.refusals:
        print(escaped(one), file=sys.stderr)
    return FOUND if found.refusals else OK


def _for_another_cluster(place: Place, table: str, output: str) -> int:
    async def read(client: "PersonClient") -> tuple[TableView, list[Document]]:
        route = Route(name=table, source=client.namespace, target=client.namespace)
        return await table_of(client, table), await savepoints_of(client, route)

    view, savepoints = in_cluster(place, read)
    print(as_document(in_files(view.document, savepoints, view.metadata.namespace, None), output))
    print(cluster_steps(view, program=program()), file=sys.stderr)
    return OK


def _longest(timeout: str) -> timedelta:
    try:
        return parse_duration(timeout)
    except ValueError as error:
        raise click.BadParameter(f"{timeout!r} is no duration such as 90s or 1h", param_hint="--timeout") from error
