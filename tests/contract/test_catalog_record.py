"""The record of the last sync of a catalog: what it decides, and what it takes from a stranger."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from hudi_jobs.contract import CatalogRecord, HiveCatalog, decode_catalog, encode_catalog, next_sync, target_of
from hudi_jobs.contract.catalogs.catalog import is_look_due, sync_time

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DIGEST = "0" * 64
ENTRY = {"entry": "team_a.flights", "target": DIGEST}
HIVE = {"uris": ["thrift://metastore:9083"], "database": "team_a", "table": "flights"}


def record(**changes: Any) -> CatalogRecord:
    return CatalogRecord.model_validate({**ENTRY, **changes})


def test_record_survives_writing_and_reading() -> None:
    one = record(instant="20260310110000000", content=DIGEST, syncedAt=sync_time(NOW))
    assert decode_catalog(encode_catalog(one)) == one


@pytest.mark.parametrize(
    "changes",
    [
        {"target": "short"},
        {"entry": "x" * 257},
        {"instant": "../../etc"},
        {"triedAt": "yesterday"},
        {"attempts": -1},
        {"message": "x" * 513},
        {"trouble": "Unknown"},
    ],
    ids=lambda changes: next(iter(changes)),
)
def test_record_with_a_hostile_value_is_not_read(changes: dict[str, Any]) -> None:
    assert decode_catalog(json.dumps({**ENTRY, **changes}).encode()) is None


def test_record_that_is_larger_than_any_is_not_read() -> None:
    assert decode_catalog(json.dumps({**ENTRY, "more": "x" * 9000}).encode()) is None


@pytest.mark.parametrize(("attempts", "minutes"), [(0, 1), (1, 1), (2, 2), (6, 32), (7, 60), (1_000_000, 60)])
def test_wait_after_failed_syncs_doubles_up_to_an_hour(attempts: int, minutes: int) -> None:
    one = record(behindSince=sync_time(NOW), triedAt=sync_time(NOW), attempts=attempts)
    assert next_sync(one, NOW) == NOW + timedelta(minutes=minutes)


@pytest.mark.parametrize("tried", ["2026-99-99T99:99:99Z", "2026-03-11T12:00:00Z"])
def test_impossible_or_future_attempt_asks_for_no_wait(tried: str) -> None:
    assert next_sync(record(behindSince=sync_time(NOW), triedAt=tried), NOW) == NOW


def test_successful_sync_asks_for_no_attempt() -> None:
    assert next_sync(record(syncedAt=sync_time(NOW)), NOW) is None


@pytest.mark.parametrize(
    ("synced", "is_due"),
    [
        (NOW, False),
        (NOW - timedelta(hours=23), False),
        (NOW - timedelta(days=1), True),
        (NOW + timedelta(days=9), True),
    ],
)
def test_entry_is_looked_at_once_a_day_whatever_the_clocks_say(synced: datetime, is_due: bool) -> None:
    assert is_look_due(record(syncedAt=sync_time(synced)), NOW) is is_due


def test_settings_and_uid_decide_on_the_target() -> None:
    one = HiveCatalog.model_validate(HIVE)
    other = HiveCatalog.model_validate({**HIVE, "uris": ["thrift://other:9083"]})
    assert len({target_of(one, "uid-1"), target_of(one, "uid-2"), target_of(other, "uid-1")}) == 3
    assert target_of(one, "uid-1") == target_of(HiveCatalog.model_validate(HIVE), "uid-1")
