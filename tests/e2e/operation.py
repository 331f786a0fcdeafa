"""A HudiOperation as its owner handles it."""

from __future__ import annotations

from tests.e2e.resource import Resource
from tests.e2e.stage import Document


class Operation(Resource):
    """One HudiOperation of a table."""

    kind = "HudiOperation"
    plural = "hudioperations"

    def wait(self, phase: str) -> Document:
        return self.wait_for(lambda found: found.get("phase") == phase, what=phase)

    def approve(self) -> None:
        self.patch(approved=True)
