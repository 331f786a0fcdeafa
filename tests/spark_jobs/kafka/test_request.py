"""What a request may say of Kafka: everything else is refused before a broker is asked."""

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract import FailureReason, IngestionTask, KafkaSource, TableDefinition
from hudi_jobs.ingestion.sources.kafka.clients import client_options, reader_options
from hudi_jobs.ingestion.sources.kafka.request import matching, moment, require_request
from hudi_jobs.spark.failures import TaskFailed

TABLE = {"name": "t", "basePath": "s3a://lake/t", "type": "CopyOnWrite", "recordKey": ["id"]}
SASL = {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "credentialsFolder": "/etc/kafka/user"}


def check(source: dict[str, Any], ingestion: dict[str, Any] | None = None, table: dict[str, Any] | None = None) -> None:
    document = {"kind": "kafka", "bootstrapServers": "broker-1:9092", "topics": ["orders"], **source}
    task = IngestionTask.model_validate({"source": document, **(ingestion or {})})
    assert isinstance(task.source, KafkaSource)
    require_request(task, task.source, TableDefinition.model_validate(TABLE | (table or {})))


@pytest.mark.parametrize(
    "source",
    [
        {},
        {"bootstrapServers": "a.b-c_d:1,10.0.0.1:9092,[2001:db8::1]:9093"},
        {"topics": ["a.b_c-D", "x" * 249]},
        {"topics": [], "topicPattern": r"shop\.(orders|returns)(-[a-z0-9]+)?\..*"},
        {"security": SASL},
        {
            "security": {
                "protocol": "SSL",
                "caFile": "/etc/kafka/ca/ca.crt",
                "certificateFolder": "/etc/kafka/tls/..data",
            }
        },
        {"startingOffsets": {"timestamp": "2026-11-24T00:00:00Z"}},
        {"startingOffsets": {"reset": "Latest"}, "value": {"schemaDdl": "id INT"}},
    ],
)
def test_valid_kafka_request_is_accepted(source: dict[str, Any]) -> None:
    check(source)


@pytest.mark.parametrize(
    "source",
    [
        {"bootstrapServers": ""},
        {"bootstrapServers": "broker"},
        {"bootstrapServers": "broker:9092,"},
        {"bootstrapServers": "${dir:/etc:passwd}:9092"},
        {"bootstrapServers": "broker:9092\nsasl.mechanism=PLAIN"},
        {"bootstrapServers": "SSL://broker:9092"},
        {"topics": []},
        {"topics": ["orders"], "topicPattern": "x"},
        {"topics": ["orders", "orders"]},
        {"topics": [".."]},
        {"topics": ["a b"]},
        {"topics": ["${env:HOME}"]},
        {"topics": ["__consumer_offsets"]},
        {"topics": [], "topicPattern": ""},
        {"topics": [], "topicPattern": "(a+)+b"},
        {"topics": [], "topicPattern": "(a|aa)*b"},
        {"topics": [], "topicPattern": ".*.*.*.*"},
        {"topics": [], "topicPattern": "(?i)orders"},
        {"topics": [], "topicPattern": "a{1000}"},
        {"topics": [], "topicPattern": "(orders"},
        {"topics": [], "topicPattern": "[z-a]"},
        {"topics": [], "topicPattern": "${env:HOME}"},
        {"security": {"protocol": "SASL_SSL"}},
        {"security": {**SASL, "protocol": "PLAINTEXT"}},
        {"security": {**SASL, "credentialsFolder": "relative"}},
        {"security": {**SASL, "credentialsFolder": "/etc/../root"}},
        {"security": {**SASL, "credentialsFolder": '/etc/x" other="'}},
        {"security": {**SASL, "credentialsFolder": "/etc/${env:HOME}"}},
        {"security": {**SASL, "credentialsFolder": "/etc/a:b}"}},
        {"security": {"protocol": "SASL_PLAINTEXT", "mechanism": "PLAIN", "credentialsFolder": "/a", "caFile": "/b"}},
        {"startingOffsets": {"timestamp": "yesterday"}},
        {"startingOffsets": {"timestamp": "2026-11-24T00:00:00"}},
        {"startingOffsets": {"reset": "Latest"}},
        {"columns": {"key": "k", "topic": "k"}},
        {"columns": {"key": "_hoodie_is_deleted"}},
        {"columns": {"key": ""}},
    ],
)
def test_invalid_kafka_request_is_refused(source: dict[str, Any]) -> None:
    with pytest.raises(TaskFailed) as refused:
        check(source)
    assert refused.value.reason is FailureReason.INVALID_REQUEST


