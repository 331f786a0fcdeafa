"""What drivers do against each defect; a rule that is switched off is the defect put back in."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Rules:
    """What the drivers of the model do. All true is what `spark_jobs` does."""

    ingestion_holds_lease: bool = True
    """In a Serialized table ingestion holds the table's lease, as services do, and is ended when it has lost it."""

    rereads_checkpoint: bool = True
    """The newest checkpoint is read again under the lease, just before the write."""

    guards_clock: bool = True
    """A writer waits, or refuses, while its clock is behind the newest instant of the table."""

    writes_in_table_zone: bool = True
    """A writer names its instants in the zone in which the table's are named."""

    orders_checkpoints: bool = True
    """The newest checkpoint is the one with the highest number, whatever clock its commit was made by."""

    records_files: bool = True
    """What has been read is told by the record of every file, not by a time below which everything counts as read."""

    knows_owner: bool = True
    """A driver leaves a table alone that the store says belongs to another operator."""

    leaves_live_plans: bool = True
    """In an Optimistic table a driver neither executes nor rolls back a plan whose maker lives."""


MENDED = Rules()
NONE = Rules(**dict.fromkeys(Rules.__dataclass_fields__, False))
