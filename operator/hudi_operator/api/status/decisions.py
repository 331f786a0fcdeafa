"""Status of decisions on a `HudiTable`: their effects, and the answers to their HudiOperations."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.status.conditions import REASON_PATTERN
from hudi_operator.api.status.operation import OperationState
from hudi_operator.api.values.base import InstantTime, Model, Timestamp
from hudi_operator.api.values.decisions import LONGEST_OWNER, DecisionKind

DECISIONS_SHOWN = 20
LONGEST_RESCAN = 256


class DecisionAnswer(Model):
    """The table's answer to the HudiOperation of a decision, kept until the resource shows the same answer."""

    resource: Annotated[str, Field(max_length=253)]
    """The HudiOperation."""

    uid: Annotated[str, Field(max_length=64)]
    """Its uid."""

    kind: DecisionKind
    """Kind of the decision."""

    state: OperationState
    """Succeeded once recorded, Failed if refused, else Pending."""

    reason: Annotated[str, Field(pattern=REASON_PATTERN, max_length=64)]
    """Reason, as a word."""

    message: Annotated[str, Field(max_length=1024)]
    """Reason, as a sentence."""

    finished_at: Timestamp | None = None
    """When it was recorded or refused."""


class DecisionsStatus(Model):
    """Decisions of people about the table, by HudiOperations that start no Job."""

    answers: Annotated[tuple[DecisionAnswer, ...], Field(max_length=DECISIONS_SHOWN)] = ()
    """Answers that their HudiOperations do not show yet; at most 20."""

    accepted_up_to: InstantTime | None = None
    """Accepts commits of other writers that had completed by this instant."""

    take_over: Annotated[str, Field(max_length=LONGEST_OWNER)] | None = None
    """The owner from whom the table is taken over, until the record beside the table names another."""

    rescans: Annotated[
        tuple[Annotated[str, Field(max_length=LONGEST_RESCAN)], ...], Field(max_length=DECISIONS_SHOWN)
    ] = ()
    """Requests to read input once more that no run has served, the oldest first; at most 20."""
