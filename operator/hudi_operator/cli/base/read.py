"""Reads of one table that several commands share."""

from typing import TYPE_CHECKING

from hudi_operator.cli.base.cluster import Failed
from hudi_operator.cli.render.view import TableView
from hudi_operator.control.keys import table_key

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient


async def table_of(client: "PersonClient", name: str) -> TableView:
    """Return a table of the namespace; raises `Failed` where there is none."""
    document = await client.get(table_key(client.namespace, name))
    if document is None:
        raise Failed(f"There is no HudiTable {name} in namespace {client.namespace}.")
    return TableView.of(document)
