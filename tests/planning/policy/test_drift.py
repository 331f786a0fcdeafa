"""What a table has that its resource declares otherwise is shown, with what to do."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from tests.planning.world import (
    NOW,
    active,
    again,
    ago,
    as_declared,
    at,
    done,
    finding,
    instant,
    minutes,
    observe,
    plan_for,
    snapshot,
    status,
    status_of,
    story,
    table,
    timeline,
)

from hudi_jobs.contract import Service
from hudi_jobs.contract.table.facts import TableFacts
from hudi_jobs.contract.table.schema_history import ColumnType, Evolution
from hudi_jobs.contract.table.zone import ShownZone
from hudi_operator.api.resources import HudiTable, InvalidObject, parse_table
from hudi_operator.api.status.conditions import ConditionType, find_condition
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.facts.drift import drift_of
from hudi_operator.planning.model import Blocker, BlockerReason, CreateJob, LaunchJob, TimelineSnapshot
from hudi_operator.planning.outcome.plan import Plan
from hudi_operator.services.registry import SERVICES
from hudi_operator.timeline import TableType as FoundType

AS_DECLARED = {
    "hoodie.table.name": "flights",
    "hoodie.table.version": "9",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.record.merge.mode": "COMMIT_TIME_ORDERING",
}


def launches(plan: Plan) -> list[LaunchJob]:
    return [action for action in plan.actions if isinstance(action, LaunchJob)]


def reasons(after: HudiTableStatus) -> set[str | None]:
    return {after.services.of(service).reason for service in SERVICES}


def seen(index: str | None = "Bloom", **properties: str) -> TimelineSnapshot:
    """A snapshot of a table that is as declared but for these properties."""
    raw = tuple(
        {**AS_DECLARED, **{f"hoodie.{key.replace('__', '.')}": text for key, text in properties.items()}}.items()
    )
    base = timeline(instant("20260310115900000"))
    return snapshot(timeline=replace(base, properties=replace(base.properties, raw=raw)), index=index)


@pytest.mark.parametrize(
    ("declared", "found", "expected"),
    [
        ({}, seen(), None),
        ({}, seen(None), None),
        ({}, seen("Simple"), None),
        ({"index": {"type": "GlobalSimple"}}, seen("GlobalBloom"), None),
        ({"index": {"type": "Bucket"}}, seen("Bucket/256"), None),
        ({"index": {"type": "Bucket", "buckets": 8}}, seen("Bucket/4"), ("index", "Bucket/8", "Bucket/4")),
        ({"index": {"type": "Bucket", "buckets": 8}}, seen("Bloom"), ("index", "Bucket/8", "Bloom")),
        ({}, seen("Bucket/4"), ("index", "Bloom", "Bucket/4")),
        ({}, seen("GlobalBloom"), ("index", "Bloom", "GlobalBloom")),
        ({}, seen("Newer"), ("index", "Bloom", "Newer")),
        ({"type": "MergeOnRead"}, seen(), ("type", "MergeOnRead", "CopyOnWrite")),
        ({"recordKey": ["id", "at"]}, seen(), ("recordKey", "id,at", "id")),
        ({"partitionBy": ["day"]}, seen(), ("partitionBy", "day", "(none)")),
        ({"tableName": "trips"}, seen(), ("tableName", "trips", "flights")),
        ({"metadataTable": {}}, seen(table__metadata__partitions="files"), None),
        ({"metadataTable": {"enabled": False}}, seen(), None),
    ],
)
def test_table_is_compared_with_its_spec(
    declared: dict[str, Any], found: TimelineSnapshot, expected: tuple[str, str, str] | None
) -> None:
    drift = drift_of(observe(table(**declared), snapshot=found))
    assert [(one.field, one.declared, one.found) for one in drift] == ([] if expected is None else [expected])


def test_there_is_no_drift_without_a_table_and_none_is_shown_of_a_hidden_one() -> None:
    hidden = Blocker(reason=BlockerReason.PATH_NOT_ALLOWED, message="Not here.")
    assert drift_of(observe(table(), snapshot=snapshot())) == ()
    assert drift_of(observe(table(tableName="trips"), snapshot=seen(), blockers=(hidden,))) == ()


def wrong(**changes: Any) -> HudiTable:
    """A resource that declares nothing of `seen` as it is."""
    return table(
        tableName="trips", type="MergeOnRead", recordKey=["key"], partitionBy=["day"], orderingFields=["at"], **changes
    )


DRIFT = (FindingCode.SPEC_DRIFT, FindingCode.SERVICES_REFUSED, FindingCode.SETTING_NOT_APPLIED)

WRONG = ("tableName", "type", "recordKey", "partitionBy", "orderingFields", "index")


@pytest.mark.parametrize("policy", ["Manage", "Observe"])
def test_everything_that_differs_stops_the_table_in_one_condition(policy: str) -> None:
    observation = observe(wrong(managementPolicy=policy), snapshot=seen("Bucket/4"))

    assert not launches(plan_for(observation))
    after = status_of(observation)
    drift, ready = finding(after, *DRIFT), find_condition(after.conditions, ConditionType.READY)
    assert drift is not None
    assert ready is not None
    assert (drift.severity, drift.code, drift.blocks) == ("Critical", "SpecDrift", ("All",))
    assert [field for field in WRONG if f"{field}: " in drift.message] == list(WRONG)
    assert "index: the spec declares Bloom, but the table has Bucket/4; declare what the table has." in drift.message
    assert (ready.status, ready.reason, ready.message) == ("False", "SpecDrift", drift.message)
    stalled = find_condition(after.conditions, ConditionType.STALLED)
    assert stalled is not None
    assert find_condition(after.conditions, ConditionType.RECONCILING) is None


def test_no_service_starts_while_the_table_drifts_whatever_is_pending_or_requested() -> None:
    asked = {"hudi-operator.io/requested-at": "now"}
    one = table(tableName="trips", annotations=asked, compaction={"trigger": {"commits": 1}}, type="MergeOnRead")
    busy = story(
        done("deltacommit", 50),
        done("deltacommit", 40),
        f"{ago(30)}.compaction.requested",
        kind=FoundType.MERGE_ON_READ,
    )
    as_it_is = as_declared(snapshot(timeline=busy), table(type="MergeOnRead"))

    stopped = observe(one, snapshot=as_it_is)
    assert not launches(plan_for(stopped))
    assert "SpecDrift" in reasons(status_of(stopped))

    corrected = replace(stopped, table=one.copy_with(spec=table(type="MergeOnRead").spec))
    assert launches(plan_for(corrected))


def test_no_intent_from_before_the_drift_is_carried_out() -> None:
    intent = active(uid=None, started_at=at(NOW - minutes(1)))
    drifted = observe(table(tableName="trips", status=status(active_jobs=(intent,))), snapshot=seen())
    as_it_is = observe(table(status=status(active_jobs=(intent,))), snapshot=seen())

    assert [one.job.name for one in plan_for(as_it_is).actions if isinstance(one, CreateJob)] == [intent.name]
    assert not plan_for(drifted).actions


def test_a_corrected_spec_resumes_at_once() -> None:
    stopped = observe(table(tableName="trips"), snapshot=seen())
    after = status_of(stopped)

    corrected = again(observe(table(generation=2), snapshot=seen()), after)

    assert launches(plan_for(corrected))
    assert finding(status_of(corrected), *DRIFT) is None


@pytest.mark.parametrize("version", ["4", "5", "7", "3"])
def test_a_version_that_is_not_written_says_what_to_do(version: str) -> None:
    observation = observe(table(), snapshot=seen(table__version=version))

    assert not launches(plan_for(observation))
    ready = status_of(observation).conditions[0]
    assert (ready.status, ready.reason) == ("False", "TableVersionUnsupported")
    assert (
        f"hoodie.table.version: the table has {version}, but the operator supports only 6, 8 or 9; upgrade"
        in ready.message
    )


def test_a_metadata_table_that_is_asked_for_by_name_is_reported_and_stops_nothing() -> None:
    observation = observe(table(metadataTable={"enabled": True}), snapshot=seen())

    assert launches(plan_for(observation))
    after = status_of(observation)
    drift = finding(after, *DRIFT)
    assert drift is not None
    assert "a run creates a metadata table once nothing is pending" in drift.message
    assert find_condition(after.conditions, ConditionType.STALLED) is None


def test_a_pinned_version_that_the_table_does_not_have_is_reported_while_a_run_is_under_way_too() -> None:
    for memory in (status(), status(active_jobs=(active(),))):
        drift = drift_of(observe(table(tableVersion=8, status=memory), snapshot=seen()))
        assert [(one.field, one.stops) for one in drift] == [("tableVersion", False)]
    assert launches(plan_for(observe(table(tableVersion=8), snapshot=seen())))


def test_difference_that_an_active_run_resolves_is_no_drift() -> None:
    running = status(active_jobs=(active(),))

    assert drift_of(observe(table(metadataTable={"enabled": True}, status=running), snapshot=seen())) == ()
    another = table(metadataTable={"enabled": True}, tableName="other", status=running)
    assert [one.field for one in drift_of(observe(another, snapshot=seen()))] == ["tableName"]


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"index": {"type": "InMemory"}}, "InMemory forgets every key when a run ends"),
        ({"recordKey": ["payload.id"]}, "give anything else, such as a field of a struct, its own column"),
        ({"orderingFields": ["_hoodie_commit_time"]}, "must not be one of Hudi's own"),
    ],
)
def test_a_stored_spec_that_is_no_longer_accepted_says_what_to_do(spec: dict[str, Any], sentence: str) -> None:
    fields = {"basePath": "s3a://lake/t", "type": "CopyOnWrite", "recordKey": ["id"], **spec}
    invalid = parse_table({"metadata": {"name": "t"}, "spec": fields})
    assert isinstance(invalid, InvalidObject)
    assert sentence in invalid.message


def test_a_stored_sort_column_that_is_no_longer_accepted_stops_only_its_clustering() -> None:
    execution = {"mode": "Async", "execution": {"sortColumns": ["payload.id"]}}
    fields = {"basePath": "s3a://lake/t", "type": "CopyOnWrite", "recordKey": ["id"], "clustering": execution}
    assert not isinstance(parse_table({"metadata": {"name": "t"}, "spec": fields}), InvalidObject)


def test_a_table_that_keeps_what_flink_has_deleted_starts_nothing() -> None:
    found = replace(seen(), facts=TableFacts(keeps_operations=True))
    for policy in ("Manage", "Observe"):
        observed = observe(table=table(managementPolicy=policy), snapshot=found)
        plan = plan_for(observed)
        assert launches(plan) == []
        told = finding(status_of(observed), *DRIFT)
        assert told is not None
        assert "_hoodie_operation" in told.message


def foreign(**facts: Any) -> TimelineSnapshot:
    """A table that is as declared, and what its files say beside its properties."""
    return replace(seen(), facts=TableFacts(**facts))


@pytest.mark.parametrize("policy", ["Manage", "Observe"])
def test_varying_number_of_buckets_starts_no_job_and_is_reported(policy: str) -> None:
    observed = observe(table=table(managementPolicy=policy), snapshot=foreign(has_varying_buckets=True))
    assert launches(plan_for(observed)) == []
    told = finding(status_of(observed), *DRIFT)
    assert told is not None
    assert ".hoodie/.bucket_index" in told.message


MOVED = "20260101000000000.commit"


def test_half_moved_timeline_starts_no_service_and_is_reported() -> None:
    observed = observe(table=table(), snapshot=foreign(moved=MOVED))
    assert launches(plan_for(observed)) == []
    told = finding(status_of(observed), *DRIFT)
    assert told is not None
    assert f"{MOVED}, where tables of another version have their timeline" in told.message


def test_timeline_that_is_half_moved_leaves_operations_to_their_drivers() -> None:
    (found,) = drift_of(observe(table=table(), snapshot=foreign(moved=MOVED)))
    assert found.refuses == frozenset(Service) - {Service.OPERATION}


def test_timeline_that_a_run_moves_is_no_difference() -> None:
    working = status(active_jobs=(active(service="Operation"),))
    assert drift_of(observe(table=table(status=working), snapshot=foreign(moved=MOVED))) == ()


def test_pattern_of_partitions_that_cannot_be_checked_stops_ingestion_before_a_job() -> None:
    times = {
        "table.keygenerator.class": "org.apache.hudi.keygen.TimestampBasedKeyGenerator",
        "table.partition.fields": "day",
        "keygen.timebased.timestamp.type": "DATE_STRING",
        "keygen.timebased.input.dateformat": "dd-MMM-yyyy",
        "keygen.timebased.output.dateformat": "yyyy-MM-dd",
    }
    found = seen(**times)
    observed = observe(table=table(partitionBy=["day"]), snapshot=found)
    assert Service.INGESTION not in {one.job.service for one in launches(plan_for(observed))}
    ingestion = plan_for(observed).services.ingestion
    assert ingestion.reason == "SpecDrift"
    assert "hoodie.keygen.timebased.input.dateformat" in ingestion.message


COPIED = ShownZone(offset=None, newest_ms=1_767_355_200_000)
IN_TOKYO = replace(COPIED, offset=timedelta(hours=9))


@pytest.mark.parametrize("policy", ["Manage", "Observe"])
@pytest.mark.parametrize(
    ("zone", "declared", "part"),
    [
        (COPIED, None, "files that do not show its zone"),
        (IN_TOKYO, "America/New_York", "while America/New_York was UTC-05:00"),
    ],
)
def test_an_unknown_zone_starts_no_job_and_is_the_reason_also_while_the_table_is_observed(
    policy: str, zone: ShownZone, declared: str | None, part: str
) -> None:
    declaration: dict[str, Any] = {} if declared is None else {"timelineTimeZone": declared}
    observed = observe(table=table(managementPolicy=policy, **declaration), snapshot=foreign(zone=zone))
    assert launches(plan_for(observed)) == []
    after = status_of(observed)
    stalled = find_condition(after.conditions, ConditionType.STALLED)
    found = finding(after, FindingCode.TIMELINE_ZONE_UNKNOWN)
    assert stalled is not None
    assert found is not None
    assert (stalled.status, stalled.reason) == ("True", "TimelineZoneUnknown")
    assert part in stalled.message
    assert part in found.message


def test_a_zone_that_the_files_do_not_show_and_the_spec_declares_starts_jobs() -> None:
    observed = observe(table=table(timelineTimeZone="Asia/Tokyo"), snapshot=foreign(zone=COPIED))
    assert launches(plan_for(observed)) != []


@pytest.mark.parametrize("policy", ["Manage", "Observe"])
def test_compaction_that_completed_before_its_request_starts_nothing(policy: str) -> None:
    compaction = "20260310115500500"
    observed = observe(table=table(managementPolicy=policy), snapshot=foreign(early_compaction=compaction))
    assert launches(plan_for(observed)) == []
    after = status_of(observed)
    stalled = find_condition(after.conditions, ConditionType.STALLED)
    found = finding(after, FindingCode.FILE_SLICES_UNCERTAIN)
    assert stalled is not None
    assert found is not None
    assert (stalled.status, stalled.reason) == ("True", "FileSlicesUncertain")
    for message in (stalled.message, found.message):
        assert compaction in message
        assert "KEEP_LATEST_FILE_VERSIONS" in message


def test_a_renamed_column_starts_nothing_and_names_the_column() -> None:
    evolution = Evolution(is_marked=True, changes=("note was renamed to remark",))
    for policy in ("Manage", "Observe"):
        observed = observe(table=table(managementPolicy=policy), snapshot=foreign(evolution=evolution))
        assert launches(plan_for(observed)) == []
        told = finding(status_of(observed), *DRIFT)
        assert told is not None
        assert "note was renamed to remark" in told.message


def test_columns_that_were_only_added_start_jobs() -> None:
    observed = observe(table=table(), snapshot=foreign(evolution=Evolution(is_marked=True)))
    assert launches(plan_for(observed)) != []


def typed(kind: str) -> TimelineSnapshot:
    return foreign(types=(ColumnType(column="at", kind=kind),))


def test_times_of_milliseconds_keep_ingestion_from_starting_and_nothing_else() -> None:
    observed = observe(table=table(), snapshot=typed("timestamp-millis"))
    assert launches(plan_for(observed)) == []
    after = status_of(observed)
    assert after.services.ingestion.reason == "SpecDrift"
    assert "column at: the table has timestamp-millis" in (after.services.ingestion.message or "")
    stalled = find_condition(after.conditions, ConditionType.STALLED)
    assert stalled is not None
    assert stalled.status == "True"

    left_alone = observe(table=table(ingestion=None), snapshot=typed("timestamp-millis"))
    assert finding(status_of(left_alone), *DRIFT) is None


def test_a_column_that_spark_cannot_read_keeps_compactions_from_starting_and_lets_cleanings_start() -> None:
    commits = [done("deltacommit", 50 - number) for number in range(12)]
    spec: dict[str, Any] = {"type": "MergeOnRead", "ingestion": None, "cleaning": {"trigger": {"commits": 1}}}
    base = story(*commits)
    raw = tuple({**AS_DECLARED, "hoodie.table.type": "MERGE_ON_READ"}.items())
    base = replace(base, properties=replace(base.properties, raw=raw))
    found = snapshot(timeline=base, facts=TableFacts(types=(ColumnType(column="at", kind="time-millis"),)))
    observed = observe(table=table(**spec), snapshot=found)
    assert [one.job.service for one in launches(plan_for(observed))] == ["Cleaning"]
    after = status_of(observed)
    assert after.services.compaction.reason == "SpecDrift"
    told = finding(after, *DRIFT)
    assert told is not None
    assert "column at: the table has time-millis" in told.message
