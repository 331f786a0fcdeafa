"""What of Kafka a table may reach: nothing that one entry of its class does not allow as a whole."""

from __future__ import annotations

from typing import Any

import pytest
from tests.planning.world import table, table_class

from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.planning.model import BlockerReason
from hudi_operator.planning.policy.class_policy import policy_blockers

OURS: dict[str, Any] = {
    "bootstrapServers": ["kafka-0.example.com:9093", "kafka-1.example.com:9093"],
    "topics": ["{namespace}.*", "shared.rates", "raw_{namespace}"],
    "registries": [{"url": "https://registry.example.com/v1", "secretNames": ["registry-user", "registry-ca"]}],
    "secretNames": ["kafka-user", "kafka-ca"],
}
OTHER: dict[str, Any] = {
    "bootstrapServers": ["other:9092"],
    "topics": ["*"],
    "registries": [{"url": "http://other:8081"}],
    "secretNames": ["other-user"],
}

SOURCE: dict[str, Any] = {
    "bootstrapServers": ["kafka-0.example.com:9093"],
    "topics": ["team-a.orders"],
    "security": {
        "protocol": "SASL_SSL",
        "mechanism": "SCRAM-SHA-512",
        "credentialsSecretName": "kafka-user",
        "caSecretName": "kafka-ca",
    },
}


def blocked(*allowed: dict[str, Any], **changes: Any) -> str:
    """Return why a table is blocked whose source has these changes, or nothing; None leaves a field out."""
    kafka = {name: value for name, value in {**SOURCE, **changes}.items() if value is not None}
    one = table(ingestion={"source": {"kafka": kafka}})
    found = policy_blockers(one, table_class(allowedKafka=list(allowed)))
    assert all(not blocker.hides for blocker in found)
    assert {blocker.reason for blocker in found} <= {BlockerReason.SOURCE_NOT_ALLOWED, BlockerReason.INVALID_PATTERN}
    return " ".join(blocker.message for blocker in found)


ALLOWED: dict[str, dict[str, Any]] = {
    "the source as it is": {},
    "a broker in other letters": {"bootstrapServers": ["KAFKA-1.Example.Com:9093"]},
    "several topics of several allowances": {"topics": ["team-a.orders", "shared.rates", "raw_team-a"]},
    "a pattern inside of a prefix": {"topics": None, "topicPattern": r"team-a\..*"},
    "a pattern that goes on": {"topics": None, "topicPattern": r"team-a\.(orders|returns)-[0-9]+"},
    "a pattern that is a name": {"topics": None, "topicPattern": r"shared\.rates"},
    "a registry with a slash at its end and in other letters": {
        "value": {"format": "Avro"},
        "registry": {"url": "HTTPS://Registry.example.com/v1/".replace("HTTPS", "https")},
    },
    "a registry with Secrets that are for it": {
        "value": {"format": "Avro"},
        "registry": {
            "url": "https://registry.example.com/v1",
            "credentialsSecretName": "registry-user",
            "caSecretName": "registry-ca",
        },
    },
    "no Secret": {"security": None},
}

LEFT_OUT: dict[str, tuple[dict[str, Any], str]] = {
    "another broker": ({"bootstrapServers": ["evil.example.com:9093"]}, "broker evil.example.com:9093"),
    "another port": ({"bootstrapServers": ["kafka-0.example.com:9092"]}, "broker kafka-0.example.com:9092"),
    "one broker of several": (
        {"bootstrapServers": ["kafka-0.example.com:9093", "evil:9093"]},
        "broker evil:9093",
    ),
    "a broker whose name begins like an allowed one": (
        {"bootstrapServers": ["kafka-0.example.com.evil.com:9093"]},
        "broker kafka-0.example.com.evil.com:9093",
    ),
    "a topic of another namespace": ({"topics": ["team-b.orders"]}, "topic team-b.orders"),
    "a topic of a namespace whose longer name begins the same": (
        {"topics": ["team-ab.orders"]},
        "topic team-ab.orders",
    ),
    "a topic that an allowed name begins": ({"topics": ["shared.rates.v2"]}, "topic shared.rates.v2"),
    "a topic in other letters": ({"topics": ["Team-a.orders"]}, "topic Team-a.orders"),
    "one topic of several": ({"topics": ["team-a.orders", "secret"]}, "topic secret"),
    "a pattern of everything": ({"topics": None, "topicPattern": ".*"}, "topics that match .*"),
    "a pattern whose dot is any character": (
        {"topics": None, "topicPattern": "team-a.orders"},
        "topics that match team-a.orders",
    ),
    "a pattern that begins before the prefix ends": (
        {"topics": None, "topicPattern": "team-a[.]orders"},
        "topics that match team-a[.]orders",
    ),
    "a pattern with a choice at its beginning": (
        {"topics": None, "topicPattern": r"(team-a\.orders|secret)"},
        "topics that match",
    ),
    "a pattern that goes on after an allowed name": (
        {"topics": None, "topicPattern": r"shared\.rates.*"},
        "topics that match",
    ),
    "another registry": (
        {"value": {"format": "Avro"}, "registry": {"url": "https://evil.example.com/v1"}},
        "registry https://evil.example.com/v1",
    ),
    "a registry by another protocol": (
        {"value": {"format": "Avro"}, "registry": {"url": "http://registry.example.com/v1"}},
        "registry http://registry.example.com/v1",
    ),
    "another path of a registry": (
        {"value": {"format": "Avro"}, "registry": {"url": "https://registry.example.com/v2"}},
        "registry https://registry.example.com/v2",
    ),
    "another Secret for the password": (
        {"security": {**SOURCE["security"], "credentialsSecretName": "database"}},
        "Secret database",
    ),
    "another Secret for the authorities": (
        {"security": {**SOURCE["security"], "caSecretName": "database"}},
        "Secret database",
    ),
    "another Secret for the certificate": (
        {"security": {**SOURCE["security"], "certificateSecretName": "ingress"}},
        "Secret ingress",
    ),
    "another Secret for the registry": (
        {
            "value": {"format": "Avro"},
            "registry": {"url": "https://registry.example.com/v1", "credentialsSecretName": "database"},
        },
        "Secret database",
    ),
    "the Secret of the brokers for the registry": (
        {
            "value": {"format": "Avro"},
            "registry": {"url": "https://registry.example.com/v1", "credentialsSecretName": "kafka-user"},
        },
        "Secret kafka-user for the registry",
    ),
    "the Secret of the registry for the brokers": (
        {"security": {**SOURCE["security"], "credentialsSecretName": "registry-user"}},
        "Secret registry-user for the brokers",
    ),
    "another Secret for the authorities of the registry": (
        {
            "value": {"format": "Avro"},
            "registry": {"url": "https://registry.example.com/v1", "caSecretName": "database"},
        },
        "Secret database",
    ),
}


