"""Which edits of a source leave what is known of its freshness: those after which the same input is read."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.services.test_freshness import freshness_condition
from tests.planning.world import JOB, NOW, at, memory, minutes, observe, run, snapshot, spec, status, table

from hudi_operator.api.spec.source import Source
from hudi_operator.api.spec.source_kind import SourceKind
from hudi_operator.api.status.table_parts import FreshnessStatus
from hudi_operator.planning.model.times import source_of

FILES: dict[str, Any] = {"path": "s3a://landing/flights/", "format": "csv"}
TOPICS: dict[str, Any] = {"bootstrapServers": ["a:9092", "b:9092"], "topics": ["orders", "returns"]}
PATTERN: dict[str, Any] = {"bootstrapServers": ["a:9092"], "topicPattern": "orders-.+"}
AVRO: dict[str, Any] = {
    **TOPICS,
    "value": {"format": "Avro"},
    "registry": {"url": "https://one/", "credentialsSecretName": "one", "caSecretName": "one"},
}
PROTOBUF: dict[str, Any] = {
    **TOPICS,
    "value": {"format": "Protobuf", "protobuf": {"messageType": "a.B", "descriptor": "CgA="}},
}
EVENTS: dict[str, Any] = {**TOPICS, "value": {"envelope": "Debezium", "columns": "id INT"}}
UPSTREAM: dict[str, Any] = {"path": "s3a://lake/orders"}
PLAIN: dict[str, Any] = {"protocol": "PLAINTEXT"}
USER: dict[str, Any] = {"protocol": "SASL_SSL", "mechanism": "SCRAM-SHA-512", "credentialsSecretName": "one"}

SAME: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "options of the reader": ("files", FILES, {"options": {"header": "true"}}),
    "columns of files": ("files", FILES, {"columns": "id INT"}),
    "what is the default": ("kafka", TOPICS, {"startingOffsets": {"at": "Earliest"}, "value": {"format": "Json"}}),
    "the order of brokers and topics": (
        "kafka",
        TOPICS,
        {"bootstrapServers": ["b:9092", "a:9092"], "topics": ["returns", "orders"]},
    ),
    "what happens to a loss": ("kafka", TOPICS, {"onDataLoss": "Skip"}),
    "columns of the message": ("kafka", TOPICS, {"columns": {"offset": "at"}}),
    "columns of JSON": ("kafka", TOPICS, {"value": {"columns": "id INT"}}),
    "who reads topics": ("kafka", TOPICS, {"security": USER}),
    "how the topics of a pattern are reached": (
        "kafka",
        {**PATTERN, "security": USER},
        {"security": {**USER, "mechanism": "SCRAM-SHA-256", "caSecretName": "other"}},
    ),
    "how a registry is reached": (
        "kafka",
        AVRO,
        {"registry": {"url": "https://two/", "credentialsSecretName": "two", "caSecretName": "two"}},
    ),
    "a newer descriptor": (
        "kafka",
        PROTOBUF,
        {"value": {"format": "Protobuf", "protobuf": {"messageType": "a.B", "descriptor": "CgB="}}},
    ),
    "tables of a database": ("kafka", EVENTS, {"value": {**EVENTS["value"], "sourceTables": "Several"}}),
    "what happens to removed rows": ("hudi", UPSTREAM, {"onRemovedRows": "Ignore"}),
    "limits of a run from files": ("files", FILES, {"maxFilesPerRun": 1, "maxBytesPerRun": "1Gi"}),
    "limits of a run from topics": ("kafka", TOPICS, {"maxRecordsPerRun": 1, "maxBytesPerRun": "1Gi"}),
    "a limit of a run from a table": ("hudi", UPSTREAM, {"maxCommitsPerRun": 1}),
}

OTHER: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "another folder": ("files", FILES, {"path": "s3a://landing/trains/"}),
    "other files of the folder": ("files", FILES, {"pathGlob": "*.csv"}),
    "another format": ("files", FILES, {"format": "json"}),
    "another cluster": ("kafka", TOPICS, {"bootstrapServers": ["c:9092"]}),
    "one more topic": ("kafka", TOPICS, {"topics": ["orders", "returns", "refunds"]}),
    "another pattern": ("kafka", PATTERN, {"topicPattern": "returns-.+"}),
    "another beginning": ("kafka", TOPICS, {"startingOffsets": {"at": "Latest"}}),
    "messages of open transactions": ("kafka", TOPICS, {"isolation": "ReadUncommitted"}),
    "messages that delete": ("kafka", TOPICS, {"tombstones": "Delete"}),
    "other values": ("kafka", TOPICS, {"value": {"format": "Raw"}}),
    "change events": ("kafka", TOPICS, {"value": {"envelope": "Debezium"}}),
    "another message": (
        "kafka",
        PROTOBUF,
        {"value": {"format": "Protobuf", "protobuf": {"messageType": "a.C", "descriptor": "CgA="}}},
    ),
    "another subject": ("kafka", AVRO, {"registry": {**AVRO["registry"], "subject": "all"}}),
    "whose topics a pattern finds": ("kafka", {**PATTERN, "security": USER}, {"security": PLAIN}),
    "whose topics a pattern finds now": (
        "kafka",
        {**PATTERN, "security": USER},
        {"security": {**USER, "credentialsSecretName": "two"}},
    ),
    "another table": ("hudi", UPSTREAM, {"path": "s3a://lake/returns"}),
    "another first commit": ("hudi", UPSTREAM, {"startingCommit": "Latest"}),
}


def of(kind: str, source: dict[str, Any]) -> str | None:
    return source_of(spec(ingestion={"source": {kind: source}}))


@pytest.mark.parametrize("name", SAME)
def test_an_edit_after_which_the_same_is_read_leaves_what_is_known(name: str) -> None:
    kind, before, changes = SAME[name]
    assert of(kind, before) == of(kind, {**before, **changes})


@pytest.mark.parametrize("name", OTHER)
def test_after_an_edit_that_may_bring_other_input_nothing_is_known(name: str) -> None:
    kind, before, changes = OTHER[name]
    assert of(kind, before) != of(kind, {**before, **changes})


def test_sources_of_two_kinds_are_never_the_same() -> None:
    assert of("hudi", {"path": "s3a://lake/orders/"}) != of("files", {"path": "s3a://lake/orders/", "format": "csv"})
    assert source_of(spec(ingestion=None)) is None


def test_every_field_of_every_kind_has_been_edited() -> None:
    kinds = {name: field.annotation for name, field in Source.model_fields.items()}
    edited = {(kind, field) for kind, _, changes in (*SAME.values(), *OTHER.values()) for field in changes}
    for name, annotation in kinds.items():
        kind = next(one for one in getattr(annotation, "__args__", ()) if issubclass(one, SourceKind))
        assert {(name, field.alias) for field in kind.model_fields.values()} <= edited


def test_a_table_stays_fresh_when_its_source_is_reached_and_read_differently() -> None:
    source = {**TOPICS, "value": {"columns": "id INT"}}
    known = FreshnessStatus(complete_up_to=at(NOW - minutes(5)), source=of("kafka", source))
    remembered = memory(last_run=run(started_at=at(NOW - minutes(1))), freshness=known)

    def fresh_with(**changes: Any) -> tuple[str, str]:
        asked = {"source": {"kafka": {**source, **changes, "maxRecordsPerRun": 1}}, "freshness": "10m"}
        asked["badRecords"] = {"policy": "Quarantine", "quarantinePath": "s3a://lake/bad"}
        one = table(status=status(ingestion=remembered), generation=2, ingestion=asked)
        return freshness_condition(observe(one, snapshot=snapshot((JOB, at(NOW)))))

    assert fresh_with(security=USER, value={"columns": "id INT, more STRING"}) == ("True", "Fresh")
    assert fresh_with(topics=["orders"]) == ("Unknown", "FreshnessUnknown")
