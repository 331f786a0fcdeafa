"""`kubectl hudi status`: the tables of a namespace or the cluster at a glance."""

import sys
from collections.abc import Sequence

import click

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, all_namespaces_option, cluster_options, in_cluster, selector_option
from hudi_operator.cli.base.exit_codes import FOUND, OK
from hudi_operator.cli.base.output import has_colour, moment, output_option, print_documents
from hudi_operator.cli.base.read import tables_of
from hudi_operator.cli.render.status_table import ORDERS, in_order, status_text, summary_line
from hudi_operator.cli.render.view import TableView


@declare(
    details=(
        "A table is unhealthy if no operator has observed it, or if it is not ready, is stalled, misses its freshness "
        "or has a finding above Info."
    ),
    examples=[
        "status",
        "status -A --unhealthy",
        "status -A --sort behind -o wide",
        "status -n team-a --class gold -o name",
    ],
    exit_codes={
        0: "no shown table is unhealthy",
        1: "a shown table is unhealthy",
        2: "the arguments make no sense",
        3: "the cluster is unreachable, or refuses it",
    },
)
@all_namespaces_option
@click.option("--unhealthy", is_flag=True, help="Only unhealthy tables, with the message of each.")
@click.option("--class", "table_class", metavar="NAME", help="Only tables of this HudiTableClass.")
@selector_option
@click.option("--sort", type=click.Choice([*ORDERS]), default="name", help="Which table comes first.")
@output_option("wide", "json", "yaml", "name")
@cluster_options
def command(
    *,
    place: Place,
    all_namespaces: bool,
    unhealthy: bool,
    table_class: str | None,
    selector: str | None,
    sort: str,
    output: str,
) -> int:
    """Print the tables."""
    found = in_cluster(place, lambda client: tables_of(client, everywhere=all_namespaces, selector=selector))
    of_class = [one for one in in_order(found, sort) if table_class in (None, one.declared("tableClassName"))]
    shown = [one for one in of_class if one.is_unhealthy or not unhealthy]
    if output in {"json", "yaml", "name"}:
        print_documents([one.document for one in shown], output)
    else:
        _print_table(shown, of_class, namespaces=all_namespaces, wide=output == "wide", messages=unhealthy)
    return FOUND if any(one.is_unhealthy for one in shown) else OK


def _print_table(
    shown: Sequence[TableView], tables: Sequence[TableView], *, namespaces: bool, wide: bool, messages: bool
) -> None:
    if shown:
        colour = has_colour()
        print(status_text(shown, now=moment(), namespaces=namespaces, wide=wide, messages=messages, colour=colour))
    print(summary_line(tables, shown=len(shown)), file=sys.stderr)
