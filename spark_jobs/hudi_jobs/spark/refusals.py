"""Tells the operator why the API server refuses pods of executors: an annotation of the driver's own pod has its words.

Spark tries again every second and only logs the refusal (ExecutorPodsSnapshotsStoreImpl), so no object says anything.
"""

import json
import logging
import os
import re
import ssl
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.parse import quote

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

from hudi_jobs.contract.pods import EXECUTORS_REFUSED_ANNOTATION
from hudi_jobs.spark.jvm import JavaObject, classes

_SPARK_LOGGER = "org.apache.spark.scheduler.cluster.k8s.ExecutorPodsSnapshotsStoreImpl"
_LOOK_SECONDS = 10.0
_OVER_SECONDS = 60.0
"""Without a refusal for this long, Spark has its pods, or no longer asks for any."""

_TIMEOUT_SECONDS = 10.0
_MOST_CHARACTERS = 1000
_SERVER = "https://kubernetes.default.svc"
_ACCOUNT = Path("/var/run/secrets/kubernetes.io/serviceaccount")

_WORDS = re.compile(r"Failure executing: POST at: \S+/pods\. Message: (?P<words>.+)")
_ADDED = re.compile(
    r"^Forbidden! ?(?:User \S+ doesn't have permission|Configured service account doesn't have access)\. ?"
    r"(?:Service account may have been revoked\. ?)?"
)
"""What the client writes before the words of the API server, whatever refused the pod."""

_NAME = "hudi-operator-refusals"
_FOLLOWS, _IGNORES = False, True
_NUMBER = re.compile(r"-exec-\d+\b")

_LOGGER = logging.getLogger(__name__)


def refusal_of(messages: str) -> str | None:
    """Return the API server's words in the last refusal of a log, without the number of the executor, or None."""
    found = _WORDS.findall(messages)
    words = _ADDED.sub("", found[-1].partition(" Received status: ")[0]).strip() if found else ""
    return _NUMBER.sub("-exec", words)[:_MOST_CHARACTERS] or None


class Refusals:
    """Compares the newest refusal with what was told; `take` returns the messages since the last look."""

    def __init__(
        self,
        take: Callable[[], str],
        tell: Callable[[str | None], None],
        *,
        seconds: Callable[[], float] = time.monotonic,
    ) -> None:
        self._take, self._tell, self._seconds = take, tell, seconds
        self._told: str | None = None
        self._refused_at = 0.0

    def look(self) -> None:
        """Report a new refusal, or the end of refusals."""
        found = refusal_of(self._take())
        if found is not None:
            self._refused_at = self._seconds()
        elif self._seconds() - self._refused_at < _OVER_SECONDS:
            return
        if found != self._told:
            self._tell(found)
            self._told = found


def watch_refusals(spark: SparkSession, settings: Mapping[str, str]) -> None:
    """Tell of refusals while the session runs, if its executors are pods; a failure is only logged."""
    if settings.get("spark.master", "").startswith("k8s:"):
        threading.Thread(target=_watch, args=(spark,), daemon=True).start()


def _watch(spark: SparkSession) -> None:
    try:
        with listening(spark) as take:
            refusals = Refusals(take, annotate_own_pod)
            while True:
                time.sleep(_LOOK_SECONDS)
                _look(refusals)
    except Exception:
        _LOGGER.warning("refused pods of executors are not told any more", exc_info=True)


def _look(refusals: Refusals) -> None:
    try:
        refusals.look()
    except OSError as error:
        if isinstance(error, HTTPError) and 400 <= error.code < 429:
            raise  # such as a role without the right; anything else is tried again


@contextmanager
def listening(spark: SparkSession) -> Iterator[Callable[[], str]]:
    """Yield a function that takes the messages of refusals since its last call; nothing collects them afterwards."""
    log4j = classes(spark).org.apache.logging.log4j
    layout = log4j.core.layout.PatternLayout.newBuilder().withPattern("%ex{short.message}%n").build()
    writer = classes(spark).java.io.StringWriter()
    appender = log4j.core.appender.WriterAppender.createAppender(layout, None, writer, _NAME, _FOLLOWS, _IGNORES)
    appender.start()
    logger = log4j.LogManager.getLogger(_SPARK_LOGGER)
    logger.addAppender(appender)
    try:
        yield lambda: _taken(writer.getBuffer())
    finally:
        with suppress(Py4JError, ConnectionError, EOFError):  # the JVM may have ended
            logger.removeAppender(appender)


def _taken(buffer: JavaObject) -> str:
    messages = str(buffer.toString())
    buffer.setLength(0)
    return messages


def annotate_own_pod(words: str | None, *, server: str = _SERVER, account: Path = _ACCOUNT) -> None:
    """Set the annotation of this pod, or remove it, with the pod's service account."""
    namespace, token = ((account / name).read_text().strip() for name in ("namespace", "token"))
    certificates = account / "ca.crt"
    request = urllib.request.Request(  # noqa: S310 - the address is the cluster's own
        f"{server}/api/v1/namespaces/{quote(namespace, safe='')}/pods/{quote(os.environ['POD_NAME'], safe='')}",
        method="PATCH",
        data=json.dumps({"metadata": {"annotations": {EXECUTORS_REFUSED_ANNOTATION: words}}}).encode(),
        headers={"Content-Type": "application/merge-patch+json", "Authorization": f"Bearer {token}"},
    )
    trusted = ssl.create_default_context(cafile=str(certificates)) if certificates.exists() else None
    with urllib.request.urlopen(request, timeout=_TIMEOUT_SECONDS, context=trusted):  # noqa: S310 - as above
        pass
