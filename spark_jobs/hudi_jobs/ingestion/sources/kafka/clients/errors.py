"""Classifies broker errors by the names of Kafka's own exceptions."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from py4j.protocol import Py4JError, Py4JNetworkError

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import DriverStopping, TaskFailed
from hudi_jobs.failures.causes import Cause, causes_of
from hudi_jobs.failures.classification import classify

_LOST = re.compile(
    r"Some data may have been lost because they are not available in Kafka any more|OffsetOutOfRangeException"
    r"|Cannot fetch (?:records in|offset) |may have been missed|Partition\(s\) .* (?:have|has) been deleted"
)
_DENIED = re.compile(
    r"SaslAuthenticationException|SslAuthenticationException|AuthorizationException|AuthenticationException"
    r"|InvalidConfigurationException|SSLHandshakeException|InvalidKeySpecException|LoginException"
    r"|Failed to load SSL keystore|Failed to load PEM SSL keystore|Invalid PEM"
)
_MISSING = re.compile(r"UnknownTopicOrPartitionException|UnknownTopicIdException|InvalidTopicException")
_UNAVAILABLE = re.compile(
    r"TimeoutException|DisconnectException|NetworkException|No resolvable bootstrap urls|NotLeaderOrFollowerException"
    r"|LeaderNotAvailableException|BrokerNotAvailableException|CoordinatorNotAvailableException|UnknownHostException"
    r"|ReplicaNotAvailableException|RetriableException|ConnectException"
)
_TABLES: tuple[tuple[FailureReason, re.Pattern[str], str], ...] = (
    (
        FailureReason.INPUT_LOST,
        _LOST,
        "Messages were removed from the topic while they were read, and nothing was written",
    ),
    (FailureReason.SOURCE_ACCESS_DENIED, _DENIED, "The brokers refused the job, or it does not trust them"),
    (FailureReason.SOURCE_NOT_FOUND, _MISSING, "A topic does not exist"),
    (FailureReason.SOURCE_UNAVAILABLE, _UNAVAILABLE, "The brokers did not answer"),
)


@contextmanager
def asking(doing: str) -> Iterator[None]:
    """Convert errors of Kafka's clients or Spark's source in the block to `TaskFailed`."""
    try:
        yield
    except (TaskFailed, DriverStopping, Py4JNetworkError, ConnectionError):
        raise
    except Exception as error:
        if type(error) is Py4JError:
            raise
        raise explained(causes_of(error), doing) from error


def explained(causes: Sequence[Cause], doing: str) -> TaskFailed:
    """Return the failure for a chain of exceptions."""
    for reason, pattern, advice in _TABLES:
        for cause in reversed(causes):
            if pattern.search(cause.kind) or pattern.search(cause.message):
                return TaskFailed(reason, f"{advice}. {doing}: {cause.first_line}")
    reason, cause = classify(causes, otherwise=FailureReason.SOURCE_UNREADABLE)
    return TaskFailed(reason, f"{doing}: {cause.first_line}")
