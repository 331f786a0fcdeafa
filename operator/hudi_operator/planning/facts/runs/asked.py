"""Tells whether a decided run is still requested by its HudiSavepoint, its HudiOperation and its table."""

from hudi_jobs.contract import SavepointWork, Service
from hudi_operator.api.resources import ObjectMetadata
from hudi_operator.api.status.table import ActiveJob
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.model import Observation


def is_asked_for(job: ActiveJob, observation: Observation) -> bool:
    """Whether a run's resource exists and still wants the decided work; True for runs without a resource."""
    if job.service is Service.OPERATION:
        return job.operation is not None and _is_operation_asked_for(job.operation, observation)
    named = job.named_savepoint
    if named is None:
        return job.service is not Service.SAVEPOINT
    found = (one.metadata for one in observation.related.savepoints)
    metadata = next((one for one in found if one.uid == named.uid), None)
    if metadata is None:
        return False
    return named.work is SavepointWork.REMOVE or metadata.deletion_timestamp is None


def _is_operation_asked_for(operation: NamedOperationJob, observation: Observation) -> bool:
    return operation.only_recorded or is_wanted(operation.uid, observation)


def is_wanted(uid: str, observation: Observation) -> bool:
    """Whether an operation's resource exists and is not being deleted, even if unparsable; likewise its table."""
    metadata = operation_metadata(uid, observation)
    is_there = metadata is not None and metadata.deletion_timestamp is None
    return is_there and observation.metadata.deletion_timestamp is None


def operation_metadata(uid: str, observation: Observation) -> ObjectMetadata | None:
    """Return the metadata of an operation's resource, even if the rest cannot be parsed."""
    return next((each for each in observation.related.metadata_of_operations() if each.uid == uid), None)


def withdrawal_of(job: ActiveJob, observation: Observation) -> str | None:
    """Return why an operation's run, if it started now, would be unwanted; None if it is wanted.

    A record of an earlier run's start may be mere doubt: the next run only finishes what a record shows. A run that has
    reported anything had a pod, whatever the queue says: it may be running in another cluster. Every name in the status
    is looked up, so a missing operation is gone. An unparsable operation exists.
    """
    operation, told = job.operation, observation.snapshot.told
    if operation is None or operation.only_recorded:
        return None
    if told is not None and (told.uid, told.run) == (operation.uid, job.name):
        return None
    if observation.metadata.deletion_timestamp is not None:
        return "The HudiTable was deleted while a queue held the Job."
    if is_wanted(operation.uid, observation):
        return None
    named = [one for one in observation.related.metadata_of_operations() if one.name == operation.resource]
    is_looked_up = any(one.uid == operation.uid for one in observation.table.status.operations)
    if any(one.uid for one in named) or (not named and is_looked_up):
        return "The HudiOperation was deleted while a queue held its Job."
    return None
