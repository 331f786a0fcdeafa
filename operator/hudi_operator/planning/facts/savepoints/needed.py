"""Finds the savepoints that unfinished restores need: neither expiry nor schedules remove them."""

from collections.abc import Mapping

from hudi_operator.api.status.operation import FINISHED
from hudi_operator.planning.model import Observation


def needed_by_restores(observation: Observation) -> Mapping[str, str]:
    """Return the HudiOperation for each needed savepoint, keyed by its HudiSavepoint's name or its commit."""
    finished = {one.uid for one in observation.table.status.operations if one.state in FINISHED}
    restores = (
        (one.metadata, one.spec.restore)
        for one in observation.related.operations
        if one.metadata.uid not in finished and one.status.state not in FINISHED and not one.spec.dry_run
    )
    return {
        restore.savepoint or restore.instant or "": metadata.name
        for metadata, restore in restores
        if restore is not None and metadata.deletion_timestamp is None
    }
