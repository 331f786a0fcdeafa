"""`kubectl hudi explain`: why a table is as it is, and what it does next."""

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.exit_codes import FOUND, OK
from hudi_operator.cli.base.output import has_colour, moment, output_option
from hudi_operator.cli.base.read import table_of
from hudi_operator.cli.render.explanation import Shown, explain_text
from hudi_operator.cli.render.text import value_as


@declare(
    details="Shows conditions, findings with their remedy, and why each service is due or not, from the status alone.",
    examples=["explain orders", "explain orders -n team-a -o yaml"],
)
@table_argument()
@output_option("json", "yaml")
@cluster_options
def command(*, place: Place, table: str, output: str) -> int:
    """Print everything that the status says of a table."""
    view = in_cluster(place, lambda client: table_of(client, table))
    if output == "table":
        print(explain_text(view, Shown(now=moment(), colour=has_colour())))
    else:
        status = view.status.model_dump(mode="json", by_alias=True, exclude_none=True)
        print(
            value_as({"metadata": {"name": view.metadata.name, "namespace": view.metadata.namespace}} | status, output)
        )
    return FOUND if view.is_unhealthy else OK
