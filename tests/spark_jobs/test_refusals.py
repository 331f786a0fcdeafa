"""The words with which the API server refuses pods of executors, from Spark's log to the driver's own pod."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from hudi_jobs.contract.pods import EXECUTORS_REFUSED_ANNOTATION
from hudi_jobs.spark.jvm import classes
from hudi_jobs.spark.refusals import _SPARK_LOGGER, Refusals, annotate_own_pod, listening, refusal_of

POST = "Failure executing: POST at: https://kubernetes.default.svc/api/v1/namespaces/team-a/pods. Message: "
ADDED = "Forbidden!Configured service account doesn't have access. Service account may have been revoked. "
QUOTA = 'pods "run-exec-{}" is forbidden: exceeded quota: none, requested: pods=1, used: pods=0, limited: pods=0.'
TOLD = QUOTA.format("1").replace("-exec-1", "-exec")
LOGGED = f"{POST}{ADDED}{QUOTA.format(1)}\n"


@pytest.mark.parametrize(
    ("messages", "words"),
    [
        (LOGGED, TOLD),
        (f"{POST}Forbidden! User admin doesn't have permission. {QUOTA.format(7)}\n", TOLD),
        (f"{POST}a webhook denied the request. Received status: Status(code=400)\n", "a webhook denied the request."),
        (f"{LOGGED}other\n{POST}the newest\n", "the newest"),
        (f"{POST}{'x' * 5_000}\n", "x" * 1_000),
        ("Failure executing: GET at: https://a/api/v1/namespaces/team-a/pods. Message: no\n", None),
        (POST, None),
        ("", None),
    ],
)
def test_words_are_those_of_the_api_server_in_the_last_refusal(messages: str, words: str | None) -> None:
    assert refusal_of(messages) == words


def test_refusal_is_told_once_until_it_changes_or_is_over() -> None:
    told: list[str | None] = []
    messages, clock = [""], [100.0]
    refusals = Refusals(lambda: messages[0], told.append, seconds=lambda: clock[0])
    for messages[0], clock[0] in [
        ("", 100.0),
        (LOGGED, 110.0),
        (LOGGED.replace("exec-1", "exec-2"), 120.0),
        ("", 179.0),
        ("", 181.0),
        ("", 200.0),
        (f"{POST}something else", 210.0),
    ]:
        refusals.look()
    assert told == [TOLD, None, "something else"]


class Server(HTTPServer):
    """An API server that keeps the patches."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.patches: list[tuple[str, dict[str, str], Any]] = []


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_PATCH(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.patches.append((self.path, dict(self.headers), body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    threading.Thread(target=found.serve_forever, daemon=True).start()
    yield found
    found.shutdown()
    found.server_close()


def test_own_pod_is_annotated_with_its_own_account(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "namespace").write_text("team-a\n")
    (tmp_path / "token").write_text("t0ken\n")
    monkeypatch.setenv("POD_NAME", "run-pod")
    for words in ("no room", None):
        annotate_own_pod(words, server=f"http://127.0.0.1:{server.server_port}", account=tmp_path)
    path, headers, body = server.patches[0]
    assert path == "/api/v1/namespaces/team-a/pods/run-pod"
    assert (headers["Authorization"], headers["Content-Type"]) == ("Bearer t0ken", "application/merge-patch+json")
    assert body == {"metadata": {"annotations": {EXECUTORS_REFUSED_ANNOTATION: "no room"}}}
    assert server.patches[1][2] == {"metadata": {"annotations": {EXECUTORS_REFUSED_ANNOTATION: None}}}


@pytest.mark.spark
def test_what_spark_logs_is_taken_once_while_somebody_listens(spark: SparkSession) -> None:
    jvm = classes(spark)
    log4j = jvm.org.apache.logging.log4j
    log4j.core.config.Configurator.setLevel(_SPARK_LOGGER, log4j.Level.WARN)
    error = jvm.io.fabric8.kubernetes.client.KubernetesClientException(LOGGED.strip())
    of_spark = jvm.org.slf4j.LoggerFactory.getLogger(_SPARK_LOGGER)
    with listening(spark) as take:
        of_spark.warn("Exception when notifying snapshot subscriber.", error)
        assert take() == LOGGED
        assert take() == ""
    of_spark.warn("Exception when notifying snapshot subscriber.", error)
    assert take() == ""
