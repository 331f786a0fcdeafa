"""A HudiSavepoint as its owner handles it, and the savepoints that the store shows."""

from __future__ import annotations

import re

from tests.e2e.resource import Resource
from tests.e2e.stage import Document, Table, condition_of

_SAVEPOINT = re.compile(r"/(?P<instant>\d{17})_\d{17}\.savepoint$")


class Savepoint(Resource):
    """One HudiSavepoint of a table."""

    kind = "HudiSavepoint"
    plural = "hudisavepoints"

    def wait(self, kind: str, status: str) -> Document:
        return self.wait_for(lambda found: condition_of(found, kind).get("status") == status, what=f"{kind}={status}")


def saved(table: Table) -> list[str]:
    """The commits with a savepoint, read from the store."""
    files = table.stage.store.files(f"{table.folder}/.hoodie/timeline/")
    return sorted(match["instant"] for file in files if (match := _SAVEPOINT.search(file)))
