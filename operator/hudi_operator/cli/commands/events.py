"""`kubectl hudi events`: the Events about a table."""

import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.exit_codes import READ_CODES
from hudi_operator.cli.base.output import has_colour, moment, output_option, print_documents
from hudi_operator.cli.base.read import table_of
from hudi_operator.cli.render.past_runs import events_text, newest_first
from hudi_operator.kube.keys import table_key

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient

_MOST = 500


@declare(
    details="The API server keeps Events for an hour unless the cluster says otherwise.",
    examples=["events orders", "events orders -n team-a -o yaml"],
    exit_codes=READ_CODES,
)
@table_argument()
@output_option("json", "yaml", "name")
@cluster_options
def command(*, place: Place, table: str, output: str) -> int:
    """Print the Events about a table, the newest first."""
    found = in_cluster(place, lambda client: _read(client, table))
    if output != "table":
        print_documents(newest_first(found), output)
    elif found:
        print(events_text(found, now=moment(), colour=has_colour()))
    else:
        print(f"There are no Events about {table}.", file=sys.stderr)
    return 0


async def _read(client: "PersonClient", name: str) -> Sequence[Mapping[str, Any]]:
    view = await table_of(client, name)
    found = await client.events_about(table_key(client.namespace, name), limit=_MOST)
    return [one for one in found if one["involvedObject"].get("uid") in {None, view.metadata.uid}]
