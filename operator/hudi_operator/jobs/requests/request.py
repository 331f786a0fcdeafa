"""The request document of a run, with the options of a table service that is run once."""

from typing import Any, TypeVar

from hudi_jobs.contract import (
    GOES_BACK,
    ArchivalTableTask,
    CatalogTableTask,
    CleaningTableTask,
    ClusteringTableTask,
    CompactionTableTask,
    ContinuousTask,
    DeletionTableTask,
    IngestionTableTask,
    IngestionTask,
    JobRequest,
    MaintenanceTableTask,
    NamedSavepoint,
    OperationTableTask,
    PlannedServiceTask,
    RunMode,
    RunnableService,
    SavepointStep,
    SavepointTableTask,
    SavepointTask,
    Service,
    ServiceRun,
    TableDefinition,
    TableOperation,
    TableOwner,
    TableTask,
    task_id,
)
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.operation_kinds.run_service import ClusteringRun, RunServiceSpec
from hudi_operator.api.spec.table import HudiTableSpec, Ingestion
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.table_operations import NamedServiceRun
from hudi_operator.api.values.base import parse_duration
from hudi_operator.catalogs.registry import declared_catalog
from hudi_operator.jobs.settings.hudi_options import build_hudi_options, declared_index, options_of_one
from hudi_operator.services.clustering import small_file_limit
from hudi_operator.services.registry import services_inside
from hudi_operator.sources.registry import declared_source, open_rescan

_IN_THE_CATALOG = frozenset({Service.INGESTION, Service.OPERATION, Service.CATALOG, Service.DELETION})
"""The services that change what a catalog shows of a table."""

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


_Part = TypeVar("_Part")


def build_request(
    *,
    table: HudiTable,
    table_class: HudiTableClassSpec,
    service: Service,
    run: str,
    spark_conf: dict[str, str],
    operator: str,
    run_mode: RunMode | None = None,
    instant: str | None = None,
    abandoned: tuple[str, ...] | None = None,
    dead: tuple[str, ...] = (),
    savepoint: SavepointStep | None = None,
    taken_over_at: str | None = None,
    named_savepoint: NamedSavepoint | None = None,
    operation: TableOperation | None = None,
    inside: str | None = None,
    syncs_catalog: bool = True,
) -> JobRequest:
    """Return the request for a run of a service of a table.

    `operator` is the identity of the operator. `run_mode` and `instant` are for compaction and clustering: the pending
    plan to execute, or to make a new plan. `abandoned` are pending instants that the run may end, `dead` the subset
    whose writer is known to have exited. `savepoint` is the run's step on the savepoint of the takeover
    `taken_over_at`. `named_savepoint` is the work of a run of the service Savepoint, `operation` of a run of the
    service Operation. `inside` is the run of the continuous ingestion that the service is handed over to; a continuous
    ingestion receives all services that other runs may hand over. Without `syncs_catalog` the run leaves the table's
    catalog entry alone, because another table claims the entry. Raises `ValueError` if the part of the service is
    missing.
    """
    shared = _shared(table, table_class, service, operator=operator) | {"abandoned": abandoned, "dead": dead}
    if not syncs_catalog:
        shared["catalog"] = None
    kept = SavepointTask(step=savepoint, taken_over_at=taken_over_at or "") if savepoint is not None else None
    task: TableTask
    match service:
        case Service.INGESTION:
            task = IngestionTableTask(**shared, savepoint=kept, ingestion=_required(_ingestion(table, table_class)))
        case Service.SAVEPOINT:
            task = SavepointTableTask(**shared, named_savepoint=_required(named_savepoint))
        case Service.OPERATION:
            asked = _required(operation)
            told = {**shared, "hudi_options": _options_of(table, table_class, asked)}
            task = OperationTableTask(
                **told, savepoint=kept, operation=asked, ingestion=_asked_source(table, table_class, asked)
            )
        case Service.DELETION:
            task = DeletionTableTask(**shared)
        case Service.CATALOG:
            task = CatalogTableTask(**{**shared, "catalog": _required(shared["catalog"])})
        case _:
            task = _maintenance(service, shared | {"savepoint": kept, "inside": inside}, _planned(run_mode, instant))
    inline = services_inside(table.spec) if service is Service.INGESTION else ()
    return JobRequest(
        run=run,
        spark_conf=spark_conf,
        tasks=(task,),
        inline_services=tuple(
            _maintenance(one, _shared(table, table_class, one, operator=operator), _planned(None, None))
            for one in inline
        ),
    )


