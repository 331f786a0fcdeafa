"""Creates, fills and reads topics for tests."""

import itertools
import time
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from types import MappingProxyType
from typing import Any, NamedTuple

from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic, OffsetSpec

_NOTHING: Mapping[str, str] = MappingProxyType({})
_SECONDS = 30.0
_SETTINGS = {
    # librdkafka would wait for up to ten seconds before it tries a restarted broker again.
    "reconnect.backoff.max.ms": 200,
    # The same partitions as Java clients choose.
    "partitioner": "murmur2_random",
    "log_level": 2,
}

Headers = Sequence[tuple[str, Any]]

# A client retries after these.
_REFUSALS = (KafkaError._AUTHENTICATION, KafkaError._SSL)  # noqa: SLF001 - they have no other names


class Sent(NamedTuple):
    """A message to send; plain tuples work as well."""

    key: bytes | None
    value: bytes | None
    headers: Headers = ()
    timestamp_ms: int | None = None
    partition: int | None = None


class Received(NamedTuple):
    """A message of a topic."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Headers
    timestamp_ms: int


class NoAnswer(Exception):
    """The broker did not accept or send messages in time."""


class Transaction:
    """Uncommitted messages in a topic; committed readers stop before them until the transaction ends."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self.producer = Producer(settings)
        self.producer.init_transactions(_SECONDS)
        self.producer.begin_transaction()

    def commit(self) -> None:
        """Make the messages visible to readers of committed messages."""
        self.producer.commit_transaction(_SECONDS)
        self._wait_for_markers()

    def abort(self) -> None:
        """Hide the messages from committed readers for ever; their offsets stay taken."""
        self.producer.abort_transaction(_SECONDS)
        self._wait_for_markers()

    def _wait_for_markers(self) -> None:
        # The broker answers before it writes the markers; until then the next producer of this name gets no id.
        Producer(self._settings).init_transactions(_SECONDS)


class Topics:
    """Creates, fills and reads topics at the address `bootstrap`."""

    _transactions = itertools.count(1)

    @property
    @abstractmethod
    def bootstrap(self) -> str:
        """The address for clients on this machine without credentials."""

    def create_topic(self, name: str, partitions: int = 1, config: Mapping[str, str] = _NOTHING) -> None:
        """Create a topic with settings of its own, such as `cleanup.policy`."""
        topic = NewTopic(name, num_partitions=partitions, replication_factor=1, config=dict(config))
        _done(self._admin.create_topics([topic]))
        self._wait_for(name, partitions)

    def delete_topic(self, name: str) -> None:
        """Delete a topic with its messages."""
        _done(self._admin.delete_topics([name]))

    def add_partitions(self, name: str, total: int) -> None:
        """Add partitions to a topic."""
        _done(self._admin.create_partitions([NewPartitions(name, total)]))
        self._wait_for(name, total)

    def delete_records(self, topic: str, partition: int, before: int) -> None:
        """Expire the offsets before `before`."""
        _done(self._admin.delete_records([TopicPartition(topic, partition, before)]))

    def partitions(self, topic: str) -> list[int]:
        """Return the partitions of a topic."""
        found = self._admin.list_topics(topic, timeout=_SECONDS).topics[topic]
        if found.error is not None:
            raise KafkaException(found.error)
        return sorted(found.partitions)

    def end_offsets(self, topic: str, *, committed: bool = False) -> dict[int, int]:
        """Return the offset after the last message, or after the last committed message for committed readers."""
        return self._offsets(topic, OffsetSpec.latest(), committed=committed)

    def beginning_offsets(self, topic: str) -> dict[int, int]:
        """Return the first available offset."""
        return self._offsets(topic, OffsetSpec.earliest())

    def produce(self, topic: str, messages: Iterable[Sequence[Any]], *, settings: Mapping[str, str] = _NOTHING) -> None:
        """Send messages and wait until the broker has all of them; `settings` extend the client's.

        A message is (key, value, headers, timestamp_ms, partition), with the last three optional.
        """
        producer = Producer(self._client(settings))
        _send(producer, topic, messages)

    def begin(self, topic: str, messages: Iterable[Sequence[Any]], *, seconds: int = 300) -> Transaction:
        """Send messages in an open transaction; the broker aborts it after `seconds`."""
        name = f"transaction-{next(self._transactions)}"
        told = {"transactional.id": name, "transaction.timeout.ms": str(seconds * 1000)}
        transaction = Transaction(self._client(told))
        _send(transaction.producer, topic, messages)
        return transaction

    def read(self, topic: str, *, committed: bool = True, settings: Mapping[str, str] = _NOTHING) -> list[Received]:
        """Return the topic's messages, by partition and offset."""
        told = {
            "group.id": "reader",
            "enable.auto.commit": "false",
            "enable.partition.eof": "true",
            "fetch.wait.max.ms": "20",
            "isolation.level": "read_committed" if committed else "read_uncommitted",
        }
        refusals: list[KafkaError] = []
        consumer = Consumer({**self._client({**told, **settings}), "error_cb": refusals.append})
        try:
            partitions = self.partitions(topic)
            consumer.assign([TopicPartition(topic, partition, OFFSET_BEGINNING) for partition in partitions])
            return sorted(_until_the_ends(consumer, len(partitions), refusals))
        finally:
            consumer.close()

    def _wait_for(self, topic: str, partitions: int) -> None:
        """Wait until the broker serves its controller's decision."""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            found = self._admin.list_topics(topic, timeout=_SECONDS).topics[topic]
            led = [one for one in found.partitions.values() if one.leader >= 0]
            if found.error is None and len(led) == partitions:
                return
            time.sleep(0.02)
        raise NoAnswer(f"the broker does not lead {topic}")

    def _offsets(self, topic: str, which: OffsetSpec, *, committed: bool = False) -> dict[int, int]:
        level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
        asked = {TopicPartition(topic, partition): which for partition in self.partitions(topic)}
        answers = self._admin.list_offsets(asked, isolation_level=level, request_timeout=_SECONDS)
        return {place.partition: answer.result(_SECONDS).offset for place, answer in answers.items()}

    @cached_property
    def _admin(self) -> AdminClient:
        return AdminClient(self._client())

    def _client(self, settings: Mapping[str, str] = _NOTHING) -> dict[str, Any]:
        return {"bootstrap.servers": self.bootstrap, **_SETTINGS, **settings}


