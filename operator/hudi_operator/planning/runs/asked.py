"""Whether what a run was decided for is still asked for: by its HudiSavepoint, its HudiOperation and its table."""

from hudi_jobs.contract import SavepointWork, Service
from hudi_operator.api.resources import OPERATIONS, SAVEPOINTS, HudiOperation, HudiSavepoint
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.model import Observation


def is_asked_for(job: ActiveJob, observation: Observation) -> bool:
    """Whether the resource of a run is still there, and wants what was decided; of any other run, yes."""
    if job.service is Service.OPERATION:
        return job.operation is not None and _is_operation_asked_for(job.operation, observation)
    named = job.named_savepoint
    if named is None:
        return job.service is not Service.SAVEPOINT
    found = [one.metadata for one in observation.related.get(SAVEPOINTS, ()) if isinstance(one, HudiSavepoint)]
    metadata = next((one for one in found if one.uid == named.uid), None)
    if metadata is None:
        return False
    return named.work is SavepointWork.REMOVE or metadata.deletion_timestamp is None


def _is_operation_asked_for(operation: NamedOperationJob, observation: Observation) -> bool:
    """Whether the HudiOperation of a run is there to stay, as its table is, or it has begun and must be finished."""
    if _has_begun(operation, observation):
        return True
    if observation.metadata.deletion_timestamp is not None:
        return False
    found = (one.metadata for one in observation.related.get(OPERATIONS, ()) if isinstance(one, HudiOperation))
    return any(one.uid == operation.uid and one.deletion_timestamp is None for one in found)


def withdrawal_of(job: ActiveJob, observation: Observation) -> str | None:
    """Return why nobody wants the operation of a run any more, which no earlier run has begun.

    A run that has told anything has had a pod, whatever the queue says: it may be at work in another cluster. Every
    name that the status holds is looked up, so that one which is not found is gone. One that cannot be parsed is there.
    """
    operation, told = job.operation, observation.snapshot.told
    if operation is None or _has_begun(operation, observation):
        return None
    if told is not None and (told.uid, told.run) == (operation.uid, job.name):
        return None
    if observation.metadata.deletion_timestamp is not None:
        return "The HudiTable was deleted while a queue held the Job."
    metadata = [getattr(one, "metadata", None) for one in observation.related.get(OPERATIONS, ())]
    named = [one for one in metadata if one is not None and one.name == operation.resource]
    if any(one.uid == operation.uid and one.deletion_timestamp is None for one in named):
        return None
    is_looked_up = any(one.uid == operation.uid for one in observation.table.status.operations)
    if any(one.uid for one in named) or (not named and is_looked_up):
        return "The HudiOperation was deleted while a queue held its Job."
    return None


def _has_begun(operation: NamedOperationJob, observation: Observation) -> bool:
    return any(one.begun for one in observation.table.status.operations if one.uid == operation.uid)
