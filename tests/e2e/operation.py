"""A HudiOperation as its owner handles it."""

from __future__ import annotations

from dataclasses import dataclass

from tests.e2e.stage import Document, Table


@dataclass
class Operation:
    """One HudiOperation of a table."""

    table: Table
    name: str

    def apply(self, **spec: object) -> None:
        self.table.apply_another("HudiOperation", self.name, **spec)

    def status(self) -> Document:
        found = self.table.stage.cluster.get("hudioperations", self.name, namespace=self.table.namespace)
        return (found or {}).get("status") or {}

    def wait(self, phase: str) -> Document:
        def look() -> Document | None:
            found = self.status()
            return found if found.get("phase") == phase else None

        def explain() -> str:
            return f"{self.status()}\n{self.table.explain()}"

        found: Document = self.table.stage.eventually(look, what=f"{self.name}: {phase}", explain=explain)
        return found

    def approve(self) -> None:
        self.table.kubectl("patch", "hop", self.name, "--type=merge", '--patch={"spec":{"approved":true}}')
