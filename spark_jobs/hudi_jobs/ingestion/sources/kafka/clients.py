"""Kafka's clients: options, files of Secrets, classes of broker errors, and the driver's bounded queries.

The options contain no secrets. The clients read the files of mounted Secrets themselves, through Kafka's config
providers, in the driver and the executors. The time limits give up unresponsive brokers within a minute.
"""

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason, Isolation, KafkaSecurity, KafkaSource, SaslMechanism
from hudi_jobs.ingestion.sources.kafka.offsets import PartitionOffsets, TopicOffsets, TopicPartition, of_cluster
from hudi_jobs.spark.failures import Cause, DriverStopping, TaskFailed, causes_of, classify
from hudi_jobs.spark.jvm import JavaObject, classes, java_map
from hudi_jobs.spark.session import PACKAGE

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


_PROVIDER = f"{PACKAGE}.kafka.SecretFiles"
_DIRECTORY = "org.apache.kafka.common.config.provider.DirectoryConfigProvider"
_MODULES = {
    SaslMechanism.PLAIN: "org.apache.kafka.common.security.plain.PlainLoginModule",
    SaslMechanism.SCRAM_SHA_256: "org.apache.kafka.common.security.scram.ScramLoginModule",
    SaslMechanism.SCRAM_SHA_512: "org.apache.kafka.common.security.scram.ScramLoginModule",
}


def client_options(source: KafkaSource) -> dict[str, str]:
    """Return the options for any client."""
    return {
        "bootstrap.servers": source.bootstrap_servers,
        "security.protocol": source.security.protocol.value,
        "request.timeout.ms": "15000",
        "default.api.timeout.ms": "30000",
        "socket.connection.setup.timeout.ms": "5000",
        "socket.connection.setup.timeout.max.ms": "10000",
        **_sasl(source.security),
        **_tls(source.security),
    }


def reader_options(source: KafkaSource) -> dict[str, str]:
    """Return the options for the executors' consumers, in addition to Spark's own."""
    return {**client_options(source), "isolation.level": isolation_level(source)}


def isolation_level(source: KafkaSource) -> str:
    """Return Kafka's name of the isolation level."""
    return "read_committed" if source.isolation is Isolation.READ_COMMITTED else "read_uncommitted"


def _sasl(security: KafkaSecurity) -> dict[str, str]:
    if security.mechanism is None:
        return {}
    parts = [f'{name}="${{secret:{security.credentials_folder}:{name}}}"' for name in ("username", "password")]
    return {
        "sasl.mechanism": security.mechanism.value,
        "sasl.jaas.config": f"{_MODULES[security.mechanism]} required {' '.join(parts)};",
        **_providers(security),
    }


def _tls(security: KafkaSecurity) -> dict[str, str]:
    if not security.protocol.value.endswith("SSL"):
        return {}
    options = {"ssl.endpoint.identification.algorithm": "https"}
    if security.ca_file is not None:
        options |= {"ssl.truststore.type": "PEM", "ssl.truststore.location": security.ca_file}
    if security.certificate_folder is not None:
        options |= {
            "ssl.keystore.type": "PEM",
            "ssl.keystore.certificate.chain": f"${{dir:{security.certificate_folder}:tls.crt}}",
            "ssl.keystore.key": f"${{dir:{security.certificate_folder}:tls.key}}",
            **_providers(security),
        }
    return options


def _providers(security: KafkaSecurity) -> dict[str, str]:
    used = {"dir": _DIRECTORY} if security.certificate_folder is not None else {}
    if security.mechanism is not None:
        used |= {"secret": _PROVIDER}
    classes_of = {f"config.providers.{name}.class": kind for name, kind in used.items()}
    return {"config.providers": ",".join(used), **classes_of}


_PAUSE = 0.5
_LOOKS = 30


