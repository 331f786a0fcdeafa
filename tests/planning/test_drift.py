"""What a table has that its resource declares otherwise is shown, with what to do."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.planning.world import instant, look, observe, status_of, table, timeline

from hudi_operator.api.conditions import ConditionType, find_condition
from hudi_operator.api.resources import InvalidObject, parse_table
from hudi_operator.planning.drift import Drifted, drift_of
from hudi_operator.planning.model import TimelineLook

AS_DECLARED = {"hoodie.table.recordkey.fields": "id"}


def seen(index: str | None = "Bloom", *, name: str = "flights", **properties: str) -> TimelineLook:
    raw = tuple({**AS_DECLARED, **{key.replace("__", "."): text for key, text in properties.items()}}.items())
    base = timeline(instant("20260310115900000"))
    return look(timeline=replace(base, properties=replace(base.properties, name=name, raw=raw)), index=index)


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
        ({"type": "MergeOnRead"}, seen(), ("type", "MERGE_ON_READ", "COPY_ON_WRITE")),
        ({"recordKey": ["id", "at"]}, seen(), ("recordKey", "id,at", "id")),
        ({"partitionBy": ["day"]}, seen(), ("partitionBy", "day", "(none)")),
        ({"partitionBy": ["day"]}, seen(hoodie__table__partition__fields="day:TIMESTAMP"), None),
        ({"tableName": "trips"}, seen(), ("tableName", "trips", "flights")),
    ],
)
def test_what_the_table_has_is_compared(
    declared: dict[str, Any], found: TimelineLook, expected: tuple[str, str, str] | None
) -> None:
    drift = drift_of(table(**declared), found)
    one = Drifted(field=expected[0], declared=expected[1], found=expected[2]) if expected else None
    assert drift == (() if one is None else (one,))


def test_there_is_no_drift_without_a_table() -> None:
    assert drift_of(table(), look()) == ()


def test_the_condition_names_what_is_declared_what_is_there_and_what_to_do() -> None:
    one = table(index={"type": "Bucket", "buckets": 8})
    drift = find_condition(status_of(observe(one, look=seen("Bucket/4"))).conditions, ConditionType.DRIFT)
    assert drift is not None
    assert (drift.status, drift.reason) == ("True", "DeclaredOtherwise")
    assert drift.message.startswith("index: Bucket/8 is declared, and the table has Bucket/4. Nothing is written")
    assert find_condition(status_of(observe(one, look=seen("Bucket/8"))).conditions, ConditionType.DRIFT) is None


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"index": {"type": "InMemory"}}, "InMemory forgets every key when a run ends"),
        ({"recordKey": ["payload.id"]}, "give anything else, such as a field of a struct, a column of its own"),
        ({"orderingFields": ["_hoodie_commit_time"]}, "is none of Hudi's own"),
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
