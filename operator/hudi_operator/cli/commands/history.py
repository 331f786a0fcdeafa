"""`kubectl hudi history`: what ran on a table, and who asked for it."""

import sys
from typing import TYPE_CHECKING

from hudi_operator.api.resources import parse_operation
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.exit_codes import READ_CODES
from hudi_operator.cli.base.output import has_colour, moment, output_option
from hudi_operator.cli.base.read import table_of
from hudi_operator.cli.render.past_runs import Entry, entries, history_document, history_text
from hudi_operator.cli.render.text import value_as
from hudi_operator.kube.keys import OPERATION, table_named_by

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient


@declare(
    details="Lists the newest ten runs, all HudiOperations of the table, and the operations that it remembers.\n\n"
    "WHO is the name that a HudiOperation gives; the API server has checked it unless it is `not verified`.",
    examples=["history orders", "history orders -n team-a -o json"],
    exit_codes=READ_CODES,
)
@table_argument()
@output_option("json", "yaml")
@cluster_options
def command(*, place: Place, table: str, output: str) -> int:
    """Print the history of a table."""
    found = in_cluster(place, lambda client: _read(client, table))
    if output != "table":
        print(value_as(history_document(found), output))
    elif found:
        print(history_text(found, now=moment(), colour=has_colour()))
    else:
        print("Nothing has run on the table yet.", file=sys.stderr)
    return 0


async def _read(client: "PersonClient", name: str) -> list[Entry]:
    view = await table_of(client, name)
    documents = await client.list(OPERATION, client.namespace)
    operations = [parse_operation(one) for one in documents if (key := table_named_by(one)) and key.name == name]
    return entries(view, operations)