def _done(futures: Mapping[Any, Any]) -> None:
    for future in futures.values():
        future.result(_SECONDS)


def _send(producer: Producer, topic: str, messages: Iterable[Sequence[Any]]) -> None:
    failures: list[KafkaError] = []

    def delivered(error: KafkaError | None, _: Message) -> None:
        if error is not None:
            failures.append(error)

    for message in (Sent(*fields) for fields in messages):
        chosen = {"timestamp": message.timestamp_ms, "partition": message.partition}
        optional: dict[str, Any] = {name: value for name, value in chosen.items() if value is not None}
        while True:
            try:
                producer.produce(
                    topic,
                    value=message.value,
                    key=message.key,
                    headers=list(message.headers),
                    on_delivery=delivered,
                    **optional,
                )
                break
            except BufferError:
                producer.poll(0.1)
    if left := producer.flush(_SECONDS):
        raise NoAnswer(f"{left} messages were not taken in time")
    if failures:
        raise KafkaException(failures[0])


def _until_the_ends(consumer: Consumer, partitions: int, refusals: Sequence[KafkaError]) -> Iterator[Received]:
    deadline = time.monotonic() + _SECONDS
    while partitions:
        message = consumer.poll(0.2)
        if refused := [error for error in refusals if _is_final(error)]:
            raise KafkaException(refused[0])
        if message is None:
            if time.monotonic() > deadline:
                raise NoAnswer(f"the broker sends nothing: {refusals[-1:]}")
            continue
        error = message.error()
        if error is None:
            yield _received(message)
        elif error.code() == KafkaError._PARTITION_EOF:  # noqa: SLF001 - it has no other name
            partitions -= 1
        else:
            raise KafkaException(error)


def _is_final(error: KafkaError) -> bool:
    # librdkafka has no code for a server that rejects the client's certificate.
    return error.code() in _REFUSALS or "SSL alert" in error.str()


def _received(message: Message) -> Received:
    return Received(
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=message.key(),
        value=message.value(),
        headers=_headers(message),
        timestamp_ms=message.timestamp()[1],
    )


def _headers(message: Message) -> Headers:
    found = message.headers() or ()
    return tuple(found.items() if isinstance(found, dict) else found)