def reads_source(table: HudiTable, operation: TableOperation) -> bool:
    """Whether the run of an operation reads the source: input that was read may be gone when it is read again."""
    return table.spec.ingestion is not None and operation.kind in GOES_BACK and operation.reingest


def _shared(table: HudiTable, table_class: HudiTableClassSpec, service: Service, *, operator: str) -> dict[str, Any]:
    """Return the part of a task that every service needs."""
    name = f"{table.metadata.namespace}/{table.metadata.name}"
    definition = definition_of(table)
    return {
        "id": task_id(name, service),
        "table": definition if service is Service.INGESTION else definition.copy_with(declared=None),
        "hudi_options": build_hudi_options(table, table_class, service),
        "concurrency": table.spec.concurrency.mode,
        "owner": TableOwner(operator=operator, table_uid=table.metadata.uid, table=name),
        "take_over": _take_over(table),
        "small_file_limit": small_file_limit(table.spec),
        "catalog": declared_catalog(table, table_class) if service in _IN_THE_CATALOG else None,
    }


def _maintenance(service: Service, fields: dict[str, Any], planned: PlannedServiceTask) -> MaintenanceTableTask:
    match service:
        case Service.COMPACTION:
            return CompactionTableTask(**fields, planned=planned)
        case Service.CLUSTERING:
            return ClusteringTableTask(**fields, planned=planned)
        case Service.CLEANING:
            return CleaningTableTask(**fields)
        case Service.ARCHIVAL:
            return ArchivalTableTask(**fields)
        case _:
            raise ValueError(f"{service} is no table service")


def _options_of(table: HudiTable, table_class: HudiTableClassSpec, operation: TableOperation) -> dict[str, str]:
    if operation.service is None:
        return build_hudi_options(table, table_class, Service.OPERATION)
    options = build_hudi_options(table, table_class, Service(operation.service.service.value))
    return without_replaced(table.spec, options, operation.service)


def _asked_source(table: HudiTable, table_class: HudiTableClassSpec, operation: TableOperation) -> IngestionTask | None:
    """Return the source that an operation checks for the input that is to be read again; nothing is ingested."""
    ingestion = _ingestion(table, table_class) if reads_source(table, operation) else None
    return ingestion.copy_with(continuous=None, rescan=None) if ingestion is not None else None


def _required(part: _Part | None) -> _Part:
    """Return the part of a task that its service needs; raise `ValueError` if it is missing."""
    if part is None:
        raise ValueError("the request lacks what its service is to do")
    return part


def _planned(run_mode: RunMode | None, instant: str | None) -> PlannedServiceTask:
    default = RunMode.SCHEDULE_AND_EXECUTE if instant is None else RunMode.EXECUTE
    return PlannedServiceTask(mode=run_mode or default, instant=instant)


def _take_over(table: HudiTable) -> str | None:
    """Return the owner from whom the table is taken over."""
    return table.status.decisions.take_over if table.status.decisions is not None else None


def definition_of(table: HudiTable) -> TableDefinition:
    """Return the declared definition of a table."""
    spec = table.spec
    return TableDefinition(
        name=table.table_name,
        base_path=spec.base_path,
        type=spec.type,
        record_key=spec.record_key,
        partition_by=spec.partition_by,
        ordering_fields=spec.ordering_fields,
        index=declared_index(spec.index),
        metadata_table=spec.metadata_table.enabled,
        version=spec.table_version,
        declared=spec.schema_policy.declared,
    )


def _continuous(ingestion: Ingestion, table_class: HudiTableClassSpec) -> ContinuousTask | None:
    if not ingestion.continues:
        return None
    settings = ingestion.continuous
    return ContinuousTask(
        min_interval_seconds=parse_duration(settings.min_interval).total_seconds(),
        recycle_after_seconds=parse_duration(settings.recycle_after).total_seconds(),
        drain_seconds=parse_duration(table_class.job.drain_timeout).total_seconds(),
    )


def _ingestion(table: HudiTable, table_class: HudiTableClassSpec) -> IngestionTask | None:
    ingestion, source = table.spec.ingestion, declared_source(table.spec)
    if ingestion is None or source is None:
        return None
    return IngestionTask(
        source=source.document,
        transform_sql=ingestion.transform.sql if ingestion.transform else None,
        operation=ingestion.operation,
        **source.limits,
        bad_records=ingestion.bad_records.policy,
        quarantine_path=ingestion.bad_records.quarantine_path,
        schema_evolution=table.spec.schema_policy.evolution,
        rescan=open_rescan(table),
        continuous=_continuous(ingestion, table_class),
    )
