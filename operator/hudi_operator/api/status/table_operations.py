"""Operations and decisions in the status of a `HudiTable`: all state that is needed to finish what has begun."""

from typing import Annotated

from pydantic import Field

from hudi_jobs.contract import NewerSavepoints, OperationKind, RepairStep, RunnableService
from hudi_operator.api.status.conditions import REASON_PATTERN
from hudi_operator.api.status.operation_status import OperationReportStatus, OperationState
from hudi_operator.api.values.base import LONGEST_OWNER, DecisionKind, InstantTime, Model, Timestamp

OPERATIONS_SHOWN = 20
ENDS_REMEMBERED = 50

LONGEST_ASKED = 8192
"""Maximum characters of a HudiOperation's request for a table service, as JSON."""


class NamedServiceRun(Model):
    """The table service that a Job runs for a HudiOperation."""

    service: RunnableService
    """The service."""

    asked: Annotated[str, Field(max_length=LONGEST_ASKED)]
    """The request of the HudiOperation, as JSON."""


class NamedRepair(Model):
    """The repair that a Job runs for a HudiOperation."""

    step: RepairStep
    """The step."""

    older_than_seconds: int | None = None
    """Age in seconds since the last change from which on a file counts as an orphan."""


class NamedOperationJob(Model):
    """Work of a Job for a HudiOperation; decided once, so every run does the same."""

    kind: OperationKind
    """Kind of the operation."""

    instant: InstantTime | None = None
    """The commit that a restore goes back to, that a rollback removes, or that a repair is about."""

    resource: Annotated[str, Field(max_length=253)]
    """The HudiOperation."""

    uid: Annotated[str, Field(max_length=64)]
    """Its uid."""

    dry_run: bool = False
    """Only report what would be done."""

    only_recorded: bool = False
    """Only finish what a run has recorded: the HudiOperation or the table was deleted."""

    newer_savepoints: NewerSavepoints = NewerSavepoints.REFUSE
    """Fate of savepoints on removed commits: Refuse or Remove."""

    reingest: bool = True
    """Read the input of removed commits again."""

    service: NamedServiceRun | None = None
    """The table service that is run."""

    repair: NamedRepair | None = None
    """The repair step."""

    table_version: int | None = None
    """The table version that an upgrade or downgrade goes to."""


class EndedOperation(Model):
    """A finished HudiOperation, remembered so that a GitOps tool that applies it again does not run it again."""

    resource: Annotated[str, Field(max_length=253)]
    """Its name."""

    uid: Annotated[str, Field(max_length=64)]
    """Its uid."""

    digest: Annotated[str, Field(max_length=64)]
    """SHA-256 over what its spec asks for."""

    state: OperationState
    """Succeeded or Failed."""

    at: Timestamp
    """When it finished."""


class TableOperation(Model):
    """Progress of a HudiOperation of the table."""

    resource: Annotated[str, Field(max_length=253)]
    """The HudiOperation."""

    uid: Annotated[str, Field(max_length=64)]
    """Its uid."""

    kind: OperationKind
    """Kind of the operation."""

    dry_run: bool = False
    """Whether the operation only reports its effects."""

    state: OperationState = OperationState.PENDING
    """Pending, AwaitingApproval, Approved, Draining, Running, Verifying, Succeeded or Failed."""

    reason: Annotated[str, Field(pattern=REASON_PATTERN, max_length=64)] = "Pending"
    """Reason, as a word."""

    message: Annotated[str, Field(max_length=1024)] = ""
    """Reason, as a sentence."""

    job: NamedOperationJob | None = None
    """Work of its Jobs; set when the first Job is decided."""

    begun: bool = False
    """Whether the table may have changed: the operator then finishes the operation even without the resource."""

    claimed: bool = False
    """Whether only the resource's own status shows a begun operation: its Jobs finish the work recorded beside the
    table, and begin nothing."""

    approval_required: bool = False
    """Whether its class has asked for an approval; a later class does not revoke the need."""

    started_at: Timestamp | None = None
    """When its first Job was decided."""

    finished_at: Timestamp | None = None
    """When its end was seen."""

    failures: int = 0
    """Runs that failed for a reason of their own."""

    infrastructure_failures: int = 0
    """Runs that failed for a reason outside of the table."""

    conflicts: int = 0
    """Runs that gave way to another writer."""

    retry_at: Timestamp | None = None
    """When the next run may begin after a failed run."""

    report: OperationReportStatus | None = None
    """Report of its last run."""

    @property
    def is_bare_claim(self) -> bool:
        """Whether the resource claims a begun operation, and the table has started no Job for it."""
        return self.claimed and self.started_at is None


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