def require_files(source: KafkaSource, *, pause: Callable[[float], None] = time.sleep) -> None:
    """Wait briefly for the declared files, and raise `TaskFailed` if a file for the brokers is still missing.

    The volumes are optional, so that the kubelet reports which Secret is missing: for a late Secret it may start the
    container a moment before writing the files. The registry's missing files are reported when it is queried.
    """
    for_brokers, for_registry = list(_for_brokers(source)), list(_for_registry(source))
    for _ in range(_LOOKS):
        if all(path.is_file() for path in (*for_brokers, *for_registry)):
            return
        pause(_PAUSE)
    for path in for_brokers:
        if not path.is_file():
            raise TaskFailed(
                FailureReason.SOURCE_ACCESS_DENIED,
                f"The Secret has no entry {path.name}, or it is not mounted at {path.parent}; without it the driver "
                "does not contact the brokers.",
            )


def _for_brokers(source: KafkaSource) -> Iterator[Path]:
    security = source.security
    yield from _below(security.credentials_folder, "username", "password")
    yield from _below(security.certificate_folder, "tls.crt", "tls.key")
    if security.ca_file is not None:
        yield Path(security.ca_file)


def _for_registry(source: KafkaSource) -> Iterator[Path]:
    if source.registry is None:
        return
    yield from _below(source.registry.credentials_folder, "username", "password")
    if source.registry.ca_file is not None:
        yield Path(source.registry.ca_file)


def _below(folder: str | None, *names: str) -> Iterator[Path]:
    return iter(()) if folder is None else (Path(folder, name) for name in names)


_SECONDS = 40
_CLOSING_SECONDS = 5
_MOST_PARTITIONS = 100_000
_NO_ID = "AAAAAAAAAAAAAAAAAAAAAA"
_OFFSET = re.compile(r"([A-Za-z0-9._-]+)-(\d+)=ListOffsetsResultInfo\(offset=(-?\d+), timestamp=(-?\d+)")

Offsets = dict[TopicPartition, int]


