"""Builds the Job of a run that was decided, or says why that is impossible."""

from typing import Any, Protocol, TypeVar

from pydantic import ValidationError

from hudi_jobs.contract import NamedSavepoint, Service, TableOperation
from hudi_jobs.contract.operations.erase import EraseTask
from hudi_operator.api.resources import HudiTable, HudiTableClass, ObjectMetadata
from hudi_operator.api.spec.table import DeletionPolicy
from hudi_operator.api.status.runs import ActiveJob
from hudi_operator.api.status.savepoints import NamedSavepointJob
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.catalogs.registry import declared_catalog
from hudi_operator.jobs.manifest import build_job
from hudi_operator.jobs.requests.request import build_request, service_run
from hudi_operator.jobs.settings.spark_conf import build_spark_conf
from hudi_operator.jobs.sizing import size_of

_Asked = TypeVar("_Asked", NamedSavepoint, TableOperation)
_ASKED_BY: dict[type, tuple[Service, str]] = {
    NamedSavepoint: (Service.SAVEPOINT, "savepoint"),
    TableOperation: (Service.OPERATION, "operation"),
}
"""The service whose runs work for each resource, and the resource's name in messages."""


class JobRefused(Exception):
    """The Kubernetes API rejected a Job; the message is the API server's."""

    def __init__(self, job: ActiveJob, message: str) -> None:
        super().__init__(message)
        self.job = job


class Target(Protocol):
    """The table that actions are carried out on, as observed; without a spec if the spec cannot be read."""

    @property
    def metadata(self) -> ObjectMetadata:
        """The metadata of the table."""

    @property
    def table(self) -> HudiTable | None:
        """The table, if its spec can be read."""

    @property
    def table_class(self) -> HudiTableClass | None:
        """Its class, if the class can be used."""

    @property
    def entry_taken(self) -> str | None:
        """Why the table may not have its catalog entry; None if it may."""

    @property
    def operator(self) -> str:
        """The identity of the operator."""


def spark_image(table_class: HudiTableClass | None, default_image: str) -> str:
    """Return the image that runs of a table use."""
    return (table_class.spec.spark_image if table_class else None) or default_image


def build_manifest(
    target: Target, job: ActiveJob, *, default_image: str, erase: EraseTask | None = None
) -> dict[str, Any]:
    """Return the manifest of a decided Job; `erase` holds an erasure's keys, which are in no status.

    A status alone never removes data: the table must be deleted, and its spec must ask for the removal.
    """
    table = target.table
    if table is None:
        raise JobRefused(job, "the table's spec is not valid")
    if job.service is Service.DELETION and not (
        table.metadata.deletion_timestamp and table.spec.deletion_policy is DeletionPolicy.DELETE
    ):
        raise JobRefused(job, "neither the spec nor the deletion of the table asks for the removal of its data")
    if job.service is None:
        raise JobRefused(job, "this version of the operator does not know its service")
    if job.service is Service.INGESTION and table.spec.ingestion is None:
        raise JobRefused(job, "the table's spec has no ingestion")
    if target.table_class is None:
        raise JobRefused(job, "the table's class is not known")
    table_class = target.table_class.spec
    if job.service is Service.CATALOG and (target.entry_taken or declared_catalog(table, table_class) is None):
        raise JobRefused(job, target.entry_taken or "the table's spec has no catalog, or its class does not name one")
    sizing = size_of(job, table.spec, table_class)
    image = spark_image(target.table_class, default_image)
    conf = build_spark_conf(
        spec=table.spec,
        table_class=table_class,
        sizing=sizing,
        run=job.name,
        namespace=table.metadata.namespace,
        image=image,
        goes_on=job.service is Service.INGESTION and table.spec.continues,
    )
    request = build_request(
        table=table,
        table_class=table_class,
        service=job.service,
        run=job.name,
        spark_conf=conf,
        operator=target.operator,
        syncs_catalog=target.entry_taken is None,
        run_mode=job.run_mode,
        instant=job.instant,
        abandoned=job.abandoned,
        dead=job.dead or (),
        savepoint=job.savepoint,
        taken_over_at=job.taken_over_at,
        named_savepoint=_asked(NamedSavepoint, job.named_savepoint, table, job),
        operation=_asked(TableOperation, job.operation, table, job, erase=erase),
        inside=job.inside,
    )
    return build_job(
        table=table,
        table_class=table_class,
        request=request,
        sizing=sizing,
        image=image,
        class_name=target.table_class.metadata.name,
        attempt=job.attempt,
        base_instant=job.base_instant,
        decided_at=job.started_at,
        generation=job.generation,
        class_version=job.live.class_version if job.live is not None else None,
    )


def _asked(
    kind: type[_Asked],
    decided: NamedSavepointJob | NamedOperationJob | None,
    table: HudiTable,
    job: ActiveJob,
    **told: object,
) -> _Asked | None:
    """Return the resource that a run works for, from the status's fields and the keyword arguments.

    Raises `JobRefused` if the status lacks it.
    """
    service, what = _ASKED_BY[kind]
    if decided is None:
        if job.service is service:
            raise JobRefused(job, f"the status does not say which {what} it is for")
        return None
    try:
        told["resource"] = f"{table.metadata.namespace}/{decided.resource}"
        if isinstance(decided, NamedOperationJob) and decided.service is not None:
            told["service"] = service_run(table.spec, decided.service)
        return kind.model_validate(decided.model_dump() | told)
    except ValidationError as error:
        raise JobRefused(job, f"the status has no valid data on its {what}") from error
