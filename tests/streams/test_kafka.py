"""The broker that tests of streams have: what is sent is there, also after a kill -9, for those who may read it."""

import time
import uuid

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from tests.spark_jobs.trials import IN_FULL

from toolkit.streams import MECHANISMS, KafkaBroker, Listener, User

# Otherwise the tests of tables that read from such servers would fail.
pytestmark = [pytest.mark.streams, pytest.mark.slow, IN_FULL]


@pytest.fixture
def topic(kafka: KafkaBroker) -> str:
    name = f"topic-{uuid.uuid4().hex[:8]}"
    kafka.create_topic(name, 2)
    return name


def test_message_is_read_with_its_key_headers_time_and_place(kafka: KafkaBroker, topic: str) -> None:
    # A message that is older than the topic's retention is deleted at once.
    an_hour_ago = int(time.time() - 3600) * 1000
    kafka.produce(topic, [(b"k", b"v", [("h", b"x")], an_hour_ago, 1), (None, None, (), None, 0)])

    plain, full = kafka.read(topic)

    assert full == (1, 0, b"k", b"v", (("h", b"x"),), an_hour_ago)
    assert plain[:5] == (0, 0, None, None, ())
    assert kafka.end_offsets(topic) == {0: 1, 1: 1}


def test_messages_outlive_a_broker_that_is_killed_or_stopped(kafka: KafkaBroker, topic: str) -> None:
    kafka.produce(topic, [(b"k", b"%d" % number, (), None, 0) for number in range(100)])
    expected = kafka.read(topic)

    kafka.kill()
    assert not kafka.running
    kafka.start()
    assert kafka.read(topic) == expected
    kafka.stop()
    kafka.start()

    assert kafka.read(topic) == expected


def test_messages_of_an_aborted_transaction_take_offsets_and_are_not_read(kafka: KafkaBroker, topic: str) -> None:
    kafka.begin(topic, [(b"k", b"aborted", (), None, 0)]).abort()
    kafka.begin(topic, [(b"k", b"committed", (), None, 0)]).commit()
    hanging = kafka.begin(topic, [(b"k", b"open", (), None, 0)])

    committed, everything = kafka.read(topic), kafka.read(topic, committed=False)
    ends = kafka.end_offsets(topic, committed=True)[0], kafka.end_offsets(topic)[0]
    hanging.abort()

    assert [(message.offset, message.value) for message in committed] == [(2, b"committed")]
    assert [message.value for message in everything] == [b"aborted", b"committed", b"open"]
    assert ends == (4, 5)


def test_topics_grow_expire_and_go(kafka: KafkaBroker, topic: str) -> None:
    kafka.produce(topic, [(None, b"%d" % number, (), None, 0) for number in range(5)])

    kafka.delete_records(topic, 0, before=3)
    kafka.add_partitions(topic, 3)

    assert kafka.beginning_offsets(topic) == {0: 3, 1: 0, 2: 0}
    assert [message.offset for message in kafka.read(topic)] == [3, 4]
    kafka.delete_topic(topic)
    with pytest.raises(KafkaException, match="UNKNOWN_TOPIC"):
        kafka.partitions(topic)


SIGNED_IN = [(listener, mechanism) for listener in Listener if listener.signs_in for mechanism in MECHANISMS]


@pytest.mark.parametrize(("listener", "mechanism"), [(Listener.SSL, ""), (Listener.MTLS, ""), *SIGNED_IN])
def test_clients_with_credentials_read(kafka: KafkaBroker, topic: str, listener: Listener, mechanism: str) -> None:
    kafka.produce(topic, [(None, b"v")])
    settings = kafka.credentials.python(listener, mechanism=mechanism)

    read = kafka.read(topic, settings={"bootstrap.servers": kafka.address(listener), **settings})

    assert [message.value for message in read] == [b"v"]


@pytest.mark.parametrize("listener", [Listener.PLAINTEXT, Listener.MTLS])
def test_clients_elsewhere_are_sent_to_the_address_that_they_reach(
    kafka: KafkaBroker, topic: str, listener: Listener
) -> None:
    address = kafka.address(listener, pods=True)
    client = AdminClient({"bootstrap.servers": address, **kafka.credentials.python(listener)})

    (broker,) = client.list_topics(topic, timeout=30).brokers.values()

    assert address.startswith("127.0.0.2:")
    assert f"{broker.host}:{broker.port}" == address


@pytest.mark.parametrize(("listener", "mechanism"), [(Listener.MTLS, ""), *SIGNED_IN])
def test_strangers_are_refused(kafka: KafkaBroker, topic: str, listener: Listener, mechanism: str) -> None:
    settings = kafka.credentials.python(listener, mechanism=mechanism, user=User("alice", "wrong"))
    if listener is Listener.MTLS:
        stranger = kafka.credentials.stranger
        settings["ssl.certificate.location"] = str(stranger.certificate)
        settings["ssl.key.location"] = str(stranger.key)

    with pytest.raises(KafkaException, match=r"_AUTHENTICATION|bad certificate"):
        kafka.read(topic, settings={"bootstrap.servers": kafka.address(listener), **settings})
