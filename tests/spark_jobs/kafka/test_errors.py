"""What the exceptions of Kafka's clients and of Spark's source are told as."""

import pytest

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.sources.kafka.clients import explained
from hudi_jobs.spark.failures import Cause

KAFKA = "org.apache.kafka.common"


@pytest.mark.parametrize(
    ("kind", "message", "reason"),
    [
        (f"{KAFKA}.errors.TopicAuthorizationException", "Not authorized to access topics: [t]", "SourceAccessDenied"),
        (f"{KAFKA}.errors.GroupAuthorizationException", "Not authorized to access group: g", "SourceAccessDenied"),
        (f"{KAFKA}.errors.ClusterAuthorizationException", "Cluster authorization failed.", "SourceAccessDenied"),
        (f"{KAFKA}.errors.SaslAuthenticationException", "Authentication failed", "SourceAccessDenied"),
        (f"{KAFKA}.errors.SslAuthenticationException", "SSL handshake failed", "SourceAccessDenied"),
        (f"{KAFKA}.errors.InvalidConfigurationException", "Invalid PEM keystore configs", "SourceAccessDenied"),
        (f"{KAFKA}.errors.TimeoutException", "Timed out waiting for a node assignment.", "SourceUnavailable"),
        ("java.util.concurrent.TimeoutException", "", "SourceUnavailable"),
        (f"{KAFKA}.errors.DisconnectException", "", "SourceUnavailable"),
        (f"{KAFKA}.config.ConfigException", "No resolvable bootstrap urls given", "SourceUnavailable"),
        (f"{KAFKA}.errors.UnknownTopicOrPartitionException", "This server does not host it", "SourceNotFound"),
        ("org.apache.kafka.clients.consumer.OffsetOutOfRangeException", "out of range", "InputLost"),
        ("java.lang.IllegalStateException", "Cannot fetch offset 4 (GroupId: g, TopicPartition: t-0).", "InputLost"),
        ("java.lang.OutOfMemoryError", "Java heap space", "OutOfMemory"),
    ],
)
def test_each_exception_has_its_reason(kind: str, message: str, reason: str) -> None:
    wrapped = Cause("java.util.concurrent.ExecutionException", f"{kind}: {message}")
    for causes in ([Cause(kind, message)], [wrapped, Cause(kind, message)]):
        assert explained(causes, "The topics cannot be read").reason is FailureReason(reason)
