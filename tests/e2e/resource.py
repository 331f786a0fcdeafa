"""A resource that names a table, as the owner of both handles it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from tests.e2e.stage import PATIENCE, Document, Table


@dataclass
class Resource:
    """One resource of a kind that names a table."""

    kind: ClassVar[str]
    plural: ClassVar[str]

    table: Table
    name: str

    def apply(self, **spec: object) -> None:
        self.table.apply_another(self.kind, self.name, **spec)

    def patch(self, **spec: object) -> None:
        self.table.kubectl("patch", self.plural, self.name, "--type=merge", "-p", json.dumps({"spec": spec}))

    def document(self) -> Document:
        """The resource, empty where there is none."""
        return self.table.stage.cluster.get(self.plural, self.name, namespace=self.table.namespace) or {}

    def status(self) -> Document:
        return self.document().get("status") or {}

    def wait_for(self, is_as_expected: Callable[[Document], bool], *, what: str, seconds: float = PATIENCE) -> Document:
        """Wait until the status is as expected, and return it."""

        def look() -> Document | None:
            found = self.status()
            return found if is_as_expected(found) else None

        def explain() -> str:
            return f"{self.status()}\n{self.table.explain()}"

        found: Document = self.table.stage.eventually(
            look, what=f"{self.name}: {what}", seconds=seconds, explain=explain
        )
        return found

    def delete(self) -> None:
        """Delete the resource and wait until it is gone."""
        self.table.kubectl("delete", self.plural, self.name, "--wait=false")
        self.table.stage.eventually(
            lambda: not self.document(), what=f"{self.name} is gone", explain=self.table.explain
        )
