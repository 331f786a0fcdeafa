"""An upgrade or a downgrade of the table version, unless the spec pins another version."""

from collections.abc import Mapping
from typing import Any

from hudi_jobs.contract import OperationKind
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.status.table_operations import NamedOperationJob
from hudi_operator.planning.facts.operations.operation_kind import Answer, OperationDefinition, fails, waits_for_table
from hudi_operator.planning.facts.savepoints.rules import newest_commit
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason


def _admit(resource: HudiOperation, observation: Observation) -> Answer | None:
    timeline, version = observation.snapshot.timeline, _version(resource)
    if timeline is None:
        return waits_for_table(observation)
    found, pinned = timeline.properties.version, observation.table.spec.table_version
    is_upgrade = resource.spec.kind is OperationKind.UPGRADE
    if (version <= found) if is_upgrade else (version >= found):
        wanted = "newer" if is_upgrade else "older"
        return _refused(f"The table has version {found}; version {version} is not {wanted}.")
    if pinned not in {None, version}:
        return _refused(f"spec.tableVersion of the table pins {pinned}, not {version}: change it first.")
    if newest_commit(timeline) is None:
        return _refused("The table has no completed commit, so there is nothing to keep or compare.")
    return None


def _version(resource: HudiOperation) -> int:
    given = resource.spec.upgrade or resource.spec.downgrade
    assert given is not None, "the kind says so"
    return given.table_version


def _refused(sentence: str) -> Answer:
    return fails(OperationReason.REFUSED, f"{sentence} Nothing was changed.")


def _remember(resource: HudiOperation, _: HudiTable) -> Mapping[str, Any]:
    return {"table_version": _version(resource)}


def _wording(job: NamedOperationJob) -> str:
    return f"{job.kind.value.lower()} to table version {job.table_version}"


CHANGE_OF_VERSION = OperationDefinition(admit=_admit, remember=_remember, wording=_wording)
