"""Task failures: a class that the operator acts on, a sentence for a person, and the Java exceptions behind it."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError

from hudi_jobs.contract import FailureReason
from hudi_jobs.spark.jvm import JavaObject


class TaskFailed(Exception):
    """The task failed; `message` is a sentence with the remedy."""

    def __init__(self, reason: FailureReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Unfinished(Exception):
    """A failed run, with what it reports nevertheless: fields of its `TaskResult`. `cause` is the failure itself."""

    def __init__(self, cause: Exception, **reported: Any) -> None:  # noqa: ANN401 - as for `copy_with`
        super().__init__(str(cause))
        self.cause = cause
        self.reported = reported


class DriverStopping(Exception):
    """The pod is being stopped, so no new work begins."""


_DEEPEST = 20
_CAUSED_BY = re.compile(r"^\s*Caused by: ([\w.$]+)(?:: (.*))?$", re.MULTILINE)
_TASK_FAILURE = re.compile(r"Lost task [^\n]*?: ([\w.$]+)(?:: (.*))?")


@dataclass(frozen=True)
class Cause:
    """An exception of a chain: its Java class name and message."""

    kind: str
    message: str

    @property
    def first_line(self) -> str:
        """The part of the message to show to a person.

        The S3 client's request details are cut: their ids differ each time, and would change the status each time.
        """
        lines = self.message.strip().splitlines()
        return lines[0].partition(" (Service:")[0].strip() if lines else self.kind.rpartition(".")[2]


def causes_of(error: BaseException) -> tuple[Cause, ...]:
    """Return the exception chain of a PySpark or py4j error.

    Failures of distributed tasks arrive as text inside the outer message, so their classes are parsed from it too.
    """
    java = error.java_exception if isinstance(error, Py4JJavaError) else getattr(error, "_origin", None)
    if java is None:
        return (Cause(type(error).__name__, str(error)),)
    chain: list[Cause] = []
    while java is not None and len(chain) < _DEEPEST:
        chain.append(Cause(str(java.getClass().getName()), _message(java)))
        java = java.getCause()
    embedded = [found for cause in chain for found in _embedded(cause.message)]
    return (*chain, *(cause for cause in embedded if cause not in chain))


def _message(java: JavaObject) -> str:
    message = java.getMessage()
    return "" if message is None else str(message)


def _embedded(message: str) -> list[Cause]:
    found = [*_TASK_FAILURE.findall(message), *_CAUSED_BY.findall(message)]
    return [Cause(kind, text) for kind, text in found]


_OUT_OF_MEMORY = re.compile(
    r"java\.lang\.OutOfMemoryError|SparkOutOfMemoryError|OutOfMemoryError|OOMKilled|exit code 137|exited with code 52\b"
)
_ACCESS_DENIED = re.compile(
    r"AccessDeniedException|AccessControlException|NoAuthWithAWSException|InvalidAccessKeyId|SignatureDoesNotMatch"
    r"|CredentialInitializationException|Status Code: 40[13]|NoAwsCredentials|ExpiredToken|Permission denied"
    r"|PermissionDeniedError|UnauthenticatedError"
)
_STORE_MISSING = re.compile(r"UnknownStoreException|NoSuchBucket")
_UNAVAILABLE = re.compile(
    r"ConnectException|ConnectTimeoutException|SocketTimeoutException|UnknownHostException|NoRouteToHostException"
    r"|Unable to execute HTTP request|Connection refused|AWSStatus500Exception|AWSServiceThrottledException"
    r"|Status Code: 5\d\d|Timeout waiting for connection from pool|error sending request"
)
_FULL = re.compile(
    r"No space left on device|Disk quota exceeded|QuotaExceededException|StorageFull|InsufficientStorage"
    r"|Status Code: 507"
)
_LOCK = re.compile(r"KeeperException|ConnectionLoss|Unable to acquire (the )?lock|FAILED_TO_ACQUIRE")
_CONFLICT = re.compile(r"HoodieWriteConflictException|HoodieClusteringUpdateException|HoodieLockException")
_SCHEMA = re.compile(r"SchemaBackwardsCompatibilityException|MissingSchemaFieldException|SchemaCompatibilityException")
_KEY = re.compile(r"HoodieKeyException")
_DIFFERS = re.compile(r"^(\S+):\t([^\t\n]*)\t([^\t\n]*)$", re.MULTILINE)
_MOST_DIFFERENCES, _LONGEST_VALUE = 5, 200

_ADVICE = {
    FailureReason.OUT_OF_MEMORY: "The job ran out of memory; give its driver or executors more.",
    FailureReason.STORAGE_ACCESS_DENIED: (
        "The object store refused access; check the credentials and their permissions."
    ),
    FailureReason.STORAGE_UNAVAILABLE: "The object store did not answer; check that it is up and reachable.",
    FailureReason.STORAGE_FULL: "The store is full; make room on it or raise its quota.",
    FailureReason.LOCK_UNAVAILABLE: "The lock of the table could not be acquired; check that ZooKeeper runs and is "
    "reachable.",
    FailureReason.CONFLICT: "Another writer changed the same files; the run can be repeated.",
    FailureReason.SCHEMA_INCOMPATIBLE: "Hudi refused the incoming schema; adapt it in the transform.",
    FailureReason.RECORD_KEY_NULL: "A row has no record key; fill it in the transform or correct the source.",
}

_EVERYWHERE: tuple[tuple[FailureReason, re.Pattern[str]], ...] = (
    (FailureReason.OUT_OF_MEMORY, _OUT_OF_MEMORY),
    (FailureReason.SOURCE_NOT_FOUND, _STORE_MISSING),
    (FailureReason.STORAGE_FULL, _FULL),
    (FailureReason.STORAGE_ACCESS_DENIED, _ACCESS_DENIED),
    (FailureReason.STORAGE_UNAVAILABLE, _UNAVAILABLE),
)
_WHEN_WRITING: tuple[tuple[FailureReason, re.Pattern[str]], ...] = (
    (FailureReason.LOCK_UNAVAILABLE, _LOCK),
    (FailureReason.CONFLICT, _CONFLICT),
    (FailureReason.SCHEMA_INCOMPATIBLE, _SCHEMA),
    (FailureReason.RECORD_KEY_NULL, _KEY),
)


def classify(causes: Sequence[Cause], *, otherwise: FailureReason) -> tuple[FailureReason, Cause]:
    """Return the failure class and the cause that shows it; `otherwise` if no table matches.

    Failures of the store or memory are the same everywhere; the others depend on the stage.
    """
    tables = _EVERYWHERE + (_WHEN_WRITING if otherwise is FailureReason.HUDI_ERROR else ())
    for reason, pattern in tables:
        for cause in reversed(causes):
            if pattern.search(cause.kind) or pattern.search(cause.message):
                return reason, cause
    return otherwise, _most_telling(causes)


def config_conflict(causes: Sequence[Cause]) -> str | None:
    """Return a sentence on the options that differ from `hoodie.properties`, or None.

    The first line of Hudi's own text names neither (`HoodieWriterUtils.validateTableConfig`).
    """
    text = next((cause.message for cause in causes if cause.message.strip().startswith("Config conflict(")), None)
    if text is None:
        return None
    found = [tuple(part[:_LONGEST_VALUE] for part in each) for each in _DIFFERS.findall(text)]
    reported = [
        f"{key} is {existing or '(empty)'} in the table, but this run was given {given or '(empty)'}"
        for key, given, existing in found[:_MOST_DIFFERENCES]
    ]
    return f"{'; '.join(reported)}. Declare what the table has." if reported else "hoodie.properties says otherwise."


def is_storage_failure(text: str) -> bool:
    """Tell whether an error text concerns the store or memory, not the data."""
    return any(pattern.search(text) for _, pattern in _EVERYWHERE)


def _most_telling(causes: Sequence[Cause]) -> Cause:
    """Return the innermost cause with a message."""
    return next((cause for cause in reversed(causes) if cause.message.strip()), causes[0])


@contextmanager
def stage(doing: str, *, otherwise: FailureReason) -> Iterator[None]:
    """Convert PySpark's exceptions in the block to `TaskFailed`; `doing` names the stage.

    Lost connections to the JVM pass through: only the driver program can tell why the JVM ended.
    """
    try:
        yield
    except (TaskFailed, DriverStopping, Py4JNetworkError, ConnectionError):
        raise
    except Exception as error:
        if type(error) is Py4JError:
            raise
        causes = causes_of(error)
        if (conflict := config_conflict(causes)) is not None:
            raise TaskFailed(FailureReason.TABLE_MISMATCH, f"{doing}: {conflict}") from error
        reason, cause = classify(causes, otherwise=otherwise)
        advice = _ADVICE.get(reason)
        detail = f"{doing}: {cause.first_line}"
        raise TaskFailed(reason, f"{advice} {detail}" if advice else detail) from error
