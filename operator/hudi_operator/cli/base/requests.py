"""Requests a run of a table by an annotation."""

import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hudi_operator.api.resources import REQUESTED_AT_ANNOTATION
from hudi_operator.cli.base.app import program
from hudi_operator.cli.base.cluster import Place, in_cluster
from hudi_operator.cli.render.request import requested_at
from hudi_operator.cli.render.text import Document, qualified_name
from hudi_operator.kube.keys import table_key

if TYPE_CHECKING:
    from hudi_operator.kube.person import PersonClient


def request_run(place: Place, table: str, *, dry_run: bool) -> int:
    """Request a run of a table: its failures count from zero, and every service that is due may start."""

    async def write(client: "PersonClient") -> Document:
        value = {REQUESTED_AT_ANNOTATION: requested_at(datetime.now(UTC))}
        return await client.annotate(table_key(client.namespace, table), value, dry_run=dry_run)

    document = in_cluster(place, write)
    done = "would be asked" if dry_run else "asked"
    print(f"{qualified_name(document)} {done} for a run (annotation {REQUESTED_AT_ANNOTATION})")
    print(f"Watch it with: {program()} explain {table} -n {document['metadata']['namespace']}", file=sys.stderr)
    return 0
