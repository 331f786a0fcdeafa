"""What write commands send to the cluster, from values."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone, tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from tests.cli.tables import recorded, view
from tests.planning.world import NOW, ago

from hudi_operator.api.resources import HudiOperation, parse_operation
from hudi_operator.cli.render.request import (
    NotUnderstood,
    operation,
    record_keys,
    repeated,
    requested_at,
    restore_target,
    suspension,
)
from hudi_operator.cli.render.view import TableView

ORDERS = view("orders")


def target(text: str, *, zone: tzinfo = UTC, now: datetime = NOW) -> dict[str, str]:
    return restore_target(ORDERS, text, now=now, zone=zone)


@pytest.mark.parametrize("field", ["restore", "runService", "erase"])
def test_operation_is_one_that_the_operator_reads(field: str) -> None:
    values: dict[str, dict[str, Any]] = {
        "restore": {"instant": "20260310115900000"},
        "runService": {"service": "Compaction"},
        "erase": {"keys": [{"id": "4711"}]},
    }
    made = operation(ORDERS, field, values[field], suffix="1a2b3c", who="anna", dry_run=True)
    parsed = parse_operation({**made, "metadata": {**made["metadata"], "uid": "u"}})
    assert isinstance(parsed, HudiOperation)
    assert (parsed.spec.dry_run, parsed.spec.requested_by, parsed.spec.table_ref.name) == (True, "anna", "orders")
    assert made["metadata"]["name"] == f"orders-{'run-service' if field == 'runService' else field}-1a2b3c"


def test_operation_without_a_known_person_names_nobody() -> None:
    spec = operation(ORDERS, "restore", {"instant": "1"}, suffix="a", who=None)["spec"]
    assert "requestedBy" not in spec
    assert "dryRun" not in spec


def test_name_of_an_operation_fits_and_holds_no_key() -> None:
    document = recorded()["orders"]
    document["metadata"]["name"] = "t" * 39 + ".x" + "y" * 22
    name = operation(TableView.of(document), "erase", {"keys": [{"id": "4711"}]}, suffix="1a", who=None)["metadata"][
        "name"
    ]
    assert name == "t" * 39 + "-erase-1a"
    assert "4711" not in name


def test_repeated_operation_has_a_new_name_and_needs_a_new_approval() -> None:
    first = operation(ORDERS, "restore", {"instant": "20260310115900000"}, suffix="1a", who="anna")
    first["spec"] |= {"approved": True, "ttlAfterFinished": "1h"}
    again = repeated(first, suffix="2b", who="ben")
    assert again["metadata"]["name"] == "orders-restore-1a-2b"
    assert again["spec"] == {
        "tableRef": {"name": "orders"},
        "restore": {"instant": "20260310115900000"},
        "ttlAfterFinished": "1h",
        "requestedBy": "ben",
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20260310115900000", {"instant": "20260310115900000"}),
        ("20260310115900", {"instant": "20260310115900"}),
        ("savepoint/before", {"savepoint": "before"}),
        ("hsp/before", {"savepoint": "before"}),
        ("11:59:30", {"instant": ago(1)}),
        ("11:58", {"instant": ago(6)}),
        ("2026-03-10T11:58:00Z", {"instant": ago(6)}),
        ("2026-03-10 12:58+01:00", {"instant": ago(6)}),
    ],
)
def test_target_of_a_restore_is_an_instant_a_savepoint_or_the_last_commit_by_a_time(
    text: str, expected: dict[str, str]
) -> None:
    assert target(text) == expected


def test_time_of_day_is_in_the_zone_of_the_caller() -> None:
    assert target("13:58", zone=timezone(timedelta(hours=2))) == {"instant": ago(6)}


def test_time_of_an_earlier_day_has_the_offset_of_that_day() -> None:
    berlin, in_summer = ZoneInfo("Europe/Berlin"), datetime(2026, 7, 1, 12, 0, tzinfo=UTC)
    # The commits are of March 10, in winter time; the restore is asked for in summer time.
    assert target("2026-03-10T12:59:05", zone=berlin, now=in_summer) == {"instant": ago(6)}
    assert target("2026-03-10T12:59:06", zone=berlin, now=in_summer) == {"instant": ago(1)}


@pytest.mark.parametrize("text", ["2026-10-25T02:30", "2026-03-29T02:30"])
def test_time_that_the_zone_has_twice_or_skips_is_refused(text: str) -> None:
    with pytest.raises(NotUnderstood, match="add the offset"):
        target(text, zone=ZoneInfo("Europe/Berlin"), now=datetime(2026, 12, 1, tzinfo=UTC))


def test_commit_counts_from_its_completion_and_not_from_its_request() -> None:
    # The newest commit was requested at 11:59:00 and completed six seconds later.
    assert target("11:59:05") == {"instant": ago(6)}
    assert target("11:59:06") == {"instant": ago(1)}


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("10:00", "No commit that the status of HudiTable team-a/orders shows had completed by 2026-03-10T10:00:00Z"),
        ("12:30", "lies in the future"),
        ("yesterday", "neither an instant"),
        ("25:00", "neither an instant"),
        ("0001-01-01T00:00+05:00", "neither an instant"),
        ("savepoint/", "neither an instant"),
        ("2026031011590000", "neither an instant"),
    ],
)
def test_target_that_names_no_commit_is_refused_with_a_sentence(text: str, sentence: str) -> None:
    with pytest.raises(NotUnderstood, match=sentence):
        target(text)


@pytest.mark.parametrize("name", ["failing", "blocked"])
def test_time_is_refused_for_a_table_in_local_time_or_without_a_timeline(name: str) -> None:
    with pytest.raises(NotUnderstood, match="name the instant"):
        restore_target(view(name), "11:00", now=NOW)
    assert restore_target(view(name), "20260310115900000", now=NOW) == {"instant": "20260310115900000"}


def test_keys_are_texts_by_field() -> None:
    given = ["id=4711", "a=1,b=x=y", '{"name": "a,b=c"}']
    assert record_keys(given) == [{"id": "4711"}, {"a": "1", "b": "x=y"}, {"name": "a,b=c"}]


@pytest.mark.parametrize("text", ["4711", "id=", "=4711", "a=1,a=2", "a=1,,b=2", "{", "{}", '{"id": 4711}', ""])
def test_key_that_names_no_record_is_refused(text: str) -> None:
    with pytest.raises(NotUnderstood):
        record_keys([text])


def test_suspension_says_who_and_why_and_is_never_a_word_that_suspends_nothing() -> None:
    assert suspension("maria", "backfill") == "maria: backfill"
    assert suspension("maria", None) == "maria"
    assert suspension(None, "false") == "kubectl hudi: false"


def test_each_request_has_a_value_of_its_own() -> None:
    assert requested_at(NOW) != requested_at(NOW + timedelta(microseconds=1))
    assert requested_at(NOW) == datetime(2026, 3, 10, 12, tzinfo=UTC).isoformat()
