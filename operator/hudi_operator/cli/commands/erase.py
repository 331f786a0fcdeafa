"""`kubectl hudi erase`: removes records from every version of every file of a table."""

import click

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Place, cluster_options, table_argument
from hudi_operator.cli.base.exit_codes import WRITE_CODES
from hudi_operator.cli.base.write import Asked, operation_options, start_operation
from hudi_operator.cli.render.request import NotUnderstood, record_keys
from hudi_operator.cli.render.view import TableView


@declare(
    details="Creates a HudiOperation, which the class must allow. Its report is the proof.\n\n"
    "The history of your shell keeps the keys: begin the line with a space, or use --keys-from.",
    examples=[
        "erase customers --key id=4711 --cascade --dry-run",
        "erase customers --keys-from s3a://landing/erase/17.jsonl",
        """erase customers --where "email = 'a@example.com'" """.strip(),
    ],
    exit_codes=WRITE_CODES,
)
@table_argument()
@click.option("--key", "keys", multiple=True, metavar="FIELD=VALUE", help="A record by its key; repeat it for more.")
@click.option("--keys-from", metavar="PATH", help="A file of keys below the source paths that the class allows.")
@click.option("--where", metavar="SQL", help="A predicate on the columns of the table.")
@click.option("--cascade", is_flag=True, help="Also erase from the tables of the namespace that read this one.")
@click.option("--release-savepoints", is_flag=True, help="Remove savepoints that keep files with the keys.")
@operation_options
@cluster_options
def command(
    *,
    place: Place,
    table: str,
    keys: tuple[str, ...],
    keys_from: str | None,
    where: str | None,
    cascade: bool,
    release_savepoints: bool,
    dry_run: bool,
    yes: bool,
    output: str | None,
) -> int:
    """Create the operation."""
    which: dict[str, object] = {}
    try:
        which |= {"keys": record_keys(keys)} if keys else {}
    except NotUnderstood as error:
        raise click.BadParameter(str(error), param_hint="--key") from error
    which |= {"keysFrom": {"path": keys_from}} if keys_from else {}
    which |= {"where": where} if where else {}
    if len(which) != 1:
        raise click.UsageError("say which records: give one of --key, --keys-from and --where")
    which |= {"cascade": True} if cascade else {}
    which |= {"releaseSavepoints": True} if release_savepoints else {}

    def value(_view: TableView) -> dict[str, object]:
        return which

    question = f"These records are removed from HudiTable {table} and from every file that holds them:"
    return start_operation(place, table, "erase", value, Asked(dry_run, yes, output), question=question)
