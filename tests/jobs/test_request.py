"""The request of a run: what the driver is told for each service."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import JOB, OPERATOR, UID, class_spec, table
from tests.tasks import task_of

from hudi_jobs.contract import (
    ConcurrencyMode,
    JobRequest,
    PlannedServiceTask,
    PlannedTask,
    RunMode,
    Service,
    TableOwner,
    TableTask,
    Task,
)
from hudi_operator.api.status.table_operations import DecisionsStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.jobs.requests.request import build_request
from hudi_operator.jobs.settings.hudi_options import build_hudi_options

INSTANT = "20260310115900000"
HIVE = {"hive": {"database": "team_a", "table": "flights"}}
METASTORE = {"hive": {"metastoreUris": ["thrift://metastore:9083"], "allowedDatabases": ["team_a"]}}
OWN_FIELDS = {
    Service.INGESTION: {"savepoint", "ingestion"},
    Service.SAVEPOINT: {"named_savepoint"},
    Service.OPERATION: {"savepoint", "operation", "ingestion"},
    Service.COMPACTION: {"savepoint", "inside", "planned"},
    Service.CLUSTERING: {"savepoint", "inside", "planned"},
    Service.CLEANING: {"savepoint", "inside"},
    Service.ARCHIVAL: {"savepoint", "inside"},
    Service.CATALOG: set(),
    Service.DELETION: set(),
}


def task(service: Service, run_mode: RunMode | None = None, instant: str | None = None, **changes: Any) -> TableTask:
    request = build_request(
        table=table(catalog=HIVE, **changes),
        table_class=class_spec(catalog=METASTORE),
        service=service,
        run=JOB,
        spark_conf={"spark.master": "local[1]"},
        operator=OPERATOR,
        run_mode=run_mode,
        instant=instant,
        named_savepoint=task_of(Service.SAVEPOINT).named_savepoint if service is Service.SAVEPOINT else None,
        operation=task_of(Service.OPERATION).operation if service is Service.OPERATION else None,
    )
    assert JobRequest.model_validate_json(request.model_dump_json(by_alias=True)) == request
    assert (request.run, request.spark_conf) == (JOB, {"spark.master": "local[1]"})
    (only,) = request.tasks
    return only


@pytest.mark.parametrize("service", Service)
def test_every_service_gets_its_own_options_and_the_tables_identity(service: Service) -> None:
    found = task(service, type="MergeOnRead", tableName="Flights", partitionBy=["month"])
    declared = table(type="MergeOnRead", tableName="Flights", partitionBy=["month"])
    assert found.id == f"team-a/flights/{service.lower()}"
    assert found.service is service
    assert (found.table.name, found.table.partition_by) == ("Flights", ("month",))
    assert found.hudi_options == build_hudi_options(declared, class_spec(), service)


@pytest.mark.parametrize("service", Service)
def test_each_service_has_its_own_class_with_its_own_fields_alone(service: Service) -> None:
    found = task(service)
    assert type(found).__name__ == f"{service}TableTask"
    assert set(type(found).model_fields) - set(Task.model_fields) == OWN_FIELDS[service]


@pytest.mark.parametrize("service", [Service.SAVEPOINT, Service.OPERATION, Service.CATALOG])
def test_request_without_the_part_that_its_service_is_about_is_refused(service: Service) -> None:
    with pytest.raises(ValueError, match="lacks what its service is to do"):
        build_request(
            table=table(), table_class=class_spec(), service=service, run=JOB, spark_conf={}, operator=OPERATOR
        )


@pytest.mark.parametrize(
    ("run_mode", "instant", "expected"),
    [
        (None, None, PlannedServiceTask(mode=RunMode.SCHEDULE_AND_EXECUTE)),
        (None, INSTANT, PlannedServiceTask(mode=RunMode.EXECUTE, instant=INSTANT)),
        (RunMode.SCHEDULE, None, PlannedServiceTask(mode=RunMode.SCHEDULE)),
        (RunMode.EXECUTE, INSTANT, PlannedServiceTask(mode=RunMode.EXECUTE, instant=INSTANT)),
    ],
)
@pytest.mark.parametrize("service", [Service.COMPACTION, Service.CLUSTERING])
def test_a_pending_plan_is_executed_and_without_one_a_new_plan_is_made(
    service: Service, run_mode: RunMode | None, instant: str | None, expected: PlannedServiceTask
) -> None:
    found = task(service, run_mode, instant)
    assert isinstance(found, PlannedTask)
    assert found.planned == expected


@pytest.mark.parametrize("mode", ConcurrencyMode)
@pytest.mark.parametrize("service", Service)
def test_every_task_knows_whether_others_write_too(service: Service, mode: ConcurrencyMode) -> None:
    assert task(service, concurrency={"mode": mode}).concurrency is mode


@pytest.mark.parametrize("service", Service)
def test_every_run_says_for_whom_it_is(service: Service) -> None:
    found = task(service)
    assert found.owner == TableOwner(operator=OPERATOR, table_uid=UID, table="team-a/flights")
    assert found.take_over is None


def test_whom_a_table_is_taken_over_from_is_passed_on() -> None:
    known = HudiTableStatus(decisions=DecisionsStatus(take_over="other/hudi-operator"))
    assert task(Service.INGESTION, status=known).take_over == "other/hudi-operator"
