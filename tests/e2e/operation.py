"""A HudiOperation as its owner handles it."""

from __future__ import annotations

from tests.e2e.resource import Resource
from tests.e2e.stage import PATIENCE, Document


class Operation(Resource):
    """One HudiOperation of a table."""

    kind = "HudiOperation"
    plural = "hudioperations"

    def wait(self, phase: str, *, runs: int = 1) -> Document:
        """Wait for a phase that comes after so many runs, one after the other."""
        return self.wait_for(lambda found: found.get("phase") == phase, what=phase, seconds=runs * PATIENCE)

    def approve(self) -> None:
        self.patch(approved=True)
