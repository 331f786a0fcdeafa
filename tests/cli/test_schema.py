"""`schema`: the declared columns beside those of the table, and which commit changed what, from values."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.command import command
from tests.cli.tables import document_of
from tests.planning.world import JOB, NOW, ago, done, instant, observe, snapshot, status_of, story, table

from hudi_jobs.contract.table.facts import facts_of
from hudi_jobs.contract.vocabulary import RUN_KEY
from hudi_operator.cli.render.column_tables import schema_document, schema_text
from hudi_operator.cli.render.explanation import Shown
from hudi_operator.cli.render.view import TableView
from hudi_operator.timeline.content.commits import CommitMetadata
from hudi_operator.timeline.model import CorruptContent, Instant
from hudi_operator.timeline.rules.schema_steps import SchemaHistory, schema_history

SHOWN = Shown(now=NOW)
DECLARED = {
    "columns": [
        {"name": "id", "type": "bigint", "nullable": False, "comment": "Number of the order"},
        {"name": "price", "type": "decimal(8,2)"},
        {"name": "note", "type": "string"},
    ]
}
DECIMAL = {"type": "fixed", "name": "price", "size": 5, "logicalType": "decimal", "precision": 10, "scale": 2}


def avro(**columns: Any) -> str:
    fields = [{"name": name, "type": ["null", kind]} for name, kind in columns.items()]
    return json.dumps({"type": "record", "name": "orders", "fields": fields})


def commit(schema: str | None, run: str = "") -> CommitMetadata:
    return CommitMetadata(extra_metadata={RUN_KEY: run, **({"schema": schema} if schema is not None else {})})


def at(minutes: int) -> Instant:
    return instant(ago(minutes))


STRUCT = {"type": "record", "name": "leg", "fields": [{"name": "miles", "type": ["null", "int"]}]}
HISTORY = schema_history(
    [
        (at(9), commit(avro(id="int", price=DECIMAL))),
        (at(8), commit(None)),
        (at(7), CorruptContent("cut")),
        (at(6), commit(avro(id="int", price=DECIMAL), "orders-ingestion-1")),
        (at(5), commit(avro(id="long", price=DECIMAL, leg=STRUCT), "orders-ingestion-2")),
        (at(4), commit("no schema", "orders-ingestion-3")),
        (at(3), commit(avro(id="long", price=DECIMAL))),
    ]
)


def orders() -> TableView:
    facts = facts_of(schemas=[avro(id="long", price=DECIMAL)], is_marked=False, history=None)
    seen = observe(
        table(recordKey=["id"], schema=DECLARED, partitionBy=[], orderingFields=[]),
        snapshot=snapshot((JOB, ago(1)), timeline=story(done("commit", 1)), facts=facts),
    )
    return TableView.of(document_of("orders", seen.table, status_of(seen).to_document()))


def lines(history: SchemaHistory | None) -> list[str]:
    return [" ".join(line.split()) for line in schema_text(orders(), SHOWN, history).splitlines()]


def test_declared_columns_and_their_differences_need_no_key_of_the_store() -> None:
    found = lines(None)
    assert "id bigint no Number of the order" in found
    drift = "schema.columns[price]: the spec declares decimal(8,2), but the table has decimal(10,2)"
    assert any(drift in one for one in found)
    coming = "schema.columns[note]: the spec declares string, but the table has (none); the next run"
    assert any(coming in one for one in found)


def test_history_says_which_commit_changed_which_column() -> None:
    found = lines(HISTORY)
    assert f"{at(9).time} 2 columns the oldest commit that was read" in found
    assert f"{at(7).time} the schema of this commit cannot be read" in found
    assert f"{at(5).time} id int became bigint orders-ingestion-2" in found
    assert f"{at(5).time} leg.miles added as int orders-ingestion-2" in found
    assert f"{at(4).time} the schema of this commit cannot be read orders-ingestion-3" in found
    assert f"{at(3).time} leg.miles removed, was int" in found


def test_columns_of_the_table_stand_beside_the_declared_columns() -> None:
    found = lines(HISTORY)
    assert "price decimal(8,2) decimal(10,2)" in found
    assert "note string" in found
    assert "price decimal(8,2) decimal(10,2) a column cannot become narrower: declare decimal(10,2)" in found
    assert "note string (none) the next run that writes rows makes the change" in found


def test_document_has_columns_differences_and_steps() -> None:
    found = schema_document(orders(), HISTORY)
    assert [one["name"] for one in found["declared"]] == ["id", "price", "note"]
    assert found["table"] == [{"name": "id", "type": "bigint"}, {"name": "price", "type": "decimal(10,2)"}]
    assert found["history"]["first"] == at(9).time
    changes = {one["instant"]: one["changes"] for one in found["history"]["steps"]}
    assert changes[at(7).time] is None
    assert {"column": "id", "before": "int", "after": "bigint"} in changes[at(5).time]


def test_changed_comment_is_a_step() -> None:
    with_doc = json.loads(avro(id="int"))
    with_doc["fields"][0]["doc"] = "the \x1b order"
    found = schema_history([(at(2), commit(avro(id="int"))), (at(1), commit(json.dumps(with_doc)))])
    text = schema_text(orders(), SHOWN, found)
    assert "comment: the \\x1b order" in text


def test_options_of_a_store_are_for_a_history() -> None:
    assert command("schema", "orders", "--s3-region", "eu").returncode == 2
