"""Every example is accepted as it stands, and those with simple sources become tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from io import BytesIO

import fastavro
import pyarrow as pa
import pyarrow.orc
import pyarrow.parquet
import pytest
import yaml
from tests.e2e.stage import Document, Stage, Table
from tests.spark_jobs.trials import ALL

from toolkit.cluster import ROOT

pytestmark = pytest.mark.e2e

CLASS = "e2e-examples"
MOMENT = datetime(2026, 5, 1, 12, tzinfo=UTC)


def csv() -> bytes:
    return (
        b"carrier,flight,month,dep_delay,time_hour,observed_at\n"
        b"UA,1545,1,2,2013-01-01T05:00:00Z,2013-01-01T06:00:00Z\n"
        b"AA,1141,2,NA,2013-02-01T05:00:00Z,2013-02-01T06:00:00Z\n"
    )


def json_lines() -> bytes:
    return b"".join(
        json.dumps({"event_id": f"e{number}", "user_id": number, "url": "/", "day": "2026-05-01"}).encode() + b"\n"
        for number in range(2)
    )


def avro() -> bytes:
    schema = {
        "type": "record",
        "name": "Payment",
        "fields": [
            {"name": "payment_id", "type": "long"},
            {"name": "booking_day", "type": "string"},
            {"name": "version", "type": "int"},
        ],
    }
    output = BytesIO()
    fastavro.writer(
        output, schema, [{"payment_id": one, "booking_day": "2026-05-01", "version": 1} for one in range(2)]
    )
    return output.getvalue()


def orc() -> bytes:
    output = BytesIO()
    pyarrow.orc.write_table(pa.table({"faa": ["EWR", "JFK"], "name": ["Newark", "Kennedy"]}), output)
    return output.getvalue()


def parquet() -> bytes:
    output = BytesIO()
    columns = {"order_id": [1, 2], "country": ["de", "fr"], "updated_at": [MOMENT, MOMENT], "total": [1.5, 2.5]}
    pyarrow.parquet.write_table(pa.table(columns), output, coerce_timestamps="us")
    return output.getvalue()


def with_bad_rows() -> bytes:
    return (
        b"survey_id,answered_at,score\n"
        b"1,2026-05-01T12:00:00Z,5\n"
        b"2,2026-05-01T12:00:00Z,4\n"
        b",2026-05-01T12:00:00Z,3\n"
        b"4,2026-05-01T12:00:00Z\n"
    )


EVERY: dict[str, tuple[str, Callable[[], bytes]]] = {
    "flights": ("may.csv", csv),
    "clicks": ("may.jsonl", json_lines),
    "payments": ("may.avro", avro),
    "airports": ("may.orc", orc),
    "orders": ("may.parquet", parquet),
    "surveys": ("may.csv", with_bad_rows),
}
"""Table, name of its file, and the content: two good rows each."""

FED = EVERY if ALL else {name: EVERY[name] for name in ("payments", "surveys")}
"""Those that are ingested. `tests/spark_jobs/ingestion/test_ingestion.py` reads every format; Avro needs a jar;
`test_ingestion.py` beside this one has flights."""


@dataclass
class Examples:
    """All examples, applied in a namespace of this test."""

    fed: dict[str, Table]
    others: dict[str, Table]


@pytest.fixture(scope="module")
def examples(stage: Stage) -> Examples:
    """The examples with the namespace and class of this test; tables without data are suspended."""
    tenant = stage.tenant("examples")
    text = "\n---\n".join(path.read_text() for path in sorted((ROOT / "examples").glob("*.yaml")))
    documents = list(yaml.safe_load_all(text.replace("team-a", tenant.name)))
    tables = [document for document in documents if document["kind"] == "HudiTable"]
    table_class = next(document for document in documents if document["kind"] == "HudiTableClass")
    adapted = [adapt(document) for document in tables]
    small = {"mode": "Local", "driver": {"cpu": "200m", "memory": "1536Mi"}}
    stage.make_class(CLASS, **table_class["spec"] | {"execution": small})
    found = {
        document["metadata"]["name"]: Table(stage, tenant.name, document["metadata"]["name"]) for document in tables
    }
    for name, (file, content) in FED.items():
        stage.store.put(f"{found[name].landing}/{file}", content())
    stage.cluster.apply(*adapted)
    return Examples(
        fed={name: found.pop(name) for name in FED},
        others=found,
    )


def adapt(document: Document) -> Document:
    """The table in this test's class; suspended where it has no data, because its failing runs would only cost time."""
    spec = document["spec"]
    idle = {"suspend": True} if "ingestion" in spec and document["metadata"]["name"] not in FED else {}
    return document | {"spec": spec | {"tableClassName": CLASS} | idle}


def test_no_example_is_stalled(examples: Examples) -> None:
    for table in (*examples.fed.values(), *examples.others.values()):
        status = table.wait(lambda status: status.get("conditions"), what="reconciled")
        assert "Stalled" not in {one["type"] for one in status["conditions"]}, (table.name, status)


@pytest.mark.parametrize("name", FED)
def test_an_example_with_data_becomes_a_table(examples: Examples, name: str) -> None:
    run = examples.fed[name].wait_ready()["history"][-1]

    quarantined = 2 if name == "surveys" else 0
    assert (run["outcome"], run["filesRead"], run["rowsQuarantined"]) == ("Succeeded", 1, quarantined)
    assert run["rowsRead"] == 2 + quarantined
    assert len(examples.fed[name].commits()) == 1
    examples.fed[name].patch({"spec": {"suspend": True}})  # those that run each minute would take time from all others


def test_rows_that_cannot_be_read_are_set_aside_where_the_example_says(stage: Stage, examples: Examples) -> None:
    surveys = examples.fed["surveys"]
    run = surveys.wait_ready()["history"][-1]
    files = stage.store.files(f"landing/{surveys.namespace}/rejected/surveys/{run['job']}/")

    text = b"".join(stage.store.get(f"landing/{file}") for file in files if file.endswith(".json")).decode()
    assert len(text.splitlines()) == 2
    assert "may.csv" in text
