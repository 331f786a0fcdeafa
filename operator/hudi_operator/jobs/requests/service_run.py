"""The Hudi options of a table service that is run once: the table's, except those that the operation replaces."""

from typing import Any

from hudi_jobs.contract import RunnableService, Service, ServiceRun
from hudi_operator.api.spec.operation_kinds.run_service import ClusteringRun, RunServiceSpec
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.status.table_operations import NamedServiceRun
from hudi_operator.jobs.settings.service_options import options_of_one

_CLEAN_TRIGGER = "hoodie.clean.trigger.max.commits"


def service_run(spec: HudiTableSpec, named: NamedServiceRun) -> ServiceRun:
    """Return the service run for the driver; raise `ValidationError` for a request that nobody can have made."""
    return ServiceRun(service=named.service, options=_options(RunServiceSpec.model_validate_json(named.asked), spec))


def without_replaced(spec: HudiTableSpec, options: dict[str, str], run: ServiceRun) -> dict[str, str]:
    """Return the options of a table without those that the run replaces."""
    replaced = options_of_one(spec, Service(run.service.value)) if run.options else {}
    return {key: value for key, value in options.items() if key not in replaced}


def _options(run: RunServiceSpec, spec: HudiTableSpec) -> dict[str, str]:
    """Return the options that replace the table's: only those of the part that the operation gives.

    Hudi archives nothing before there are more than the most commits, so the maximum is the minimum plus one.
    """
    service = Service(run.service.value)
    if run.service is RunnableService.ARCHIVAL:
        keeps = run.archival.min_commits if run.archival is not None else spec.archival.min_commits
        archival = spec.archival.copy_with(min_commits=keeps, max_commits=keeps + 1)
        return options_of_one(spec.copy_with(archival=archival), service)
    if run.service is RunnableService.CLEANING:
        kept = run.cleaning.model_dump() if run.cleaning is not None else {}
        cleaning = spec.cleaning.copy_with(**kept)
        # Hudi counts the commits since the last clean, and there may be none.
        return {**options_of_one(spec.copy_with(cleaning=cleaning), service), _CLEAN_TRIGGER: "0"}
    given = spec
    if run.compaction is not None:
        given = given.copy_with(compaction=spec.compaction.copy_with(plan=run.compaction.plan))
    if run.clustering is not None:
        given = given.copy_with(clustering=spec.clustering.copy_with(**_given(run.clustering)))
    return options_of_one(given, service) if given is not spec else {}


def _given(run: ClusteringRun) -> dict[str, Any]:
    parts = {"plan": run.plan, "execution": run.execution}
    return {name: part for name, part in parts.items() if part is not None}
