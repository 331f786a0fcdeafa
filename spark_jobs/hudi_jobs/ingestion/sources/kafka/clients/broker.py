"""Queries topics through an admin client in the driver's JVM: bounded in time, and always closed."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason, Isolation, KafkaSource
from hudi_jobs.failures import TaskFailed
from hudi_jobs.ingestion.sources.kafka.clients.errors import asking
from hudi_jobs.ingestion.sources.kafka.clients.options import client_options
from hudi_jobs.ingestion.sources.kafka.offsets.ranges import PartitionOffsets, TopicOffsets, TopicPartition, of_cluster
from hudi_jobs.jvm import JavaObject, classes, java_map

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
