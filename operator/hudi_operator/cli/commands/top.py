"""`kubectl hudi top`: the statistics of tables."""

import sys

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, all_namespaces_option, cluster_options, in_cluster, selector_option
from hudi_operator.cli.base.output import moment, output_option, print_documents
from hudi_operator.cli.base.read import tables_of
from hudi_operator.cli.render.size_table import top_text
from hudi_operator.cli.render.status_table import in_order


@declare(
    details="The largest table comes first. A question mark is a figure that nobody has measured yet; SINCE counts the "
    "commits after the measurement.\n\n"
    "LOGS is the size of log files over that of base files, SKEW the largest partition over the mean.",
    examples=["top", "top -A", "top -n team-a -o json"],
    exit_codes={0: "printed", 2: "the arguments make no sense", 3: "no access"},
)
@all_namespaces_option
@selector_option
@output_option("json", "yaml", "name")
@cluster_options
def command(*, place: Place, all_namespaces: bool, selector: str | None, output: str) -> int:
    """Print the statistics."""
    found = in_cluster(place, lambda client: tables_of(client, everywhere=all_namespaces, selector=selector))
    views = in_order(found, "size")
    if output != "table":
        print_documents([one.document for one in views], output)
    elif views:
        print(top_text(views, now=moment(), namespaces=all_namespaces))
    else:
        print("There are no tables.", file=sys.stderr)
    return 0
