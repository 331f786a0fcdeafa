"""What write commands share: options, confirmation, the creation of a HudiOperation, and how to watch it."""

import secrets
import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.base.app import combined, program
from hudi_operator.cli.base.cluster import Place, in_cluster
from hudi_operator.cli.base.read import table_of
from hudi_operator.cli.render.request import NotUnderstood, operation
from hudi_operator.cli.render.text import qualified_name, value_as
from hudi_operator.cli.render.view import TableView
from hudi_operator.kube.keys import OPERATION

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient


class Asked(NamedTuple):
    """Options of a command that creates a HudiOperation."""

    dry_run: bool
    yes: bool
    output: str | None


def operation_options(function: Callable[..., int]) -> Callable[..., int]:
    """Declare `--dry-run`, `--yes` and `-o` of a command that creates a HudiOperation."""
    return combined(
        click.option("--dry-run", is_flag=True, help="Only have the operator report what would be done (spec.dryRun)."),
        click.option("--yes", is_flag=True, help="Do not ask before something that cannot be undone."),
        click.option(
            "-o", "--output", type=click.Choice(["json", "yaml"]), help="Print the HudiOperation, and create nothing."
        ),
    )(function)


def suffix() -> str:
    """Return random letters that make the name of an operation new."""
    return secrets.token_hex(3)


def confirm(*lines: str, yes: bool) -> None:
    """Ask, below some lines, whether to go on; raises `Abort` for a no, and a usage error without a terminal."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise click.UsageError("there is no terminal to ask: add --yes if you mean it, or --dry-run")
    for line in lines:
        print(escaped(line), file=sys.stderr)
    click.confirm("Go on?", abort=True, err=True)


def start_operation(
    place: Place,
    table: str,
    field: str,
    value: Callable[[TableView], Mapping[str, Any]],
    asked: Asked,
    *,
    question: str | None = None,
) -> int:
    """Create a HudiOperation on a table with `value` in its field; `question` is asked before.

    `value` raises `NotUnderstood` for arguments that name nothing.
    """
    must_ask = question is not None and not asked.dry_run and not asked.yes

    async def create(client: "PersonClient", manifest: dict[str, Any]) -> None:
        await client.create(OPERATION, manifest["metadata"]["namespace"], manifest)

    async def prepare(client: "PersonClient") -> dict[str, Any]:
        manifest = await _manifest(client, table, field, value, dry_run=asked.dry_run)
        if asked.output is None and not must_ask:
            await create(client, manifest)
        return manifest

    manifest = in_cluster(place, prepare)
    if asked.output is not None:
        print(value_as(manifest, asked.output))
        return 0
    if must_ask:
        confirm(question or "", *value_as(manifest["spec"][field], "yaml").splitlines(), yes=False)
        # A second connection, because a running event loop keeps Ctrl-C from the question.
        in_cluster(place, lambda client: create(client, manifest))
    print_created(manifest)
    return 0


async def _manifest(
    client: "PersonClient",
    table: str,
    field: str,
    value: Callable[[TableView], Mapping[str, Any]],
    *,
    dry_run: bool,
) -> dict[str, Any]:
    view = await table_of(client, table)
    try:
        chosen = value(view)
    except NotUnderstood as error:
        raise click.UsageError(str(error)) from error
    return operation(view, field, chosen, suffix=suffix(), who=await client.who_am_i(), dry_run=dry_run)


def print_created(manifest: Mapping[str, Any]) -> None:
    """Print the name of a HudiOperation, and how to watch it."""
    metadata, table = manifest["metadata"], manifest["spec"]["tableRef"]["name"]
    print(f"{qualified_name(manifest)} created")
    print(
        f"Watch it with: {program()} wait {table} -n {metadata['namespace']} --operation {metadata['name']}",
        file=sys.stderr,
    )
