"""`kubectl hudi top`: the statistics of tables."""

import sys

import click

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options, in_cluster
from hudi_operator.cli.base.output import moment, output_option, print_documents
from hudi_operator.cli.render.top import size_of, top_text
from hudi_operator.cli.render.view import TableView
from hudi_operator.control.keys import TABLE


@declare(
    details="The largest table comes first. A question mark is a figure that nobody has measured yet; SINCE counts the "
    "commits after the measurement.\n\n"
    "LOGS is the size of log files over that of base files, SKEW the largest partition over the mean.",
    examples=["top", "top -A", "top -n team-a -o json"],
    exit_codes={0: "printed", 2: "the arguments make no sense", 3: "no access"},
)
@click.option("-A", "--all-namespaces", is_flag=True, help="The tables of all namespaces.")
@click.option("-l", "--selector", metavar="LABELS", help="Only tables with these labels, as in kubectl.")
@output_option("json", "yaml", "name")
@cluster_options
def command(*, place: Place, all_namespaces: bool, selector: str | None, output: str) -> int:
    """Print the statistics."""
    documents = in_cluster(
        place,
        lambda client: client.list(TABLE, None if all_namespaces else client.namespace, label_selector=selector),
    )
    views = sorted(map(TableView.of, documents), key=lambda one: (-(size_of(one) or -1), one.name))
    if output != "table":
        print_documents([one.document for one in views], output)
    elif views:
        print(top_text(views, now=moment(), namespaces=all_namespaces))
    else:
        print("There are no tables.", file=sys.stderr)
    return 0
