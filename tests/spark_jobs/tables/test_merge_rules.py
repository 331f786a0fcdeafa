"""Which keys the rule of Hudi 0.x and that of 1.2.0 merge to other rows, over records that no writer has to write.

The same rules meet real tables of 0.14 and 0.15, and their own readers, in tests/matrix/test_late_changes.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass, replace
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import expr

from hudi_jobs.contract.table.merging import EarlierMerge, Ordering, earlier_merge_of, ordering_of
from hudi_jobs.preflight.log_records import LogBlock, LoggedRecords, kept_blocks
from hudi_jobs.preflight.merge_rules import NATURAL, OTHER, RECORD, asks_base, differs, may_differ

MODEL = "org.apache.hudi.common.model."
V6 = {
    "hoodie.table.version": "6",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.precombine.field": "ts",
    "hoodie.compaction.payload.class": f"{MODEL}OverwriteWithLatestAvroPayload",
}


def of_payload(name: str | None) -> dict[str, str]:
    rest = {key: value for key, value in V6.items() if "payload" not in key}
    return rest if name is None else rest | {"hoodie.compaction.payload.class": f"{MODEL}{name}"}


OVERWRITES, BY_EVENT_TIME, NAMELESS = V6, of_payload("DefaultHoodieRecordPayload"), of_payload(None)


@dataclass(frozen=True)
class Record:
    """Return a log record of a key, its fields in the order of `RECORD`."""

    place: int
    number: int
    ordering: Any
    is_deleted: bool = False
    is_block: bool = False
    is_comparable: bool = True
    is_natural: bool = False
    is_earlier: bool = True
    is_partial: bool = False


def row(ordering: Any, **changes: bool) -> Record:
    return replace(Record(0, 0, ordering), **changes)


def delete(ordering: Any, **changes: bool) -> Record:
    return replace(Record(0, 0, ordering, is_deleted=True, is_block=True), **changes)


def own(ordering: Any) -> Record:
    return row(ordering, is_earlier=False)


CASES: dict[str, tuple[dict[str, str], str, Sequence[Record], Any, bool]] = {
    "a late row": (OVERWRITES, "bigint", (row(5), row(2)), None, True),
    "a late delete": (OVERWRITES, "bigint", (row(5), delete(2)), None, True),
    "a late row of our own": (OVERWRITES, "bigint", (row(5), own(2)), None, False),
    "a late row of the tool behind ours": (OVERWRITES, "bigint", (own(5), row(2)), None, True),
    "a late row of the tool, and then ours": (OVERWRITES, "bigint", (row(5), row(2), own(1)), None, False),
    "late rows of ours alone": (OVERWRITES, "bigint", (own(5), own(2)), None, False),
    "a delete that is no number": (OVERWRITES, "string", (row("5"), delete("2", is_comparable=False)), None, False),
    "a text in the order of numbers": (OVERWRITES, "string", (row("9"), row("10")), None, True),  # apache/hudi#9635
    "a value that is null": (OVERWRITES, "bigint", (row(5), row(None)), None, True),
    "a single value that is null": (OVERWRITES, "bigint", (row(None),), None, False),
    "a decimal below zero": (OVERWRITES, "decimal(10,2)", (row(Decimal(-2)), row(Decimal(-1))), None, True),
    "a decimal in order": (OVERWRITES, "decimal(10,2)", (row(Decimal(1)), row(Decimal(2))), None, False),
    "a type that is not compared": (OVERWRITES, OTHER, (row(None), row(None)), None, True),
    "a nested column": (OVERWRITES, NATURAL, (row(0), delete(0, is_comparable=False), row(0)), None, False),
    "a row behind a greater delete": (BY_EVENT_TIME, "bigint", (delete(5), row(2)), 1, True),
    "a delete below the base": (BY_EVENT_TIME, "bigint", (delete(5),), 9, True),
    "a delete above the base": (BY_EVENT_TIME, "bigint", (delete(5),), 1, False),
    "a delete without a base": (BY_EVENT_TIME, "bigint", (delete(5),), None, False),
    "a statement below the base": (BY_EVENT_TIME, "bigint", (delete(0, is_natural=True),), 9, False),
    "a late row by event time": (BY_EVENT_TIME, "bigint", (row(5), row(2)), 1, False),
    "a row below the base": (BY_EVENT_TIME, "bigint", (row(2),), 9, False),
    "our delete below the base": (BY_EVENT_TIME, "bigint", (delete(5, is_earlier=False),), 9, False),
    "no payload class, below the base": (NAMELESS, "bigint", (row(2),), 9, True),
    "no payload class, above the base": (NAMELESS, "bigint", (row(9),), 2, False),
    "a toasted value": (of_payload("debezium.PostgresDebeziumAvroPayload"), "string", (row("1"), row("2")), None, True),
    "MySQL in order": (of_payload("debezium.MySqlDebeziumAvroPayload"), "string", (row("1"), row("2")), None, False),
    "MySQL out of order": (of_payload("debezium.MySqlDebeziumAvroPayload"), "string", (row("2"), row("1")), None, True),
    "a late row of DMS": (of_payload("AWSDmsAvroPayload"), "bigint", (row(5), row(2)), None, True),
}


def test_rows_that_the_rules_merge_otherwise_are_found(spark: SparkSession) -> None:
    kinds: dict[str, list[str]] = {}
    for name, (_, kind, *_rest) in CASES.items():
        kinds.setdefault(kind, []).append(name)
    found = {name: is_found for kind, names in kinds.items() for name, is_found in evaluated(spark, kind, names)}
    assert {name: found[name] for name in CASES} == {name: case[-1] for name, case in CASES.items()}


def evaluated(spark: SparkSession, kind: str, names: Sequence[str]) -> list[tuple[str, bool]]:
    typed = {OTHER: "string", NATURAL: "bigint"}.get(kind, kind)
    flags = ", ".join(f"{name}: boolean" for name in RECORD[3:])
    struct = f"place: int, number: bigint, ordering: {typed}, {flags}"
    schema = f"name string, records array<struct<{struct}>>, base {typed}"
    rows = [
        (name, [astuple(replace(each, place=place)) for place, each in enumerate(CASES[name][2])], CASES[name][3])
        for name in names
    ]
    told = ((name, rules_of(CASES[name][0])) for name in names)
    conditions = " ".join(
        f"WHEN name = '{name}' THEN ({may_differ(*rules)}) AND ({differs(*rules, kind)})" for name, rules in told
    )
    frame = spark.createDataFrame(rows, schema)
    return [(one, bool(is_found)) for one, is_found in frame.select("name", expr(f"CASE {conditions} END")).collect()]


def rules_of(properties: dict[str, str]) -> tuple[EarlierMerge, Ordering]:
    found = earlier_merge_of(properties)
    assert found is not None
    return found, ordering_of(properties)


@pytest.mark.parametrize(
    "changes",
    [
        {"hoodie.table.version": "8"},
        {"hoodie.table.version": "9"},
        {"hoodie.table.type": "COPY_ON_WRITE"},
        {"hoodie.table.precombine.field": ""},
    ],
)
def test_table_without_log_files_or_ordering_or_of_a_newer_version_is_not_compared(changes: dict[str, str]) -> None:
    assert earlier_merge_of(V6 | changes) is None


def test_payload_that_is_not_stored_is_the_one_that_0_x_takes() -> None:
    found = earlier_merge_of(NAMELESS)
    assert found is not None
    assert (found.payload, found.is_stored) == ("OverwriteWithLatestAvroPayload", False)
    assert asks_base(found, ordering_of(NAMELESS)), "1.2.0 takes another one, which asks the base file"


def test_block_that_a_later_block_undoes_does_not_count() -> None:
    blocks = [LogBlock("1"), LogBlock("2"), LogBlock("3", undoes="2"), LogBlock("4", deletes=b""), LogBlock("2")]
    assert kept_blocks(blocks, {"1", "2"}) == [LogBlock("1"), LogBlock("2")]


def test_file_group_is_compared_only_where_another_tool_wrote_behind_another_block() -> None:
    logged = LoggedRecords(
        {
            "theirs first": [LogBlock("1"), LogBlock("3")],
            "theirs behind": [LogBlock("3"), LogBlock("1")],
            "ours": [LogBlock("3"), LogBlock("4")],
            "a single one": [LogBlock("1")],
        },
        own=frozenset({"3", "4"}),
    )
    assert set(logged.written_earlier(behind_others=True).groups) == {"theirs behind"}
    assert set(logged.written_earlier(behind_others=False).groups) == {"theirs first", "theirs behind", "a single one"}
