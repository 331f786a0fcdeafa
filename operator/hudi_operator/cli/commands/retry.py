"""`kubectl hudi retry`: tries again what has failed."""

from typing import TYPE_CHECKING, Any

import click

from hudi_operator.api.resources import parse_operation
from hudi_operator.api.status.operation_status import OperationState
from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.cluster import Failed, Place, cluster_options, in_cluster, table_argument
from hudi_operator.cli.base.exit_codes import WRITE_CODES
from hudi_operator.cli.base.object_names import ObjectName
from hudi_operator.cli.base.read import operation_of
from hudi_operator.cli.base.requests import request_run
from hudi_operator.cli.base.write import print_created, suffix
from hudi_operator.cli.render.request import repeated
from hudi_operator.cli.render.view import operation_status
from hudi_operator.kube.keys import OPERATION

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient


@declare(
    details="Services of the table count their failures from zero and are tried now.\n\n"
    "A HudiOperation that has failed is asked for again under a new name, and needs a new approval.",
    examples=["retry orders", "retry orders --operation orders-restore-1a2b3c -n team-a"],
    exit_codes=WRITE_CODES,
)
@table_argument()
@click.option(
    "--operation", type=ObjectName(), metavar="NAME", help="Repeat this HudiOperation of the table, which has failed."
)
@click.option("--dry-run", is_flag=True, help="Only have the API server check the request.")
@cluster_options
def command(*, place: Place, table: str, operation: str | None, dry_run: bool) -> int:
    """Request another attempt."""
    if operation is None:
        return request_run(place, table, dry_run=dry_run)
    manifest = in_cluster(place, lambda client: _repeat(client, table, operation, dry_run=dry_run))
    print_created(manifest)
    return 0


async def _repeat(client: "PersonClient", table: str, name: str, *, dry_run: bool) -> dict[str, Any]:
    document = await operation_of(client, table, name)
    state = operation_status(parse_operation(document)).state
    if state is not OperationState.FAILED:
        raise Failed(f"HudiOperation {name} is {state}: only a failed operation is repeated.")
    manifest = repeated(document, suffix=suffix(), who=await client.who_am_i())
    await client.create(OPERATION, client.namespace, manifest, dry_run=dry_run)
    return manifest
