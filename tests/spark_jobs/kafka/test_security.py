"""How brokers are reached that let nobody in: credentials that stay in their files, and who is refused."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import ScramCredentialInfo, ScramMechanism, UserScramCredentialUpsertion
from tests.spark_jobs.kafka.conftest import AWKWARD, Stream

from hudi_jobs.contract import FailureReason, Outcome
from toolkit.streams import KafkaBroker, Listener

pytestmark = [pytest.mark.spark, pytest.mark.streams]


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """A broker that listens in every way, knows the awkward user by SCRAM, and has an address without a certificate."""
    folder = tmp_path_factory.mktemp("guarded")
    with KafkaBroker(folder, listeners=Listener, reachable_at="127.0.0.2", certified=["127.0.0.1"]) as running:
        info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        wanted = UserScramCredentialUpsertion(AWKWARD.name, info, AWKWARD.password.encode(), os.urandom(8))
        for future in running._admin.alter_user_scram_credentials([wanted]).values():
            future.result(30)
        yield running


@pytest.fixture
def safe(guarded: KafkaBroker, stream: Stream) -> Stream:
    """A topic of that broker with one message."""
    stream.broker = guarded
    stream.create()
    stream.send([{"id": 1, "v": "a"}])
    return stream


def secret(folder: Path, **files: str) -> str:
    folder.mkdir()
    for name, content in files.items():
        (folder / name.replace("_", ".")).write_text(content)
    return str(folder)


def ways(guarded: KafkaBroker, folder: Path) -> dict[str, dict[str, Any]]:
    """The source's document by the way that it takes."""
    known = guarded.credentials
    user = known.users[0]
    plain = secret(folder / "user", username=user.name, password=f"{user.password}\n")
    awkward = secret(folder / "awkward", username=AWKWARD.name, password=AWKWARD.password)
    wrong = secret(folder / "wrong", username=user.name, password="guessed")
    certificates = {
        name: secret(folder / name, tls_crt=one.certificate.read_text(), tls_key=one.key.read_text())
        for name, one in (("client", known.client), ("stranger", known.stranger))
    }
    ca = {"caFile": str(known.authority)}

    def by(listener: Listener, **security: Any) -> dict[str, Any]:
        return {
            "bootstrapServers": guarded.address(listener),
            "security": {"protocol": listener.protocol, **security},
        }

    return {
        "plain": by(Listener.SASL_PLAINTEXT, mechanism="PLAIN", credentialsFolder=plain),
        "scram": by(Listener.SASL_SSL, mechanism="SCRAM-SHA-256", credentialsFolder=plain, **ca),
        "awkward": by(Listener.SASL_SSL, mechanism="SCRAM-SHA-512", credentialsFolder=awkward, **ca),
        "tls": by(Listener.SSL, **ca),
        "mtls": by(Listener.MTLS, certificateFolder=certificates["client"], **ca),
        "wrong password": by(Listener.SASL_PLAINTEXT, mechanism="PLAIN", credentialsFolder=wrong),
        "wrong password by scram": by(Listener.SASL_SSL, mechanism="SCRAM-SHA-512", credentialsFolder=wrong, **ca),
        "no trust": by(Listener.SSL),
        "a stranger's certificate": by(Listener.MTLS, certificateFolder=certificates["stranger"], **ca),
        "no certificate": by(Listener.MTLS, **ca),
        "another name": {**by(Listener.SSL, **ca), "bootstrapServers": guarded.address(Listener.SSL, pods=True)},
        "a missing file": by(Listener.SASL_PLAINTEXT, mechanism="PLAIN", credentialsFolder=str(folder)),
    }


@pytest.mark.parametrize("way", ["plain", "scram", "awkward", "tls", "mtls"])
def test_every_way_that_is_allowed_leads_to_the_messages(
    safe: Stream, guarded: KafkaBroker, tmp_path: Path, way: str
) -> None:
    result = safe.ingest(source=ways(guarded, tmp_path)[way])
    assert result.outcome is Outcome.SUCCEEDED, result
    assert safe.rows() == [(1, "a")]


@pytest.mark.parametrize(
    "way",
    [
        "wrong password",
        "wrong password by scram",
        "no trust",
        "a stranger's certificate",
        "no certificate",
        "another name",
        "a missing file",
    ],
)
def test_refused_user_is_reported_as_access_denied(
    safe: Stream, guarded: KafkaBroker, tmp_path: Path, way: str
) -> None:
    result = safe.ingest(source=ways(guarded, tmp_path)[way])
    assert result.reason is FailureReason.SOURCE_ACCESS_DENIED, result
    assert not safe.lake.instants()


def test_nothing_secret_is_in_plans_logs_events_requests_or_commits(
    safe: Stream, guarded: KafkaBroker, tmp_path: Path, program: Callable[..., Any], installed_spark: Path
) -> None:
    """With executors in a JVM of their own, and everything logged that Spark and Kafka would log."""
    events = tmp_path / "events"
    events.mkdir()
    conf = {"spark.master": "local-cluster[1,1,600]", "spark.executor.memory": "600m", "spark.log.level": "INFO"}
    conf |= {"spark.eventLog.enabled": "true", "spark.eventLog.dir": f"file://{events}"}
    request = safe.lake.request(source=safe.document(**ways(guarded, tmp_path)["awkward"]), conf=conf)
    # Executors of a local cluster write their logs below Spark's home.
    home = tmp_path / "home"
    home.mkdir()
    for part in ("bin", "jars", "lib", "python"):
        (home / part).symlink_to(installed_spark / part)
    running = program(request, SPARK_HOME=str(home))
    outcome = running.finish().results[0]
    assert outcome.outcome is Outcome.SUCCEEDED, outcome
    written = [running.log, request.model_dump_json(), *(each.read_text() for each in events.glob("*"))]
    executors = [each.read_text() for each in home.glob("work/*/*/std*")]
    assert any("kafka" in text for text in executors)
    written += executors
    commits = safe.lake.folder.glob("table/.hoodie/timeline/[0-9]*")
    written += [each.read_bytes().decode(errors="replace") for each in commits]
    assert len(written) > 3
    for piece in (AWKWARD.password, AWKWARD.password[:8], "d'e$", "etc:passwd"):
        assert not any(piece in text for text in written), piece
