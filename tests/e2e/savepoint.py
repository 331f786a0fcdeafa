"""A HudiSavepoint as its owner handles it, and the savepoints that the store shows."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from tests.e2e.stage import Document, Table, condition_of

_SAVEPOINT = re.compile(r"/(?P<instant>\d{17})_\d{17}\.savepoint$")


@dataclass
class Savepoint:
    """One HudiSavepoint of a table."""

    table: Table
    name: str

    def apply(self, **spec: object) -> None:
        self.table.apply_another("HudiSavepoint", self.name, **spec)

    def patch(self, **spec: object) -> None:
        self.table.kubectl("patch", "hsp", self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def status(self) -> Document:
        return self.document().get("status") or {}

    def document(self) -> Document:
        return self.table.stage.cluster.get("hudisavepoints", self.name, namespace=self.table.namespace) or {}

    def wait(self, kind: str, status: str) -> Document:
        def look() -> Document | None:
            found = self.status()
            return found if condition_of(found, kind).get("status") == status else None

        what = f"{self.name}: {kind}={status}"
        found: Document = self.table.stage.eventually(look, what=what, explain=self.table.explain)
        return found

    def delete(self) -> None:
        """Delete the resource and wait until it is gone."""
        self.table.kubectl("delete", "hsp", self.name, "--wait=false")
        self.table.stage.eventually(
            lambda: not self.document(), what=f"{self.name} is gone", explain=self.table.explain
        )


def saved(table: Table) -> list[str]:
    """The commits with a savepoint, read from the store."""
    files = table.stage.store.files(f"{table.folder}/.hoodie/timeline/")
    return sorted(match["instant"] for file in files if (match := _SAVEPOINT.search(file)))
