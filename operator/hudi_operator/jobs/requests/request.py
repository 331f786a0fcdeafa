"""The request document of a run."""

from hudi_jobs.contract import (
    GOES_BACK,
    ContinuousTask,
    IngestionTask,
    JobRequest,
    NamedSavepoint,
    PlannedServiceTask,
    RunMode,
    SavepointStep,
    SavepointTask,
    Service,
    TableDefinition,
    TableOperation,
    TableOwner,
    TableTask,
)
from hudi_operator.api.resources import TAKE_OVER_ANNOTATION, HudiTable
from hudi_operator.api.spec.table import Ingestion
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.values.base import parse_duration
from hudi_operator.jobs.requests.service_run import without_replaced
from hudi_operator.jobs.requests.source import run_limits, source_document
from hudi_operator.jobs.settings.hudi_options import build_hudi_options, declared_index
from hudi_operator.services.inside import services_inside
from hudi_operator.services.registry import makes_plans

_LONGEST_NAME = 330


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
) -> JobRequest:
    """Return the request for one run of one service of one table.

    `operator` is the identity of the operator. `run_mode` and `instant` are for compaction and clustering: which
    pending plan to execute, or to make a new one. `abandoned` are pending instants that the run may end, `dead` those
    of them that nobody can write on.
    `savepoint` is what the run does with the savepoint of the takeover, which `taken_over_at` names;
    `named_savepoint` is what a run of the service Savepoint does, `operation` what one of the service Operation does.
    `inside` is the run of the continuous ingestion that the service is handed over to; such an ingestion is told all
    services that it may be asked for.
    """
    task = _task(table, table_class, service, operator=operator).model_copy(
        update={
            "abandoned": abandoned,
            "dead": dead,
            "planned": _planned(run_mode, instant) if makes_plans(service) else None,
            "savepoint": SavepointTask(step=savepoint, taken_over_at=taken_over_at or "") if savepoint else None,
            "named_savepoint": named_savepoint,
            "operation": operation,
            "inside": inside,
        }
    )
    if operation is not None and operation.service is not None:
        options = build_hudi_options(table, table_class, Service(operation.service.service.value))
        task = task.model_copy(update={"hudi_options": without_replaced(table.spec, options, operation.service)})
    if operation is not None and reads_source(table, operation):
        # The source is asked whether it still holds what is to be read again; nothing is ingested.
        ingestion = _ingestion(table, table_class)
        told = ingestion.model_copy(update={"continuous": None, "rescan": None}) if ingestion is not None else None
        task = task.model_copy(update={"ingestion": told})
    beside = services_inside(table.spec) if service is Service.INGESTION else ()
    return JobRequest(
        run=run,
        spark_conf=spark_conf,
        tasks=(task,),
        beside=tuple(_task(table, table_class, one, operator=operator) for one in beside),
    )


def reads_source(table: HudiTable, operation: TableOperation) -> bool:
    """Whether the run of an operation asks the source: what was read may be gone by the time it is read again."""
    return table.spec.ingestion is not None and operation.kind in GOES_BACK and operation.reingest


def _task(table: HudiTable, table_class: HudiTableClassSpec, service: Service, *, operator: str) -> TableTask:
    """Return a task as every run of the service has it."""
    return TableTask(
        id=f"{table.metadata.namespace}/{table.metadata.name}/{service.lower()}",
        service=service,
        table=definition_of(table),
        hudi_options=build_hudi_options(table, table_class, service),
        concurrency=table.spec.concurrency.mode,
        ingestion=_ingestion(table, table_class) if service is Service.INGESTION else None,
        planned=_planned(None, None) if makes_plans(service) else None,
        owner=TableOwner(
            operator=operator,
            table_uid=table.metadata.uid,
            table=f"{table.metadata.namespace}/{table.metadata.name}",
        ),
        take_over=_take_over(table),
    )


def _planned(run_mode: RunMode | None, instant: str | None) -> PlannedServiceTask:
    default = RunMode.SCHEDULE_AND_EXECUTE if instant is None else RunMode.EXECUTE
    return PlannedServiceTask(mode=run_mode or default, instant=instant)


def _take_over(table: HudiTable) -> str | None:
    """Return whom the table is taken over from; what is too long to be a name would be too long for the Job too."""
    named = table.metadata.annotations.get(TAKE_OVER_ANNOTATION, "")
    return named if 0 < len(named) <= _LONGEST_NAME else None


def definition_of(table: HudiTable) -> TableDefinition:
    """Return what a table is declared to be."""
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
    ingestion = table.spec.ingestion
    if ingestion is None:
        return None
    return IngestionTask(
        source=source_document(ingestion.source),
        transform_sql=ingestion.transform.sql if ingestion.transform else None,
        operation=ingestion.operation,
        **run_limits(ingestion.source),
        bad_records=ingestion.bad_records.policy,
        quarantine_path=ingestion.bad_records.quarantine_path,
        schema_evolution=table.spec.schema_policy.evolution,
        rescan=table.open_rescan,
        continuous=_continuous(ingestion, table_class),
    )
