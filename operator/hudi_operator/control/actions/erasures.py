"""The keys for the run of an erasure: read from its resource when its Job is created, and kept nowhere else."""

from collections.abc import Sequence

import structlog
from pydantic import ValidationError

from hudi_jobs.contract.operations.erase import EraseTask
from hudi_operator.api.resources import HudiOperation, HudiTable, parse_operation
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.control.keys import operation_key
from hudi_operator.control.observation.derived import list_readings, root_of
from hudi_operator.jobs.requests.erasure import build_erase_task
from hudi_operator.kube.api import KubernetesApi
from hudi_operator.planning.model import lineage_of

_log = structlog.get_logger(__name__)


class KeysLost(Exception):
    """The resource with the keys to erase is gone, or cannot be read; the message quotes nothing of it."""


async def erasure_of(
    kube: KubernetesApi,
    named: NamedOperationJob,
    table: HudiTable,
    table_class: HudiTableClassSpec,
    namespaces: Sequence[str | None],
) -> EraseTask | None:
    """Return the keys for a Job, with the tables that read this table; tables of other namespaces are only logged."""
    namespace = table.metadata.namespace
    found = await kube.get(operation_key(namespace, named.resource))
    resource = parse_operation(found) if found is not None else None
    if not isinstance(resource, HudiOperation) or resource.metadata.uid != named.uid:
        raise KeysLost(f"HudiOperation {named.resource} is gone or cannot be read, and no other place holds the keys")
    lineage = lineage_of(root_of(table), (await list_readings(kube, namespaces)).seen_from(namespace))
    if lineage.elsewhere and not resource.spec.cascades:
        _log.warning("tables of other namespaces are not erased", operation=named.resource, tables=lineage.elsewhere)
    try:
        return build_erase_task(resource, table, table_class, lineage.told_in(namespace))
    except ValidationError:  # which quotes the keys
        raise KeysLost(f"HudiOperation {named.resource} has a spec that cannot be passed to a run") from None
