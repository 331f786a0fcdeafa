"""Action: what a plan asks for, each step such that doing it again changes nothing."""

from typing import Any

import structlog

from hudi_operator.api.table_status import ActiveJob
from hudi_operator.jobs.manifest import build_job
from hudi_operator.jobs.names import MANAGED_BY, MANAGED_BY_LABEL, TABLE_UID_LABEL
from hudi_operator.jobs.request import build_request
from hudi_operator.jobs.sizing import resolve_sizing
from hudi_operator.jobs.spark_conf import build_spark_conf
from hudi_operator.kube.client import KubernetesClient
from hudi_operator.kube.errors import AlreadyExists, Forbidden, NotFound, Rejected
from hudi_operator.planning.decide import spark_image
from hudi_operator.planning.model import Action, Observation, StopJob

_log = structlog.get_logger(__name__)


class JobRefused(Exception):
    """The Kubernetes API does not accept a Job; the message is the API server's own."""

    def __init__(self, job: ActiveJob, message: str) -> None:
        super().__init__(message)
        self.job = job


class Actor:
    """Carries out actions in the Kubernetes API."""

    def __init__(self, *, kube: KubernetesClient, default_image: str) -> None:
        self._kube = kube
        self._default_image = default_image

    async def act(self, observation: Observation, action: Action) -> None:
        """Carry out one action; raise `JobRefused` when a Job is not accepted."""
        if isinstance(action, StopJob):
            namespace = observation.table.metadata.namespace
            await self._kube.delete_job(namespace, action.job.name, uid=action.uid)
            _log.info("job stopped", job=action.job.name, state=action.job.state)
            return
        await self._create(observation, action.job)

    async def _create(self, observation: Observation, job: ActiveJob) -> None:
        metadata = observation.table.metadata
        manifest = build_manifest(observation, job, default_image=self._default_image)
        try:
            await self._kube.create_job(metadata.namespace, manifest)
        except AlreadyExists:
            await self._adopt(observation, job)
        except (Forbidden, Rejected, NotFound) as error:
            raise JobRefused(job, str(error)) from error
        else:
            _log.info("job created", job=job.name, service=job.service, attempt=job.attempt)

    async def _adopt(self, observation: Observation, job: ActiveJob) -> None:
        """Accept that a Job of this name exists, if it is this table's: the reply to an earlier creation was lost."""
        metadata = observation.table.metadata
        existing = await self._kube.get_job(metadata.namespace, job.name)
        labels = (existing or {}).get("metadata", {}).get("labels") or {}
        if labels.get(MANAGED_BY_LABEL) != MANAGED_BY or labels.get(TABLE_UID_LABEL) != metadata.uid:
            raise JobRefused(job, f"another Job named {job.name} exists that is not this table's; remove it")


def build_manifest(observation: Observation, job: ActiveJob, *, default_image: str) -> dict[str, Any]:
    """Return the manifest of a decided Job."""
    table = observation.table
    if observation.table_class is None:
        raise JobRefused(job, "the table's class is not known")
    table_class = observation.table_class.spec
    sizing = resolve_sizing(table.spec, table_class, driver_memory=job.driver_memory)
    image = spark_image(observation, default_image)
    conf = build_spark_conf(
        spec=table.spec,
        table_class=table_class,
        sizing=sizing,
        run=job.name,
        namespace=table.metadata.namespace,
        image=image,
    )
    request = build_request(table=table, table_class=table_class, service=job.service, run=job.name, spark_conf=conf)
    return build_job(
        table=table,
        table_class=table_class,
        request=request,
        sizing=sizing,
        image=image,
        class_name=observation.table_class.metadata.name,
        attempt=job.attempt,
        base_instant=job.base_instant,
    )
