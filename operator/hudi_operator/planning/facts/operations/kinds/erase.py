"""An erasure: its keys are in the resource and in the request of its Job, never in status."""

from collections.abc import Mapping
from typing import Any

from hudi_jobs.contract import Location
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.facts.operations.cascade import cascade_problem
from hudi_operator.planning.facts.operations.operation_kind import (
    Answer,
    OperationDefinition,
    fails,
    waits,
    waits_for_table,
)
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason
from hudi_operator.planning.policy.class_policy import is_allowed

MOST_BYTES = 128 * 1024
"""The most bytes of listed keys: the request of a Job is an annotation of its pod."""


def _admit(resource: HudiOperation, observation: Observation) -> Answer | None:
    erase, table_class = resource.spec.erase, observation.table_class
    if erase is None or table_class is None:
        return waits(OperationReason.PENDING, "The table's class is not known.")
    if observation.snapshot.timeline is None:
        return waits_for_table(observation)
    fields = set(observation.table.spec.record_key)
    if any(set(key) != fields for key in erase.keys or ()):
        named = ", ".join(sorted(fields))
        return fails(OperationReason.REFUSED, f"Each key needs exactly the fields {named}. Nothing was changed.")
    size = sum(len(name.encode()) + len(value.encode()) for key in erase.keys or () for name, value in key.items())
    if size > MOST_BYTES:
        message = f"The keys have {size:,} bytes; the limit is {MOST_BYTES:,}. Use keysFrom. Nothing was changed."
        return fails(OperationReason.REFUSED, message)
    prefixes = table_class.spec.allowed_source_paths
    namespace = resource.metadata.namespace
    if erase.keys_from is not None and not is_allowed(
        Location.parse_or_none(erase.keys_from.path), prefixes, namespace=namespace
    ):
        return waits(
            OperationReason.NOT_ALLOWED,
            f"The HudiTableClass {table_class.metadata.name} does not allow the path of keysFrom as a source path: "
            "ask the platform team to add it to allowedSourcePaths.",
        )
    return cascade_problem(resource, observation)


def _remember(_: HudiOperation, __: HudiTable) -> Mapping[str, Any]:
    return {}


def _wording(_: NamedOperationJob) -> str:
    return "erasure"


ERASE = OperationDefinition(admit=_admit, remember=_remember, wording=_wording)
