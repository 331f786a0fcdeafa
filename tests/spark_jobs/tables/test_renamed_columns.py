"""Tables whose columns were changed by `hoodie.schema.on.read.enable`: refused, or exact where columns were only added.

After apache/hudi#7040 (a dropped name is given to another column), #11803 and #7421.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.spark_jobs.trials import sampled

from hudi_jobs.contract import FailureReason, Outcome, Service

pytestmark = pytest.mark.spark

ON = "hoodie.schema.on.read.enable"
KINDS = ("CopyOnWrite", "MergeOnRead")


def made(lake: Any, kind: str, *changes: str) -> None:
    """Make a table by Spark SQL with the option, and change its columns."""
    name = f"changed_{abs(hash((kind, *changes)))}"
    lake.table = {"name": name, "type": kind, "orderingFields": ["ts"]}
    lake.spec = {
        "clustering": {"trigger": {"commits": 1}},
        "index": {"type": "Simple"},
        "fileSizing": {"smallFileLimit": "0"},
    }
    if kind == "MergeOnRead":
        lake.spec["compaction"] = {"trigger": {"deltaCommits": 1}}
    session = lake.spark.newSession()
    for key in (ON, "hoodie.datasource.write.schema.allow.auto.evolution.column.drop"):
        session.sql(f"set {key}=true")
    options = {
        "primaryKey": "id",
        "preCombineField": "ts",
        "type": "cow" if kind == "CopyOnWrite" else "mor",
        "hoodie.metadata.enable": "false",
        "hoodie.table.timeline.timezone": "UTC",
        "hoodie.parquet.small.file.limit": "0",
    }
    told = ", ".join(f"'{key}'='{value}'" for key, value in options.items())
    session.sql(
        f"create table {name} (id int, note string, price double, ts long) using hudi tblproperties ({told}) "
        f"location '{lake.base_path}'"
    )
    session.sql(f"insert into {name} values (1, 'one', 1.5, 1), (2, 'two', 2.5, 1)")
    session.sql(f"insert into {name} values (2, 'zwei', 2.75, 2), (3, 'three', 3.5, 1)")
    for change in changes:
        session.sql(change.format(name))
    session.sql(f"drop table {name}")


def as_its_writer_reads(lake: Any) -> list[tuple[Any, ...]]:
    session = lake.spark.newSession()
    session.sql(f"set {ON}=true")
    frame = session.read.format("hudi").option(ON, "true").load(lake.base_path)
    return sorted(tuple(row) for row in frame.drop(*(name for name in frame.columns if "_hoodie" in name)).collect())


RENAME = "alter table {} rename column note to remark"
DROP = "alter table {} drop column price"
CASES = [
    ("CopyOnWrite", (RENAME,), "note was renamed to remark"),
    ("MergeOnRead", (DROP, "alter table {} rename column note to price"), "note was renamed to price"),
]


@pytest.mark.parametrize(("kind", "changes", "part"), sampled(*reversed(CASES)))
def test_a_renamed_or_dropped_column_refuses_every_run_before_it_writes(
    lake: Any, kind: str, changes: tuple[str, ...], part: str
) -> None:
    made(lake, kind, *changes)
    before, instants = as_its_writer_reads(lake), lake.instants()
    lake.put("a.csv", "id,remark,price,ts\n2,neu,9.75,5\n")
    results = [lake.ingest(), lake.serve(Service.CLUSTERING)]
    results += [lake.serve(Service.COMPACTION)] if kind == "MergeOnRead" else []
    for result in results:
        assert (result.outcome, result.reason) == (Outcome.FAILED, FailureReason.TABLE_MISMATCH)
        assert part in result.message
    assert lake.instants() == instants
    assert as_its_writer_reads(lake) == before


@pytest.mark.parametrize("kind", sampled(*reversed(KINDS)))
def test_columns_that_were_only_added_keep_their_values_through_every_service(lake: Any, kind: str) -> None:
    added = "alter table {} add columns (extra string)"
    made(lake, kind, added, "insert into {} values (4, 'four', 4.5, 1, 'x')")
    before = as_its_writer_reads(lake)
    lake.put("a.csv", "id,note,price,ts,extra\n5,five,5.5,1,y\n4,vier,4.75,2,z\n")
    ddl = "id INT, note STRING, price DOUBLE, ts BIGINT, extra STRING"
    results = [lake.ingest(files={"schemaDdl": ddl})]
    services = [Service.CLUSTERING] if kind == "CopyOnWrite" else [Service.COMPACTION, Service.CLUSTERING]
    results += [lake.serve(service) for service in services]
    assert Outcome.FAILED not in {result.outcome for result in results}, results
    assert {result.outcome for result in results[:2]} == {Outcome.SUCCEEDED}, results
    kept = [row for row in before if row[0] != 4]
    expected = sorted([*kept, (4, "vier", 4.75, 2, "z"), (5, "five", 5.5, 1, "y")])
    assert as_its_writer_reads(lake) == expected
    assert lake.rows("id", "note", "price", "ts", "extra") == expected
