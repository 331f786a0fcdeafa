"""A table service that is run once, with the table's options or with options for this run."""

from collections.abc import Mapping
from typing import Any

from hudi_jobs.contract import RunnableService, TableType
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.spec.operation_kinds.run_service import RunServiceSpec
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_services import CleaningPolicy, ClusteringPlanStrategy, CompactionPlanStrategy
from hudi_operator.api.status.table_operations import LONGEST_ASKED, NamedOperationJob
from hudi_operator.planning.facts.operations.operation_kind import Answer, OperationDefinition, fails, waits_for_table
from hudi_operator.planning.model import Observation
from hudi_operator.planning.model.reasons import OperationReason


def _admit(resource: HudiOperation, observation: Observation) -> Answer | None:
    run, spec = resource.spec.run_service, observation.table.spec
    assert run is not None, "the kind says so"
    if (refusal := _refusal(run, spec)) is not None:
        return fails(OperationReason.REFUSED, f"{refusal} Nothing was changed.")
    if observation.snapshot.timeline is None:
        return waits_for_table(observation)
    return None


def _refusal(run: RunServiceSpec, spec: HudiTableSpec) -> str | None:
    """Return why a service can never be run so on a table."""
    if len(_asked(run)) > LONGEST_ASKED:
        return f"The options have more than {LONGEST_ASKED:,} characters as JSON: name fewer partitions or columns."
    if run.service is RunnableService.COMPACTION and spec.type is not TableType.MERGE_ON_READ:
        return "Only a MergeOnRead table has log files to compact."
    if not spec.partition_by and _plans_by_partition(run):
        return "The table has no partitions, but the plan selects some: remove them from the plan."
    keeps = run.archival.min_commits if run.archival is not None else None
    by_commits = spec.cleaning.policy is CleaningPolicy.KEEP_LATEST_COMMITS
    if keeps is not None and by_commits and keeps <= spec.cleaning.retain_commits:
        retained = spec.cleaning.retain_commits
        return f"Cleaning retains {retained} commits: set archival.minCommits above {retained}."
    return None


def _plans_by_partition(run: RunServiceSpec) -> bool:
    plan = run.compaction.plan if run.compaction is not None else None
    if plan is not None and (plan.strategy is CompactionPlanStrategy.DAY_BASED or plan.partition_regex is not None):
        return True
    rewrite = run.clustering.plan if run.clustering is not None else None
    return rewrite is not None and rewrite.strategy is not ClusteringPlanStrategy.SIZE_BASED


def _remember(resource: HudiOperation, _: HudiTable) -> Mapping[str, Any]:
    run = resource.spec.run_service
    assert run is not None, "the kind says so"
    return {"service": {"service": run.service, "asked": _asked(run)}}


def _asked(run: RunServiceSpec) -> str:
    return run.model_dump_json(by_alias=True, exclude_unset=True)


def _wording(job: NamedOperationJob) -> str:
    return str(job.service.service).lower() if job.service is not None else "service"


RUN_SERVICE = OperationDefinition(admit=_admit, remember=_remember, wording=_wording, may_be_left=True)
