"""Tells who owns a table, from the record that drivers keep next to it.

Claims live in the operator's own cluster, so two operators do not see each other's. The record lives in the shared
store. While it names another operator, or a run that this operator did not start, no run starts until a person has
decided who continues.
"""

from collections.abc import Collection
from dataclasses import dataclass

from hudi_jobs.contract import OwnerRecord
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.status.parts import OwnerStatus
from hudi_operator.api.status.run import RunStatus
from hudi_operator.api.status.table import ActiveJob, HudiTableStatus
from hudi_operator.planning.model import Mark, Observation, TimelineSnapshot


@dataclass(frozen=True, kw_only=True)
class Ownership:
    """The meaning of the record: `elsewhere` says why no run may start, `remembered` is kept in the status."""

    elsewhere: str | None = None
    remembered: OwnerStatus | None = None


def check_ownership(
    observation: Observation, *, runs: Collection[RunStatus], active: Collection[ActiveJob]
) -> Ownership:
    """Return the table's ownership after this reconcile; an observed table may belong to anyone."""
    table, snapshot = observation.table, observation.snapshot
    if table.spec.management_policy is ManagementPolicy.OBSERVE:
        return Ownership()
    known = {run.job for run in runs} | {job.name for job in active} | {job.name for job in observation.jobs}
    take_over = taken_over_from(table.status)
    remembered = table.status.owner
    why = elsewhere(snapshot, operator=observation.operator, status=table.status, known=known, take_over=take_over)
    if why is not None or snapshot.trouble is not None or snapshot.owner_problem:
        return Ownership(elsewhere=why, remembered=remembered)
    record = snapshot.owner
    if record is None or record.operator != observation.operator:
        return Ownership()
    return Ownership(remembered=OwnerStatus(operator=record.operator, table=record.table, run=record.run))


def taken_over_from(status: HudiTableStatus) -> str | None:
    """Return the owner from whom a person has decided to take the table over."""
    return status.decisions.take_over if status.decisions is not None else None


def own_record(table: HudiTable) -> OwnerStatus | None:
    """Return the remembered owner record if it named this table."""
    owner = table.status.owner
    is_own = owner is not None and owner.table == f"{table.metadata.namespace}/{table.metadata.name}"
    return owner if is_own else None


def elsewhere(
    snapshot: TimelineSnapshot, *, operator: str, status: HudiTableStatus, known: Collection[str], take_over: str | None
) -> str | None:
    """Return the sentence on who owns the table and what to do, or None if this operator owns it.

    `known` are the runs this operator knows. An unknown run counts as foreign only if the status remembers the record's
    previous run: each reconcile sees everything, but the history is limited.
    """
    if snapshot.owner_problem:
        return snapshot.owner_problem
    record = snapshot.owner
    if record is None:
        return None
    if record.operator != operator:
        if take_over == record.operator:
            return None
        return (
            f"The table belongs to {record.table} of another operator, {record.operator}, and its run {record.run} "
            f"worked on the table at {record.renewed_at}. Nothing starts, because two operators would repeat each "
            "other's "
            "rows. When the other operator no longer works on the table, create a HudiOperation with takeOver: "
            f"{{owner: {record.operator!r}}}."
        )
    return _copy(record, status=status, known=known, take_over=take_over)


def is_ours(mark: Mark, observation: Observation) -> bool:
    """Tell whether a commit that names a run was made for this very table by this operator."""
    return (mark.operator, mark.table_uid) == (observation.operator, observation.table.metadata.uid)


def _copy(record: OwnerRecord, *, status: HudiTableStatus, known: Collection[str], take_over: str | None) -> str | None:
    """Detect a copy of this operator, such as one from a backup of its cluster, by a run it did not start."""
    before = status.owner
    if before is None or before.operator != record.operator:
        return None
    if record.run in {before.run, take_over} or record.run in known:
        return None
    return (
        f"The run {record.run} of {record.table} worked on the table at {record.renewed_at}, and this operator did not "
        "start it: a copy of this operator may run elsewhere, for example from a backup of its cluster. Nothing "
        "starts, because both would write the same rows. When only this operator runs, create a HudiOperation with "
        f"takeOver: {{owner: {record.run!r}}}."
    )
