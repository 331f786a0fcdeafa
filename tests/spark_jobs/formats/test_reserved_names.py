"""Columns of values under names that the driver or Hudi means something by: refused, and never left out in silence."""

from typing import Any

import pytest
from pyspark.sql import SparkSession
from tests.spark_jobs.formats.events import postgres
from tests.spark_jobs.formats.messages import Topic, avro_value, context_of, rows_of, table, unwrapped
from tests.spark_jobs.formats.registry_server import fake_registry

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.rows import CORRUPT_RECORD, FAULT
from hudi_jobs.ingestion.sources.kafka.formats.format_registry import format_of
from hudi_jobs.spark.failures import TaskFailed

pytestmark = pytest.mark.spark


def decoded(topic: Topic, **source: Any) -> Any:
    context, kafka = context_of(topic.spark, source)
    return format_of(kafka).decode(context, kafka, topic.frame())


@pytest.mark.parametrize("name", ["_hoodie_is_deleted", "_sequence", "_message"])
def test_a_json_value_that_marks_its_deletes_itself_is_not_taken_for_a_row(spark: SparkSession, name: str) -> None:
    topic = Topic(spark)
    topic.put({"id": 1, name: True})
    for value in ({"format": "Json"}, {"format": "Json", "schema_ddl": f"id BIGINT, {name} BOOLEAN"}):
        with pytest.raises(TaskFailed, match=name) as refused:
            decoded(topic, value=value)
        assert refused.value.reason is FailureReason.SCHEMA_INCOMPATIBLE
    assert decoded(topic, value={"format": "Json", "schema_ddl": "id BIGINT"}).columns == ["id"]


def test_what_spark_infers_of_broken_json_takes_no_column_of_a_value(spark: SparkSession) -> None:
    topic = Topic(spark)
    topic.put({"id": 1, "_corrupt": "x"}, b'{"id": 1')
    good, _ = rows_of(decoded(topic, value={"format": "Json"}))
    assert (good["id"], good["_corrupt"]) == (1, "x")


def test_names_that_differ_in_the_case_of_letters_are_refused_with_both(spark: SparkSession) -> None:
    topic = Topic(spark)
    topic.put({"id": 1, "v": 2}, {"id": 2, "V": 3})
    with pytest.raises(TaskFailed, match="the columns V and v, which are the same column in a table"):
        decoded(topic, value={"format": "Json"})


def test_a_text_that_names_a_field_twice_is_a_bad_record(spark: SparkSession) -> None:
    topic = Topic(spark)
    topic.put(b'{"id": 1, "id": 2, "v": {"a": 1}}', b'{"id": 3, "v": {"a": 1, "a": 2}}', b'{"id": 4, "v": {"a": 1}}')
    rows = rows_of(decoded(topic, value={"format": "Json"}))
    assert table(rows, "id", FAULT) == [
        (None, (None, "It is no JSON: Duplicate field 'id'")),
        (None, (None, "It is no JSON: Duplicate field 'a'")),
        (4, None),
    ]
    topic.values.clear()
    topic.put(
        postgres("c", None, lsn=1) | {"after": "x"}, b'{"op": "c", "source": {"lsn": 5}, "after": {"id": 1, "id": 2}}'
    )
    rows = rows_of(unwrapped(topic, ddl=None))
    assert [(row["id"], row[CORRUPT_RECORD] is None) for row in rows] == [(None, False), (None, False)]


def test_an_avro_record_with_such_a_field_is_refused(spark: SparkSession) -> None:
    schema = {"type": "record", "name": "R", "fields": [{"name": "_hoodie_is_deleted", "type": "boolean"}]}
    topic = Topic(spark)
    topic.put(avro_value(1, schema, {"_hoodie_is_deleted": True}))
    with fake_registry() as registry:
        registry.schema(1, schema)
        with pytest.raises(TaskFailed, match="_hoodie_is_deleted"):
            decoded(topic, value={"format": "Avro"}, registry={"url": registry.url})


def test_such_a_field_of_a_schema_that_is_merely_registered_stops_nothing(spark: SparkSession) -> None:
    first = {"type": "record", "name": "R", "fields": [{"name": "id", "type": "int"}]}
    marks = {"name": "_hoodie_is_deleted", "type": "boolean", "default": False}
    others = [{"name": name, "type": "int", "default": 0} for name in ("ID", "offset", "more")]
    second = {**first, "fields": [*first["fields"], marks, *others]}
    topic = Topic(spark)
    topic.put(avro_value(1, first, {"id": 7}))
    settings: dict[str, Any] = {"value": {"format": "Avro"}, "columns": {"offset": "offset"}}
    with fake_registry() as registry:
        settings["registry"] = {"url": registry.url}
        registry.schema(1, first)
        registry.schema(2, second)
        found = decoded(topic, **settings)
        assert found.columns == ["id", "more"]
        assert "_hoodie_is_deleted, ID, offset" in found.remark
        topic.put(avro_value(2, second, {"id": 8, "_hoodie_is_deleted": True, "ID": 1, "offset": 2, "more": 3}))
        with pytest.raises(TaskFailed, match="the columns id and ID"):
            decoded(topic, **settings)


def test_a_table_of_the_database_with_such_a_column_is_refused(spark: SparkSession) -> None:
    with pytest.raises(TaskFailed, match=r"column _sequence.*column\.exclude\.list"):
        unwrapped(Topic(spark), ddl="id BIGINT, _sequence BIGINT")
