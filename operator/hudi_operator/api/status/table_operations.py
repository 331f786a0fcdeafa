"""What the status of a `HudiTable` remembers of operations: all that is needed to finish one that has begun."""

from typing import Annotated

from pydantic import Field

from hudi_jobs.contract import NewerSavepoints, OperationKind, RepairStep, RunnableService
from hudi_operator.api.status.conditions import REASON_PATTERN
from hudi_operator.api.status.operation import OperationReportStatus, OperationState
from hudi_operator.api.values.base import InstantTime, Model, Timestamp

OPERATIONS_SHOWN = 20

LONGEST_ASKED = 8192
"""Characters of the JSON by which a HudiOperation asks for a table service."""


class NamedServiceRun(Model):
    """Which table service a Job runs for a HudiOperation."""

    service: RunnableService
    """The service."""

    asked: Annotated[str, Field(max_length=LONGEST_ASKED)]
    """What the HudiOperation asks for, as JSON."""


class NamedRepair(Model):
    """What a Job mends for a HudiOperation."""

    step: RepairStep
    """The step."""

    older_than_seconds: int | None = None
    """Seconds since its last change from which on a file can be an orphan."""


class NamedOperationJob(Model):
    """What a Job does for a HudiOperation: decided once, so that every run of it is to do the same."""

    kind: OperationKind
    """What is done to the table."""

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
    """What becomes of savepoints on commits that are removed."""

    reingest: bool = True
    """Read the input of removed commits again."""

    service: NamedServiceRun | None = None
    """The table service that is run."""

    repair: NamedRepair | None = None
    """What is mended."""

    table_version: int | None = None
    """The table version that an upgrade or downgrade goes to."""


class TableOperation(Model):
    """One HudiOperation of the table, as far as it has come."""

    resource: Annotated[str, Field(max_length=253)]
    """The HudiOperation."""

    uid: Annotated[str, Field(max_length=64)]
    """Its uid."""

    kind: OperationKind
    """What is done to the table."""

    dry_run: bool = False
    """Whether it only reports what would be done."""

    state: OperationState = OperationState.PENDING
    """Pending, AwaitingApproval, Approved, Draining, Running, Verifying, Succeeded or Failed."""

    reason: Annotated[str, Field(pattern=REASON_PATTERN, max_length=64)] = "Pending"
    """Reason, as one word."""

    message: Annotated[str, Field(max_length=1024)] = ""
    """Reason, as a sentence."""

    job: NamedOperationJob | None = None
    """What its Jobs do, from the decision on the first one on."""

    begun: bool = False
    """Whether the table may have been changed: then it is finished, whatever becomes of the resource."""

    claimed: bool = False
    """Whether only the resource's own status says that it has begun: its Jobs finish what is recorded beside the table,
    and begin nothing."""

    approval_required: bool = False
    """Whether its class has asked for an approval; a later class does not take that back."""

    started_at: Timestamp | None = None
    """When its first Job was decided."""

    finished_at: Timestamp | None = None
    """When its end was seen."""

    failures: int = 0
    """Runs that did not finish it for a reason of their own."""

    infrastructure_failures: int = 0
    """Runs that did not finish it for a reason outside of the table."""

    conflicts: int = 0
    """Runs that gave way to another writer."""

    retry_at: Timestamp | None = None
    """When the next run may begin, after one that did not finish it."""

    report: OperationReportStatus | None = None
    """What its last run has said."""

    @property
    def is_bare_claim(self) -> bool:
        """Whether its table has started nothing for what its resource says has begun."""
        return self.claimed and self.started_at is None