@pytest.mark.parametrize("changes", ALLOWED.values(), ids=ALLOWED)
def test_source_inside_one_entry_is_allowed(changes: dict[str, Any]) -> None:
    assert blocked(OURS, **changes) == ""
    assert blocked(OTHER, OURS, **changes) == ""


@pytest.mark.parametrize(("changes", "named"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_source_outside_every_entry_is_named_with_what_to_do(changes: dict[str, Any], named: str) -> None:
    message = blocked(OURS, **changes)
    assert named in message
    assert "allowedKafka of class standard" in message
    assert "ask the platform team" in message


def test_a_class_allows_no_kafka_by_default() -> None:
    message = blocked()
    assert "class standard allows no Kafka cluster: ask the platform team for an entry of allowedKafka" in message


def test_source_split_over_two_entries_is_not_allowed() -> None:
    """Else a Secret of one cluster could be sent to the brokers of another."""
    assert "broker other:9092" in blocked(OURS, OTHER, bootstrapServers=["other:9092"])
    assert "Secret kafka-user for the brokers, Secret kafka-ca for the brokers" in blocked(
        OTHER, bootstrapServers=["other:9092"]
    )
    both = ["kafka-0.example.com:9093", "other:9092"]
    assert "broker other:9092" in blocked(OURS, OTHER, bootstrapServers=both)
    registry = {"url": "http://other:8081"}
    assert "registry http://other:8081" in blocked(OURS, OTHER, value={"format": "Avro"}, registry=registry)


def test_a_secret_of_one_registry_goes_to_no_other_of_the_entry() -> None:
    mirror = {"url": "https://mirror.example.com", "secretNames": ["mirror-user"]}
    entry = {**OURS, "registries": [*OURS["registries"], mirror]}
    registry = {"url": "https://mirror.example.com", "credentialsSecretName": "registry-user"}
    assert "Secret registry-user for the registry" in blocked(entry, value={"format": "Avro"}, registry=registry)
    allowed = registry | {"credentialsSecretName": "mirror-user"}
    assert blocked(entry, value={"format": "Avro"}, registry=allowed) == ""


def test_an_allowance_that_ends_within_the_name_of_a_namespace_opens_nothing() -> None:
    """The API server refuses it in a class, but not in one that it has stored before."""
    assert "topic team-ab.orders" in blocked({**OURS, "topics": ["{namespace}*"]}, topics=["team-ab.orders"])


def test_a_pattern_that_was_stored_and_is_none_blocks_its_table() -> None:
    kafka = {"bootstrapServers": SOURCE["bootstrapServers"], "topicPattern": "team-a[z-a]"}
    one = table(ingestion={"source": {"kafka": kafka}})
    (blocker,) = policy_blockers(one, table_class(allowedKafka=[OURS]))
    assert blocker.reason is BlockerReason.INVALID_PATTERN
    assert "ingestion.source.kafka.topicPattern is not a regular expression" in blocker.message


def test_many_things_that_are_not_allowed_make_a_sentence_of_bounded_length() -> None:
    message = blocked(OURS, topics=[f"{'t' * 247}{number}" for number in range(10, 74)])
    assert "and 56 more" in message
    assert len(message) < 3000


@pytest.mark.parametrize("source", [{}, {"files": None}, {"topic": {}}])
def test_a_source_of_a_kind_that_this_version_does_not_know_is_no_valid_spec(source: dict[str, Any]) -> None:
    document = table().spec.model_dump(by_alias=True, mode="json")
    with pytest.raises(ValueError, match="exactly one of files, kafka and hudi must be set"):
        HudiTableSpec.model_validate({**document, "ingestion": {"source": source}})


def test_a_table_of_files_needs_no_allowance_of_kafka() -> None:
    one: HudiTable = table()
    assert policy_blockers(one, table_class()) == ()