def test_a_stream_overwrites_nothing() -> None:
    with pytest.raises(TaskFailed, match="InsertOverwrite"):
        check({}, {"operation": "InsertOverwrite"})


BY_OFFSET = {"orderingFields": ["at", "OFFSET"]}
WITH_OFFSET = {"columns": {"offset": "offset", "topic": "topic"}}
SEVERAL = [{"topics": ["a", "b"]}, {"topics": [], "topicPattern": "orders"}]


@pytest.mark.parametrize("topics", SEVERAL)
def test_offsets_of_several_topics_order_no_table(topics: dict[str, Any]) -> None:
    with pytest.raises(TaskFailed, match="offset of the message, which orders the messages of one topic") as refused:
        check({**WITH_OFFSET, **topics}, table=BY_OFFSET)
    assert refused.value.reason is FailureReason.INVALID_REQUEST
    assert "leave orderingFields out" in refused.value.message


@pytest.mark.parametrize("topics", SEVERAL)
def test_offsets_may_be_an_ordering_where_none_of_them_decides_between_topics(topics: dict[str, Any]) -> None:
    check(WITH_OFFSET, table=BY_OFFSET)
    check({**WITH_OFFSET, **topics}, table={"orderingFields": ["at"]})
    check({**WITH_OFFSET, **topics}, {"operation": "Insert"}, BY_OFFSET)
    check({**WITH_OFFSET, **topics}, table={**BY_OFFSET, "recordKey": ["topic", "id"]})
    check({**WITH_OFFSET, **topics}, table={**BY_OFFSET, "recordKey": ["topic_id", "offset"]})


def test_patterns_mean_whole_names_and_never_kafkas_own_topics() -> None:
    names = ["orders", "orders-eu", "my-orders", "__orders", "orders\n"]
    assert matching("orders.*", names) == ["orders", "orders-eu"]
    assert matching(".*", names) == ["my-orders", "orders", "orders-eu"]
    assert matching("nothing|orders", names) == ["orders"]


@given(st.from_regex(r"([a.]\*?|\[a\]\+?|\|){1,60}", fullmatch=True))
def test_no_pattern_that_is_allowed_takes_long(pattern: str) -> None:
    begun = time.process_time()
    try:
        matching(pattern, ["a" * 248 + "!"])
    except TaskFailed:
        return
    assert time.process_time() - begun < 2


def test_times_are_milliseconds() -> None:
    assert moment("1970-01-01T01:00:00.5+01:00") == 500


def test_options_hold_no_secret_and_check_the_name_of_the_broker() -> None:
    certificates = {"caFile": "/etc/ca/ca.crt", "certificateFolder": "/etc/tls"}
    document = {"bootstrapServers": "b:1", "topics": ["t"], "security": {**SASL, **certificates}}
    options = client_options(KafkaSource.model_validate(document))
    assert options["sasl.jaas.config"] == (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        'username="${secret:/etc/kafka/user:username}" password="${secret:/etc/kafka/user:password}";'
    )
    assert options["ssl.keystore.key"] == "${dir:/etc/tls:tls.key}"
    assert options["ssl.truststore.location"] == "/etc/ca/ca.crt"
    assert options["ssl.endpoint.identification.algorithm"] == "https"
    assert options["config.providers"] == "dir,secret"
    reader = reader_options(KafkaSource.model_validate(document))
    assert reader == {**options, "isolation.level": "read_committed"}
