"""The kinds of operations of this release: a line for each."""

from collections.abc import Mapping

from hudi_jobs.contract import OperationKind
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.facts.operations.kinds.erase import ERASE
from hudi_operator.planning.facts.operations.kinds.repair import REPAIR
from hudi_operator.planning.facts.operations.kinds.restore import RESTORE, ROLLBACK
from hudi_operator.planning.facts.operations.kinds.run_service import RUN_SERVICE
from hudi_operator.planning.facts.operations.kinds.versions import CHANGE_OF_VERSION
from hudi_operator.planning.facts.operations.operation_kind import OperationDefinition

KINDS: Mapping[OperationKind, OperationDefinition] = {
    OperationKind.RESTORE: RESTORE,
    OperationKind.ROLLBACK: ROLLBACK,
    OperationKind.ERASE: ERASE,
    OperationKind.RUN_SERVICE: RUN_SERVICE,
    OperationKind.REPAIR: REPAIR,
    OperationKind.UPGRADE: CHANGE_OF_VERSION,
    OperationKind.DOWNGRADE: CHANGE_OF_VERSION,
}


def job_of(resource: HudiOperation, table: HudiTable, instant: str | None) -> NamedOperationJob:
    """Return the work of an operation's Jobs."""
    return NamedOperationJob(
        kind=resource.spec.kind,
        instant=instant,
        resource=resource.metadata.name,
        uid=resource.metadata.uid,
        dry_run=resource.spec.dry_run,
        **KINDS[resource.spec.kind].remember(resource, table),
    )


def wording_of(job: NamedOperationJob) -> str:
    """Return the work of an operation in words; the name of its kind if a newer release has begun it."""
    known = KINDS.get(job.kind)
    return known.wording(job) if known is not None else f"operation {job.kind}"


def may_be_left(kind: OperationKind) -> bool:
    """Whether a killed run of this kind leaves the table whole."""
    known = KINDS.get(kind)
    return known is not None and known.may_be_left


def begins_beside_strangers(kind: OperationKind) -> bool:
    """Whether this kind may begin beside a pending instant of an unknown writer."""
    known = KINDS.get(kind)
    return known is not None and known.beside_strangers
