"""The spec of a `HudiOperation`: what is done once to a table. One field for each kind, and exactly one of them."""

from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_jobs.contract import NewerSavepoints, OperationKind
from hudi_operator.api.spec.savepoint import TableReference
from hudi_operator.api.values.base import Duration, Model, Name, at_least, rules

InstantText = Annotated[str, Field(pattern=r"^[0-9]{14}([0-9]{3})?$", max_length=17)]


class RestoreSpec(Model):
    """Take the table back to a commit: every commit after it is removed."""

    instant: InstantText | None = None
    """Requested time of the commit that the table goes back to."""

    savepoint: Name | None = None
    """Name of a HudiSavepoint of the namespace, to whose commit the table goes back."""

    newer_savepoints: NewerSavepoints = NewerSavepoints.REFUSE
    """What becomes of savepoints on commits that are removed: Refuse the operation, or Remove them."""

    reingest: bool = True
    """Read the input of the removed commits again; else ingestion goes on where it was before the restore."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            ("has(self.instant) != has(self.savepoint)", "give either instant or savepoint"),
        )
    )


class RollbackSpec(Model):
    """Remove the latest commit of the table."""

    instant: InstantText
    """Requested time of the latest commit: the operation is refused when another one is the latest by then."""

    reingest: bool = True
    """Read the input of the removed commit again; else ingestion goes on where it was before the rollback."""


_KINDS = ("restore", "rollback")
_FIXED = ("dryRun", "acceptOtherWriters", "ttlAfterFinished", *_KINDS)


class OperationApproval(StrEnum):
    """Whether operations of a class wait for a person before they begin."""

    AUTOMATIC = "Automatic"
    """They begin as soon as the table is at rest."""

    MANUAL = "Manual"
    """They wait for `spec.approved: true`."""


class HudiOperationSpec(Model):
    """One operation on one table. Nothing of it can be changed but its approval."""

    table_ref: TableReference
    """The table."""

    restore: RestoreSpec | None = None
    """Take the table back to a commit."""

    rollback: RollbackSpec | None = None
    """Remove the latest commit."""

    dry_run: bool = False
    """Only find out and report what the operation would do: nothing is written, and no approval is needed."""

    accept_other_writers: bool = False
    """For an Optimistic table: say that no other writer is at work until the operation is finished."""

    approved: bool = False
    """Let the operation begin, where its class asks for approval; cannot be taken back."""

    ttl_after_finished: Duration | None = None
    """Time after its end at which the resource is deleted; it stays by default."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (f"[{', '.join(f'has(self.{kind})' for kind in _KINDS)}].exists_one(given, given)", "give one operation"),
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
                "approved cannot be taken back; delete the operation if it has not begun",
            ),
        )
    )

    @property
    def kind(self) -> OperationKind:
        """What is done to the table."""
        return OperationKind.RESTORE if self.restore is not None else OperationKind.ROLLBACK

    @property
    def instant(self) -> str | None:
        """The commit that the spec names itself."""
        if self.restore is not None:
            return self.restore.instant
        return self.rollback.instant if self.rollback is not None else None

    @property
    def newer_savepoints(self) -> NewerSavepoints:
        """What becomes of savepoints on commits that are removed."""
        return self.restore.newer_savepoints if self.restore is not None else NewerSavepoints.REFUSE

    @property
    def reingest(self) -> bool:
        """Whether the input of what is removed is read again."""
        given = self.restore or self.rollback
        return given is None or given.reingest
