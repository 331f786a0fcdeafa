"""Reads of tables and their HudiOperations that several commands share."""

from typing import TYPE_CHECKING

import click

from hudi_jobs.contract.wording import escaped
from hudi_operator.cli.base.cluster import Failed
from hudi_operator.cli.render.view import TableView
from hudi_operator.kube.errors import Rejected
from hudi_operator.kube.keys import TABLE, operation_key, table_key, table_named_by

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient
    from hudi_operator.kube.transport import Document


async def table_of(client: "PersonClient", name: str) -> TableView:
    """Return a table of the namespace; raises `Failed` where there is none."""
    document = await client.get(table_key(client.namespace, name))
    if document is None:
        raise Failed(f"There is no HudiTable {name} in namespace {client.namespace}.")
    return TableView.of(document)


async def tables_of(
    client: "PersonClient", *, everywhere: bool = False, selector: str | None = None
) -> list[TableView]:
    """Return the tables of the namespace or the cluster, by their labels."""
    try:
        documents = await client.list(TABLE, None if everywhere else client.namespace, label_selector=selector)
    except Rejected as error:
        if selector is None:
            raise
        raise click.BadParameter(escaped(str(error)), param_hint="--selector") from error
    return [TableView.of(one) for one in documents]


async def operation_of(client: "PersonClient", table: str, name: str) -> "Document":
    """Return a HudiOperation of a table; raises `Failed` where the table has none of this name."""
    document = await client.get(operation_key(client.namespace, name))
    key = table_named_by(document)
    if document is None or key is None or key.name != table:
        raise Failed(f"There is no HudiOperation {name} of HudiTable {table} in namespace {client.namespace}.")
    return document
