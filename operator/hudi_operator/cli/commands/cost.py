"""`kubectl hudi cost`: what the runs of tables used."""

import sys
from datetime import timedelta
from typing import TYPE_CHECKING

import click

from hudi_operator.api.status.cost import DAYS_REMEMBERED
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, all_namespaces_option, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.exit_codes import READ_CODES
from hudi_operator.cli.base.output import moment, output_option
from hudi_operator.cli.base.read import table_of, tables_of
from hudi_operator.cli.render.cost_sums import GROUPS, cost_document, cost_text, first_day, spent, totals
from hudi_operator.cli.render.text import value_as
from hudi_operator.cli.render.view import TableView

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient


@declare(
    details=f"Days are those of UTC; a table remembers {DAYS_REMEMBERED}, and a deleted table none. What nobody "
    "measured is estimated, in a column of its own.",
    examples=[
        "cost -A --since yesterday --until yesterday --by namespace",
        "cost orders --by service",
        "cost -n team-a --since 2026-03-01 --by day -o json",
    ],
    exit_codes=READ_CODES,
)
@table_argument(required=False)
@all_namespaces_option
@click.option(
    "--since", default="7d", metavar="DAY", help="The first day: today, yesterday, 7d or a date (default: 7d)."
)
@click.option("--until", default="today", metavar="DAY", help="The last day (default: today).")
@click.option("--by", type=click.Choice([*GROUPS]), default="table", help="What the sums are of.")
@output_option("json", "yaml")
@cluster_options
def command(
    *, place: Place, table: str | None, all_namespaces: bool, since: str, until: str, by: str, output: str
) -> int:
    """Print the sums."""
    if table is not None and all_namespaces:
        raise click.UsageError("a TABLE lies in one namespace: leave out -A")
    today = moment().date()
    try:
        first, last = first_day(since, today), first_day(until, today)
    except ValueError as error:
        raise click.UsageError("a day is today, yesterday, a number of days such as 7d, or a date") from error
    if first > last:
        raise click.UsageError(f"--since {first} is after --until {last}")
    views = in_cluster(place, lambda client: _read(client, table, everywhere=all_namespaces))
    found = list(spent(views, first, last))
    if first < (oldest := today - timedelta(days=DAYS_REMEMBERED - 1)):
        print(f"Tables remember {DAYS_REMEMBERED} days: runs before {oldest} may be missing.", file=sys.stderr)
    if output != "table":
        print(value_as(cost_document(totals(found, by)), output))
    elif found:
        print(cost_text(found, by))
    else:
        print(f"No run has ended from {first} to {last}.", file=sys.stderr)
    return 0


async def _read(client: "PersonClient", name: str | None, *, everywhere: bool) -> list[TableView]:
    if name is not None:
        return [await table_of(client, name)]
    return await tables_of(client, everywhere=everywhere)
