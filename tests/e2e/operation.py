"""A HudiOperation as its owner handles it."""

from __future__ import annotations

from tests.e2e.resource import Resource
from tests.e2e.stage import PATIENCE, Document

from hudi_operator.api.status.operation_status import HudiOperationStatus


def state_of(status: Document) -> str:
    """How far an operation has come, by its conditions."""
    return HudiOperationStatus.model_validate(status).state


class Operation(Resource):
    """One HudiOperation of a table."""

    kind = "HudiOperation"
    plural = "hudioperations"

    def wait(self, state: str, *, runs: int = 1) -> Document:
        """Wait for a state that comes after so many runs, one after the other."""
        return self.wait_for(lambda found: state_of(found) == state, what=state, seconds=runs * PATIENCE)

    @staticmethod
    def reason(status: Document) -> str | None:
        """The reason of the condition Ready."""
        return HudiOperationStatus.model_validate(status).reason

    def approve(self) -> None:
        self.patch(approved=True)
