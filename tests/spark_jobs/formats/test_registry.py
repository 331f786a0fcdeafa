"""The client of a schema registry, against servers that answer as they should not."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.spark_jobs.formats.registry_server import FakeRegistry, Reply, fake_registry

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.sources.kafka import SchemaRegistry
from hudi_jobs.ingestion.sources.kafka.formats.schema_registry.client import Registry
from hudi_jobs.ingestion.sources.kafka.formats.schema_registry.http import Bounds, required_url
from hudi_jobs.ingestion.sources.kafka.formats.schema_registry.schemas import Reference
from hudi_jobs.spark.failures import TaskFailed

QUICK = Bounds(seconds=1, attempts=3, pause=0, answer=10_000)


@pytest.fixture
def server() -> Iterator[FakeRegistry]:
    with fake_registry() as registry:
        yield registry


def client(url: str, **more: str) -> Registry:
    return Registry(SchemaRegistry(url=url, **more), QUICK)


def failure(url: str, **more: str) -> TaskFailed:
    with pytest.raises(TaskFailed) as caught:
        client(url, **more).by_id(1)
    return caught.value


def test_a_schema_is_read_by_its_id_and_asked_for_once(server: FakeRegistry) -> None:
    server.put("/schemas/ids/7", {"schema": '"string"'})
    registry = client(server.url + "/")
    found = registry.by_id(7)
    assert found is not None
    assert (found.language, found.text, found.references) == ("AVRO", '"string"', ())
    assert registry.by_id(7) == found
    assert server.asked == ["/schemas/ids/7"]


def test_the_newest_schema_of_a_subject_is_read_whatever_is_in_its_name(server: FakeRegistry) -> None:
    server.put("/subjects/a%2F..%3Fb%20c-value/versions/latest", {"schema": '"int"', "schemaType": "AVRO"})
    found = client(server.url).latest("a/..?b c-value")
    assert found is not None
    assert found.text == '"int"'


@pytest.mark.parametrize("code", [40401, 40402, 40403])
def test_schema_missing_in_the_registry_is_none(server: FakeRegistry, code: int) -> None:
    server.put("/schemas/ids/1", {"error_code": code, "message": "not found"}, status=404)
    assert client(server.url).by_id(1) is None


def test_credentials_come_from_files_and_are_sent_each_time(server: FakeRegistry, tmp_path: Path) -> None:
    (tmp_path / "username").write_text("reader\n")
    (tmp_path / "password").write_text("pass:word\n")
    server.put("/schemas/ids/1", {"schema": "{}"})
    client(server.url, credentials_folder=str(tmp_path)).by_id(1)
    assert server.authorizations == ["Basic cmVhZGVyOnBhc3M6d29yZA=="]


def test_a_secret_without_a_password_is_an_invalid_request(server: FakeRegistry, tmp_path: Path) -> None:
    (tmp_path / "username").write_text("reader")
    failed = failure(server.url, credentials_folder=str(tmp_path))
    assert failed.reason is FailureReason.INVALID_REQUEST
    assert "password" in failed.message


@pytest.mark.parametrize("status", [401, 403])
def test_refused_credentials_are_said_at_once(server: FakeRegistry, status: int) -> None:
    server.replies["/schemas/ids/1"] = Reply(status)
    assert failure(server.url).reason is FailureReason.SOURCE_ACCESS_DENIED
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(500), "status 500"),
        (Reply(503), "status 503"),
        (Reply(404, b"<html>"), "status 404"),
        (Reply(404, b'{"error_code": "40403"}'), "status 404"),
        (Reply(204, b""), "status 204"),
        (Reply(302, headers={"Location": "http://169.254.169.254/latest"}), "redirects"),
        (Reply(302, headers={"Location": "file:///etc/passwd"}), "redirects"),
        (Reply(200, b"<html>"), "not JSON"),
        (Reply(200, b"[" * 9_000), "not JSON"),
        (Reply(200, b"[1]"), "not an object"),
        (Reply(200, b'{"schema": 1}'), "no schema"),
        (Reply(200, b'{"schema": "", "references": [{"name": 1}]}'), "a reference without"),
        (Reply(200, b'{"schema": "", "references": [' + b"1," * 300 + b"1]}"), "more than 200 references"),
        (Reply(200, b" " * 20_000), "more than 10,000 bytes"),
        (Reply(200, b"{}" * 100, drip=0.1), "in time"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_registry_that_answers_wrongly_cannot_be_used(server: FakeRegistry, reply: Reply, said: str) -> None:
    server.replies["/schemas/ids/1"] = reply
    failed = failure(server.url)
    assert failed.reason is FailureReason.SOURCE_UNAVAILABLE
    assert said in failed.message
    assert "169.254" not in failed.message


def test_an_answer_that_comes_with_the_second_attempt_counts(server: FakeRegistry) -> None:
    server.replies["/schemas/ids/1"] = [Reply(503), Reply(200, b'{"schema": "{}"}')]
    found = client(server.url).by_id(1)
    assert found is not None
    assert found.text == "{}"


def test_a_registry_that_is_down_is_given_up_after_three_attempts() -> None:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        port = held.getsockname()[1]
    began = time.monotonic()
    failed = failure(f"http://127.0.0.1:{port}")
    assert failed.reason is FailureReason.SOURCE_UNAVAILABLE
    assert "refused" in failed.message
    assert time.monotonic() - began < 20


@pytest.mark.parametrize("says", [b"", b"SSH-2.0-OpenSSH\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500])
def test_a_server_that_does_not_speak_http_is_given_up(says: bytes) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            for _ in range(QUICK.attempts):
                connection, _address = listening.accept()
                with connection:
                    connection.recv(10_000)
                    connection.sendall(says)

        threading.Thread(target=serve, daemon=True).start()
        failed = failure(f"http://127.0.0.1:{listening.getsockname()[1]}")
    assert failed.reason is FailureReason.SOURCE_UNAVAILABLE


def test_a_certificate_that_is_not_trusted_is_no_reason_to_go_on(tmp_path: Path) -> None:
    absent = tmp_path / "ca.crt"
    failed = failure("https://127.0.0.1:1", ca_file=str(absent))
    assert failed.reason is FailureReason.INVALID_REQUEST
    absent.write_text("no certificate")
    assert failure("https://127.0.0.1:1", ca_file=str(absent)).reason is FailureReason.INVALID_REQUEST


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "ftp://registry",
        "registry:8081",
        "http://",
        "http://user:secret@registry",
        "http://registry?x=1",
        "http://registry#x",
        "http://registry:0",
        "http://registry:port",
        "http://[::1",
        "http://registry/a b",
        "http://registry/\r\nHost: other",
        "http://régistry",
        "",
    ],
)
def test_a_url_that_is_none_of_http_is_an_invalid_request(url: str) -> None:
    with pytest.raises(TaskFailed) as caught:
        required_url(url)
    assert caught.value.reason is FailureReason.INVALID_REQUEST


def refers(server: FakeRegistry, name: str, *others: str) -> None:
    references = [{"name": other, "subject": other, "version": 1} for other in others]
    server.put(f"/subjects/{name}/versions/1", {"schema": f'"{name}"', "references": references})


def referred(registry: Registry, *reference: Any) -> Any:
    """What a schema of a subject refers to."""
    schema = registry.version(Reference(*reference))
    assert schema is not None
    return registry.referred(schema)


def test_references_are_followed_and_those_without_any_come_first(server: FakeRegistry) -> None:
    refers(server, "top", "left", "right")
    refers(server, "left", "base")
    refers(server, "right", "base")
    refers(server, "base")
    registry = client(server.url)
    assert list(referred(registry, "top", "top", 1)) == ["base", "left", "right"]
    assert len(server.asked) == 4


def test_references_without_end_are_refused(server: FakeRegistry) -> None:
    for place in range(40):
        refers(server, f"s{place}", f"s{place + 1}")
    refers(server, "wide", *(f"w{place}" for place in range(100)))
    for place in range(100):
        refers(server, f"w{place}", f"v{place}", f"u{place}")
        refers(server, f"v{place}")
        refers(server, f"u{place}")
    refers(server, "loop", "loop2")
    refers(server, "loop2", "loop")
    registry = client(server.url)
    for name in ("s0", "wide", "loop"):
        with pytest.raises(TaskFailed) as caught:
            referred(registry, name, name, 1)
        assert caught.value.reason is FailureReason.SCHEMA_INCOMPATIBLE
        assert "not supported" in caught.value.message


def test_a_reference_to_nothing_is_named(server: FakeRegistry) -> None:
    refers(server, "top", "gone")
    registry = client(server.url)
    with pytest.raises(TaskFailed, match="gone"):
        referred(registry, "top", "top", 1)


def test_texts_of_references_are_bounded_together(server: FakeRegistry) -> None:
    names = [f"s{place}" for place in range(20)]
    refers(server, "top", *names)
    for name in names:
        server.put(f"/subjects/{name}/versions/1", {"schema": json.dumps("x" * 600_000)})
    registry = Registry(SchemaRegistry(url=server.url), Bounds(pause=0))
    with pytest.raises(TaskFailed, match="not supported"):
        referred(registry, "top", "top", 1)