class Brokers:
    """Queries a cluster through an admin client."""

    def __init__(self, spark: SparkSession, source: KafkaSource, admin: JavaObject) -> None:
        self._jvm = classes(spark)
        self._spark = spark
        self._source = source
        self._admin = admin
        self._cluster: str | None = None

    @classmethod
    @contextmanager
    def reached(cls, spark: SparkSession, source: KafkaSource) -> Iterator["Brokers"]:
        """Open a client and close it; any failure in the block becomes a `TaskFailed`."""
        with asking(f"The brokers {source.bootstrap_servers} cannot be queried"):
            jvm = classes(spark)
            admin = jvm.org.apache.kafka.clients.admin.Admin.create(java_map(spark, client_options(source)))
            try:
                yield cls(spark, source, admin)
            finally:
                admin.close(jvm.java.time.Duration.ofSeconds(_CLOSING_SECONDS))

    def cluster(self) -> str:
        """Return the id of the cluster, or an empty text if it has none."""
        if self._cluster is None:
            self._cluster = str(self._answer(self._admin.describeCluster().clusterId()) or "")
        return self._cluster

    def names(self) -> list[str]:
        """Return the names of all topics visible to the job, without Kafka's own."""
        return [str(name) for name in self._answer(self._admin.listTopics().names())]

    def topics(self, names: Sequence[str]) -> dict[str, TopicOffsets]:
        """Return the topics with their ids and offsets; raise `TaskFailed` for a missing topic."""
        described = {name: self._described(name, future) for name, future in self._descriptions(names).items()}
        places = [TopicPartition(name, n) for name, (_, count) in described.items() for n in range(count)]
        if len(places) > _MOST_PARTITIONS:
            raise TaskFailed(
                FailureReason.INVALID_REQUEST,
                f"The topics have {len(places):,} partitions, but at most {_MOST_PARTITIONS:,} can be read.",
            )
        specs = self._jvm.org.apache.kafka.clients.admin.OffsetSpec
        beginning = self._offsets(places, specs.earliest())
        high = self._offsets(places, specs.latest())
        committed = self._source.isolation is Isolation.READ_COMMITTED
        end = self._offsets(places, specs.latest(), committed=True) if committed else high
        found = {place: PartitionOffsets(beginning[place], end[place], high[place]) for place in places}
        return {
            name: TopicOffsets(identity, tuple(found[TopicPartition(name, n)] for n in range(count)))
            for name, (identity, count) in described.items()
        }

    def at_time(self, places: Sequence[TopicPartition], milliseconds: int) -> Offsets:
        """Return each partition's first offset with a timestamp at or after a time; -1 if there is none."""
        specs = self._jvm.org.apache.kafka.clients.admin.OffsetSpec
        # If the source reads open transactions, their messages would be skipped here and lost.
        committed = self._source.isolation is Isolation.READ_COMMITTED
        return self._offsets(places, specs.forTimestamp(milliseconds), committed=committed)

    def ids(self, names: Sequence[str]) -> dict[str, str]:
        """Return the current ids of topics."""
        return {name: self._described(name, future)[0] for name, future in self._descriptions(names).items()}

    def compacted(self, names: Iterable[str]) -> dict[str, int]:
        """Return the compacted topics, each with its minimum compaction lag in milliseconds.

        A topic with settings that the job may not read is left out.
        """
        kind = self._jvm.org.apache.kafka.common.config.ConfigResource
        resources = {name: kind(kind.Type.TOPIC, name) for name in names}
        wanted = self._jvm.java.util.ArrayList()
        for resource in resources.values():
            wanted.add(resource)
        found = self._admin.describeConfigs(wanted).values()
        lags = {name: self._compaction_lag(name, found[resource]) for name, resource in resources.items()}
        return {name: lag for name, lag in lags.items() if lag is not None}

    def _compaction_lag(self, name: str, future: JavaObject) -> int | None:
        try:
            with asking(f"The settings of the topic {name} cannot be read"):
                settings = self._answer(future)
        except TaskFailed as failed:
            if failed.reason is FailureReason.SOURCE_UNAVAILABLE:
                raise
            return None
        policy, lag = (settings.get(each) for each in ("cleanup.policy", "min.compaction.lag.ms"))
        is_compacted = policy is not None and "compact" in str(policy.value()).split(",")
        text = "" if lag is None else str(lag.value())
        return (int(text) if text.isdecimal() else 0) if is_compacted else None

    def _descriptions(self, names: Sequence[str]) -> Mapping[str, JavaObject]:
        wanted = self._jvm.java.util.ArrayList()
        for name in names:
            wanted.add(name)
        found = self._admin.describeTopics(wanted).topicNameValues()
        return {name: found[name] for name in names}

    def _described(self, name: str, future: JavaObject) -> tuple[str, int]:
        """Return a topic's id and number of partitions."""
        with asking(f"The topic {name} cannot be described"):
            found = self._answer(future)
        identity = str(found.topicId().toString())
        return (of_cluster(self.cluster()) if identity == _NO_ID else identity), int(found.partitions().size())

    def _offsets(self, places: Sequence[TopicPartition], spec: JavaObject, *, committed: bool = False) -> Offsets:
        if not places:
            return {}
        partition = self._jvm.org.apache.kafka.common.TopicPartition
        wanted = self._jvm.java.util.HashMap()
        for place in places:
            wanted.put(partition(place.topic, place.partition), spec)
        levels = self._jvm.org.apache.kafka.common.IsolationLevel
        level = levels.READ_COMMITTED if committed else levels.READ_UNCOMMITTED
        options = self._jvm.org.apache.kafka.clients.admin.ListOffsetsOptions(level)
        # A single response from the JVM for all partitions: a call for each takes seconds with thousands of them.
        text = str(self._answer(self._admin.listOffsets(wanted, options).all()).toString())
        found = {TopicPartition(topic, int(number)): int(offset) for topic, number, offset, _ in _OFFSET.findall(text)}
        if found.keys() != set(places):
            raise TaskFailed(
                FailureReason.SOURCE_UNAVAILABLE, "The brokers did not return the offsets of all partitions."
            )
        return found

    def _answer(self, future: JavaObject) -> JavaObject:
        return future.get(_SECONDS, self._jvm.java.util.concurrent.TimeUnit.SECONDS)
