"""The spec of a `HudiOperation`: the work that is done once on a table, with exactly one field for its kind.

A decision starts no Job: its table records the decision once, beside all operations.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Self

from pydantic import ConfigDict, Field, WithJsonSchema, model_validator

from hudi_jobs.contract import OperationKind
from hudi_jobs.contract.operations.erase import LONGEST_REQUESTER
from hudi_operator.api.spec.operation_kinds.decisions import (
    DECISION_FIELDS,
    AcceptCommitsSpec,
    AcknowledgeBadRowsSpec,
    RescanSpec,
    TakeOverSpec,
)
from hudi_operator.api.spec.operation_kinds.erase import EraseSpec
from hudi_operator.api.spec.operation_kinds.repair import RepairSpec
from hudi_operator.api.spec.operation_kinds.restore import RestoreSpec, RollbackSpec
from hudi_operator.api.spec.operation_kinds.run_service import RunServiceSpec
from hudi_operator.api.spec.operation_kinds.versions import DowngradeSpec, UpgradeSpec
from hudi_operator.api.spec.savepoint import TableReference
from hudi_operator.api.values.base import DecisionKind, Duration, Model, at_least, exactly_one, given_fields, rules

OPERATION_FIELDS: Mapping[OperationKind, str] = {
    OperationKind.RESTORE: "restore",
    OperationKind.ROLLBACK: "rollback",
    OperationKind.ERASE: "erase",
    OperationKind.RUN_SERVICE: "runService",
    OperationKind.REPAIR: "repair",
    OperationKind.UPGRADE: "upgrade",
    OperationKind.DOWNGRADE: "downgrade",
}
"""The field of the spec for each kind of operation."""

AllowedKind = Annotated[OperationKind, WithJsonSchema({"type": "string", "enum": [*map(str, OPERATION_FIELDS)]})]
"""A kind that a class may allow; a kind of a later release cannot be allowed beforehand."""

CHOICES = (*OPERATION_FIELDS.values(), *DECISION_FIELDS.values())
"""The fields of the spec of which exactly one is given."""

_FIXED = ("dryRun", "acceptOtherWriters", "ttlAfterFinished", "requestedBy", *CHOICES)
_DECIDES = " || ".join(f"has(self.{field})" for field in DECISION_FIELDS.values())


class OperationApproval(StrEnum):
    """Whether operations of a class wait for a person before they begin."""

    AUTOMATIC = "Automatic"
    """Operations begin as soon as no Job of the table runs."""

    MANUAL = "Manual"
    """Operations wait for `spec.approved: true`."""


class HudiOperationSpec(Model):
    """An operation on a table. Only its approval can be changed."""

    table_ref: TableReference
    """The table."""

    restore: RestoreSpec | None = None
    """Take the table back to a commit."""

    rollback: RollbackSpec | None = None
    """Remove the latest commit."""

    erase: EraseSpec | None = None
    """Remove records, and every file that holds them."""

    run_service: RunServiceSpec | None = None
    """Run a table service once."""

    repair: RepairSpec | None = None
    """Repair a fault that keeps the table from working."""

    upgrade: UpgradeSpec | None = None
    """Take the table to a newer table version of Hudi."""

    downgrade: DowngradeSpec | None = None
    """Take the table to an older table version of Hudi."""

    rescan: RescanSpec | None = None
    """Decide that input is read once more."""

    accept_commits: AcceptCommitsSpec | None = None
    """Decide that commits of other writers on a Serialized table are accepted."""

    take_over: TakeOverSpec | None = None
    """Decide that the table is taken over from another operator."""

    acknowledge_bad_rows: AcknowledgeBadRowsSpec | None = None
    """Decide that the quarantined rows so far need no more attention."""

    dry_run: bool = False
    """Only report what the operation would do: nothing is written, and no approval is needed."""

    accept_other_writers: bool = False
    """For an Optimistic table: confirm that no other writer works on the table until the operation is finished."""

    approved: bool = False
    """Let the operation begin, where its class requires approval; cannot be revoked."""

    requested_by: Annotated[str, Field(min_length=1, max_length=LONGEST_REQUESTER)] | None = None
    """Name of the requester, as the API server knows it; a policy of the chart lets the server accept no other name."""

    ttl_after_finished: Duration | None = None
    """Time after its end at which the resource is deleted; without it the resource is kept."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            exactly_one(CHOICES, "exactly one operation or decision must be set"),
            (
                f"!(has(self.dryRun) && self.dryRun) || !({_DECIDES})",
                "a decision has no dryRun: it writes nothing to the table",
            ),
            at_least("ttlAfterFinished", "1m"),
            ("self.tableRef == oldSelf.tableRef", "tableRef cannot be changed; create another operation"),
            *(
                (
                    f"has(self.{field}) == has(oldSelf.{field}) && (!has(self.{field}) || "
                    f"self.{field} == oldSelf.{field})",
                    f"{field} cannot be changed; create another operation",
                )
                for field in _FIXED
            ),
            (
                "!(has(oldSelf.approved) && oldSelf.approved) || (has(self.approved) && self.approved)",
                "approved cannot be revoked; delete the operation if it has not begun",
            ),
        )
    )

    @model_validator(mode="after")
    def _is_known(self) -> Self:
        """Refuse a kind of a newer release, beside the rule of the CRD."""
        if len(given_fields(self, OPERATION_FIELDS)) + len(given_fields(self, DECISION_FIELDS)) != 1:
            raise ValueError("exactly one operation or decision that this release knows must be set")
        return self

    @property
    def cascades(self) -> bool:
        """Whether the operation continues on the tables that read this table."""
        return self.erase is not None and self.erase.cascade

    @property
    def decision(self) -> DecisionKind | None:
        """The decision of a person, if the resource starts no Job."""
        return next(iter(given_fields(self, DECISION_FIELDS)), None)

    @property
    def kind(self) -> OperationKind:
        """The kind of the operation. Raises `StopIteration` for a decision, which is no operation."""
        return next(iter(given_fields(self, OPERATION_FIELDS)))

    @property
    def instant(self) -> str | None:
        """The commit that the spec itself names."""
        given = self.restore or self.rollback or self.repair
        return given.instant if given is not None else None
