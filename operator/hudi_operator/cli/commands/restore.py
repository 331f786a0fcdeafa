"""`kubectl hudi restore`: takes a table back to an earlier commit."""

from datetime import UTC, datetime

import click

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options, table_argument
from hudi_operator.cli.base.exit_codes import WRITE_CODES
from hudi_operator.cli.base.write import Asked, operation_options, start_operation
from hudi_operator.cli.render.request import restore_target
from hudi_operator.cli.render.view import TableView


@declare(
    details="Creates a HudiOperation, which the class must allow. All later commits go; a dry run lists them.\n\n"
    "A time means the newest commit that had completed by then, as far as the status shows; without an offset it is in "
    "the zone of this machine.",
    examples=[
        "restore orders --to 14:00 --dry-run",
        "restore orders --to 20260310135900000 --yes",
        "restore orders --to savepoint/before-backfill",
    ],
    exit_codes=WRITE_CODES,
)
@table_argument()
@click.option(
    "--to", "target", required=True, metavar="WHEN", help="An instant, savepoint/NAME, or a time such as 14:00."
)
@click.option("--no-reingest", is_flag=True, help="Do not read the input of the removed commits again.")
@click.option("--remove-savepoints", is_flag=True, help="Remove savepoints on removed commits, which else refuse it.")
@operation_options
@cluster_options
def command(
    *,
    place: Place,
    table: str,
    target: str,
    no_reingest: bool,
    remove_savepoints: bool,
    dry_run: bool,
    yes: bool,
    output: str | None,
) -> int:
    """Create the operation."""

    def value(view: TableView) -> dict[str, object]:
        newer = {"newerSavepoints": "Remove"} if remove_savepoints else {}
        reingest = {"reingest": False} if no_reingest else {}
        return {**restore_target(view, target, now=datetime.now(UTC)), **newer, **reingest}

    question = f"All commits of HudiTable {table} after this one are removed:"
    return start_operation(place, table, "restore", value, Asked(dry_run, yes, output), question=question)
