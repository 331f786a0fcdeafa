"""When a run that only syncs the catalog is due, and what the status says of the catalog meanwhile."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import Any

from tests.planning.world import (
    NOW,
    at,
    done,
    minutes,
    observe,
    plan_for,
    story,
    table,
    table_class,
)

from hudi_jobs.contract import CatalogRecord, CatalogTableTask, Service, SyncTrouble
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.catalogs.registry import declared_target
from hudi_operator.jobs.requests.request import build_request
from hudi_operator.planning.model import LaunchJob, Observation, TimelineSnapshot
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.planning.policy.class_policy import policy_blockers
from hudi_operator.timeline import TableType

HIVE = {"hive": {"database": "team_a", "table": "flights"}}
METASTORE = {"hive": {"metastoreUris": ["thrift://metastore:9083"], "allowedDatabases": ["{namespace}", "lake_*"]}}
CLASS = table_class(catalog=METASTORE)
WRITTEN = story(done("commit", 30), kind=TableType.COPY_ON_WRITE)


def in_catalog(**changes: Any) -> HudiTable:
    """A table that nothing is ingested into, with an entry."""
    off = {"mode": "Disabled"}
    quiet = {"ingestion": None, "clustering": off, "cleaning": off, "archival": off}
    return table(**{**quiet, "catalog": HIVE, **changes})


def record(one: HudiTable, **changes: Any) -> CatalogRecord:
    target = declared_target(one, CLASS.spec)
    return CatalogRecord.model_validate(
        {"entry": "team_a.flights", "target": target, "instant": "20260310110000000", "syncedAt": at(NOW), **changes}
    )


def behind(one: HudiTable, *, tried: datetime, attempts: int = 1, trouble: str = "Unavailable") -> CatalogRecord:
    failed = {"behindSince": "2026-03-10T11:30:00Z", "trouble": trouble, "message": "It does not answer."}
    return record(one, **failed, triedAt=at(tried), attempts=attempts)


def seen(one: HudiTable, found: CatalogRecord | None, **changes: Any) -> Observation:
    snapshot = TimelineSnapshot(timeline=WRITTEN, catalog=found)
    return observe(one, table_class=CLASS, snapshot=replace(snapshot, **changes))


def launched(plan: Plan) -> list[Service | None]:
    return [action.job.service for action in plan.actions if isinstance(action, LaunchJob)]


def test_table_that_no_run_has_synced_gets_a_run_of_its_own() -> None:
    assert launched(plan_for(seen(in_catalog(), None))) == [Service.CATALOG]


def test_synced_table_gets_no_run() -> None:
    one = in_catalog()
    plan = plan_for(seen(one, record(one)))
    assert launched(plan) == []
    assert plan.services.catalog is None
    assert plan.status.catalog is not None
    assert (plan.status.catalog.entry, plan.status.catalog.behind_since) == ("team_a.flights", None)


def test_table_without_a_commit_gets_no_run() -> None:
    assert launched(plan_for(observe(in_catalog(), table_class=CLASS))) == []


def test_table_without_a_catalog_gets_no_run() -> None:
    assert launched(plan_for(seen(in_catalog(catalog=None), None))) == []


def test_other_settings_of_the_class_are_synced_by_a_run_of_their_own() -> None:
    one = in_catalog()
    other = record(one, target="0" * 64)
    assert launched(plan_for(seen(one, other))) == [Service.CATALOG]


def test_failed_sync_is_tried_again_after_a_wait_that_doubles() -> None:
    one = in_catalog()
    waits = {
        attempts: (
            launched(plan_for(seen(one, behind(one, tried=NOW - minutes(early), attempts=attempts)))),
            launched(plan_for(seen(one, behind(one, tried=NOW - minutes(late), attempts=attempts)))),
        )
        for attempts, early, late in ((1, 0.9, 1), (2, 1.9, 2), (4, 7.9, 8), (100, 59.9, 60))
    }
    assert waits == dict.fromkeys(waits, ([], [Service.CATALOG]))
    waiting = plan_for(seen(one, behind(one, tried=NOW - minutes(0.5))))
    assert waiting.changes_in == 30.0


def test_continuous_driver_syncs_by_itself() -> None:
    one = table(catalog=HIVE, ingestion={"mode": "Continuous"})
    assert launched(plan_for(seen(one, None))) == [Service.INGESTION]


def test_failed_sync_is_a_finding_and_the_table_stays_ready() -> None:
    one = in_catalog()
    status = plan_for(seen(one, behind(one, tried=NOW))).status
    ready = find_condition(status.conditions, ConditionType.READY)
    (finding,) = status.findings
    assert ready is not None
    assert ready.status == "True"
    assert finding.code is FindingCode.CATALOG_BEHIND
    assert "team_a.flights has been behind the table since 2026-03-10T11:30:00Z" in finding.message
    assert "It does not answer." in finding.message
    assert finding.blocks == ()


def test_entry_of_somebody_else_is_a_finding_of_its_own() -> None:
    one = in_catalog()
    status = plan_for(seen(one, behind(one, tried=NOW, trouble=SyncTrouble.TAKEN))).status
    assert [finding.code for finding in status.findings] == [FindingCode.CATALOG_ENTRY_TAKEN]


def test_message_of_the_record_is_shown_escaped() -> None:
    one = in_catalog()
    hostile = behind(one, tried=NOW).copy_with(message="\x1b[31mred\u202e")
    (finding,) = plan_for(seen(one, hostile)).status.findings
    assert finding.message.isprintable()


def test_entry_that_another_table_claims_is_a_finding_and_no_run_is_due() -> None:
    taken = replace(seen(in_catalog(), None), entry_taken="The catalog entry is that of HudiTable team-a/other.")
    plan = plan_for(taken)
    ready = find_condition(plan.status.conditions, ConditionType.READY)
    (finding,) = plan.status.findings
    assert (launched(plan), finding.code) == ([], FindingCode.CATALOG_ENTRY_TAKEN)
    assert finding.message == "The catalog entry is that of HudiTable team-a/other."
    assert ready is not None
    assert ready.status == "True"


def test_failed_sync_with_earlier_settings_is_no_finding() -> None:
    one = in_catalog()
    assert plan_for(seen(one, behind(one, tried=NOW).copy_with(target="0" * 64))).status.findings == ()


def test_class_decides_on_metastore_and_databases() -> None:
    def refusals(database: str, **catalog: Any) -> list[str]:
        one = in_catalog(catalog={"hive": {"database": database, "table": "flights"}})
        return [blocker.message for blocker in policy_blockers(one, table_class(catalog=catalog))]

    assert refusals("team_a", **METASTORE) == []
    assert refusals("lake_raw", **METASTORE) == []
    assert "does not allow the database team_b" in refusals("team_b", **METASTORE)[0]
    assert "does not allow the database lake" in refusals("lake", **METASTORE)[0]
    assert "names no Hive Metastore" in refusals("team_a")[0]


def test_request_names_the_catalog_of_the_class() -> None:
    request = build_request(
        table=in_catalog(), table_class=CLASS.spec, service=Service.CATALOG, run="run-1", spark_conf={}, operator="o"
    )
    (task,) = request.tasks
    assert isinstance(task, CatalogTableTask)
    assert (task.catalog.uris, task.catalog.entry) == (("thrift://metastore:9083",), "team_a.flights")


def test_requests_of_table_services_hold_no_catalog() -> None:
    request = build_request(
        table=in_catalog(), table_class=CLASS.spec, service=Service.CLEANING, run="run-1", spark_conf={}, operator="o"
    )
    assert request.tasks[0].catalog is None
