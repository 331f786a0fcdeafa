"""`kubectl hudi schema`: the columns of a table, their differences, and which commit changed them."""

import sys

import click

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.exit_codes import OK, READ_CODES, USAGE
from hudi_operator.cli.base.output import has_colour, moment, output_option
from hudi_operator.cli.base.read import table_of
from hudi_operator.cli.base.store import s3_options, store_options
from hudi_operator.cli.render.column_tables import schema_document, schema_text
from hudi_operator.cli.render.explanation import Shown
from hudi_operator.cli.render.text import value_as
from hudi_operator.cli.render.view import TableView
from hudi_operator.timeline.rules.schema_steps import SchemaHistory


@declare(
    details="Shows the declared columns, and what the status says of their differences from the table, from the input "
    "of the last run and from the catalog, without a key of the store.\n\n"
    "With --history it also reads the store with your own keys: the variables AWS_ACCESS_KEY_ID and "
    "AWS_SECRET_ACCESS_KEY. It then shows the columns of the table beside the declared ones, and which commit of the "
    "active timeline added or changed which column, of the newest 1,000 commits.",
    examples=["schema orders", "schema orders -n team-a --history", "schema orders --history -o json"],
    exit_codes={**READ_CODES, USAGE: "the store could not be read, or the arguments make no sense"},
)
@table_argument()
@click.option("--history", is_flag=True, help="Also read the columns of the commits from the store, with your keys.")
@output_option("json", "yaml")
@store_options
@cluster_options
def command(
    *, place: Place, table: str, history: bool, output: str, s3_endpoint: str | None, s3_region: str | None
) -> int:
    """Print the columns of a table."""
    if (s3_endpoint or s3_region) and not history:
        raise click.UsageError("the options of a store are for --history")
    view = in_cluster(place, lambda client: table_of(client, table))
    found = None
    if history:
        from hudi_operator.storage import StorageError  # noqa: PLC0415 - only a history reads the store
        from hudi_operator.timeline import TimelineError  # noqa: PLC0415

        try:
            found = _history(view, s3_endpoint, s3_region)
        except (TimelineError, StorageError) as error:
            print(escaped(f"{view.declared('basePath')}: {error}"), file=sys.stderr)
            return USAGE
    if output == "table":
        print(schema_text(view, Shown(now=moment(), colour=has_colour()), found))
    else:
        print(value_as(schema_document(view, found), output))
    return OK


def _history(view: TableView, endpoint: str | None, region: str | None) -> SchemaHistory:
    from hudi_operator.cli.base.store_reads import read_schema_history  # noqa: PLC0415 - only a history reads the store

    return read_schema_history(view.declared("basePath"), s3_options(endpoint, region))
