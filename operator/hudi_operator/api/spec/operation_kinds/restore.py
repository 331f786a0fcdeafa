"""The specs of a restore and a rollback."""

from pydantic import ConfigDict

from hudi_jobs.contract import NewerSavepoints
from hudi_operator.api.values.base import InstantText, Model, Name, rules


class RestoreSpec(Model):
    """Take the table back to a commit: every commit after it is removed."""

    instant: InstantText | None = None
    """Requested time of the commit that the table goes back to."""

    savepoint: Name | None = None
    """Name of a HudiSavepoint of the namespace; the table goes back to its commit."""

    newer_savepoints: NewerSavepoints = NewerSavepoints.REFUSE
    """Savepoints on removed commits: Refuse the operation, or Remove them."""

    reingest: bool = True
    """Read the input of the removed commits again; otherwise ingestion continues where it was before the restore."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            ("has(self.instant) != has(self.savepoint)", "exactly one of instant and savepoint must be set"),
        )
    )


class RollbackSpec(Model):
    """Remove the latest commit of the table."""

    instant: InstantText
    """Requested time of the latest commit: the operation is refused if another commit is the latest by then."""

    reingest: bool = True
    """Read the input of the removed commit again; otherwise ingestion continues where it was before the rollback."""
