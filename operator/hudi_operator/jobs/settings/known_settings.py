"""The settings known to be harmless, the risks of others, and the allowlist of a table, in a normal form.

A key is harmless when no value of it loads code, changes an identity, an endpoint or a path, or ignores damaged input:
numbers, sizes, times, switches of the optimizer and names out of a closed list. Every other key, including those of
later Spark and Hudi releases, is open to tables only if the class names it. Source: `SQLConf` and `internal/config` of
Spark 3.5, and the configuration classes of Hudi 1.2.0.
"""

import re
from collections.abc import Iterable, Mapping

from hudi_operator.api.values.base import matches_any

_SQL = "spark.sql."

_ADAPTIVE = (
    "enabled",
    "advisoryPartitionSizeInBytes",
    "autoBroadcastJoinThreshold",
    "coalescePartitions.enabled",
    "coalescePartitions.initialPartitionNum",
    "coalescePartitions.minPartitionSize",
    "coalescePartitions.parallelismFirst",
    "forceOptimizeSkewedJoin",
    "localShuffleReader.enabled",
    "maxShuffledHashJoinLocalMapThreshold",
    "nonEmptyPartitionRatioForBroadcastJoin",
    "optimizeSkewsInRebalancePartitions.enabled",
    "rebalancePartitionsSmallPartitionFactor",
    "skewJoin.enabled",
    "skewJoin.skewedPartitionFactor",
    "skewJoin.skewedPartitionThresholdInBytes",
)

_QUERIES = (
    "ansi.enabled",
    "autoBroadcastJoinThreshold",
    "broadcastTimeout",
    "codegen.wholeStage",
    "files.maxPartitionBytes",
    "files.maxPartitionNum",
    "files.minPartitionNum",
    "files.openCostInBytes",
    "inMemoryColumnarStorage.batchSize",
    "inMemoryColumnarStorage.compressed",
    "join.preferSortMergeJoin",
    "limit.scaleUpFactor",
    "orc.columnarReaderBatchSize",
    "orc.enableVectorizedReader",
    "orc.filterPushdown",
    "parquet.columnarReaderBatchSize",
    "parquet.compression.codec",
    "parquet.datetimeRebaseModeInRead",
    "parquet.enableVectorizedReader",
    "parquet.filterPushdown",
    "parquet.int96RebaseModeInRead",
    "shuffle.partitions",
    "sources.parallelPartitionDiscovery.parallelism",
    "sources.parallelPartitionDiscovery.threshold",
)

_ENGINE = (
    "spark.broadcast.blockSize",
    "spark.broadcast.compress",
    "spark.default.parallelism",
    "spark.driver.maxResultSize",
    "spark.executor.heartbeatInterval",
    "spark.files.maxPartitionBytes",
    "spark.files.openCostInBytes",
    "spark.kryoserializer.buffer",
    "spark.kryoserializer.buffer.max",
    "spark.locality.wait",
    "spark.memory.fraction",
    "spark.memory.storageFraction",
    "spark.network.timeout",
    "spark.rdd.compress",
    "spark.reducer.maxReqsInFlight",
    "spark.reducer.maxSizeInFlight",
    "spark.shuffle.compress",
    "spark.shuffle.file.buffer",
    "spark.shuffle.sort.bypassMergeThreshold",
    "spark.shuffle.spill.compress",
    "spark.task.cpus",
    "spark.task.maxFailures",
)

_HUDI = (
    "archive.delete.parallelism",
    "bloom.index.bucketized.checking",
    "bloom.index.filter.dynamic.max.entries",
    "bloom.index.keys.per.bucket",
    "bloom.index.parallelism",
    "bloom.index.prune.by.ranges",
    "bloom.index.use.caching",
    "bloom.index.use.treebased.filter",
    "bulkinsert.shuffle.parallelism",
    "clean.parallelism",
    "cleaner.parallelism",
    "clustering.group.read.parallelism",
    "clustering.max.parallelism",
    "commits.archival.batch",
    "delete.shuffle.parallelism",
    "file.listing.parallelism",
    "finalize.write.parallelism",
    "global.simple.index.parallelism",
    "index.bloom.fpp",
    "index.bloom.num_entries",
    "insert.shuffle.parallelism",
    "logfile.data.block.max.size",
    "logfile.max.size",
    "logfile.to.parquet.compression.ratio",
    "markers.delete.parallelism",
    "memory.compaction.fraction",
    "memory.compaction.max.size",
    "memory.dfs.buffer.max.size",
    "memory.merge.fraction",
    "memory.merge.max.size",
    "metadata.file.cache.max.size.mb",
    "metadata.max.init.parallelism",
    "orc.block.size",
    "orc.stripe.size",
    "parquet.block.size",
    "parquet.compression.codec",
    "parquet.compression.ratio",
    "parquet.dictionary.enabled",
    "parquet.page.size",
    "rollback.parallelism",
    "simple.index.parallelism",
    "simple.index.use.caching",
    "upsert.shuffle.parallelism",
    "write.buffer.limit.bytes",
)

HARMLESS = frozenset(
    {
        *(f"{_SQL}adaptive.{key}".lower() for key in _ADAPTIVE),
        *(f"{_SQL}{key}".lower() for key in _QUERIES),
        *(key.lower() for key in _ENGINE),
        *(f"hoodie.{key}" for key in _HUDI),
    }
)
"""The keys that a wildcard opens, in lower case."""

_HIDES_DAMAGE = re.compile(r"ignore|skip|tolera|nonfatal|bypass|validat|fail\.?on|corrupt|missing|consistency")
_LOADS_CODE = re.compile(
    r"jars|packages|pyfiles|archives|plugin|extension|listener|class|java_?options|librarypath|catalog|impl$|factory"
    r"|codec|serializer|merger|payload|strategy|keygen|transformer|hook|initializer|script|pyspark|python|executorenv"
    r"|driverenv|udf|conversion|^spark\.files$|filters?$|implementation"
)
_LEADS_ELSEWHERE = re.compile(
    r"^spark\.(hadoop|kubernetes|submit|master|yarn|mesos|ui|authenticate|ssl|redaction)|endpoint|url|uri|host|port$"
    r"|address|proxy|sign|provider|credential|secret|token|password|principal|keytab|keystore|truststore|access.?key"
    r"|lock|callback|metastore|hive_sync|hivesync|meta\.sync|datasource\.meta|metrics|user|role|account|bucket\."
)
_NAMES_PATH = re.compile(r"path|dir$|dir\.|location|folder|file$|warehouse|checkpoint|eventlog")


def risk_of(key: str) -> str | None:
    """Return a key's risk as the end of a sentence, or None if the key is known to be harmless."""
    normal = key.strip().lower()
    if normal in HARMLESS:
        return None
    if hides_damage(normal):
        return "can skip damaged or missing input silently"
    if _LOADS_CODE.search(normal):
        return "can load code into the jobs"
    if _LEADS_ELSEWHERE.search(normal):
        return "can change an identity or lead to another endpoint"
    if _NAMES_PATH.search(normal):
        return "can lead to another path"
    return "is not known to be harmless"


def hides_damage(key: str) -> bool:
    """Whether a key may lose rows silently, judged by its name."""
    normal = key.strip().lower()
    return normal not in HARMLESS and _HIDES_DAMAGE.search(normal) is not None


def opened_by(pattern: str) -> frozenset[str]:
    """Return the keys, in lower case, that a prefix ending with `*` opens."""
    beginning = pattern.strip().lower().removesuffix("*")
    return frozenset(key for key in HARMLESS if key.startswith(beginning))


_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def refused_keys(
    settings: Mapping[str, str], *, allowed: Iterable[str], prefix: str, owned: Iterable[str]
) -> tuple[str, ...]:
    """Return a sentence for each setting that the table may not make.

    `allowed` and `owned` hold keys, or prefixes that end with `*`. Keys owned by the operator cannot be allowed. An
    allowed prefix opens only keys known to be harmless; any other key must be named. Keys are compared without regard
    to case, and keys with unusual characters are refused: a spelling that Spark or Hudi reads but the comparison misses
    would bypass the list.
    """
    patterns = tuple(pattern.strip().lower() for pattern in allowed)
    reserved = {key.lower() for key in owned}
    return tuple(
        sentence
        for key, value in settings.items()
        if (sentence := _refusal(key, patterns=patterns, prefix=prefix, reserved=reserved) or _odd_value(key, value))
    )


def _refusal(key: str, *, patterns: tuple[str, ...], prefix: str, reserved: set[str]) -> str | None:
    if not _KEY.fullmatch(key):
        return f"{key!r} is not a plain key"
    normal = key.lower()
    if not normal.startswith(prefix):
        return f"{key} does not start with {prefix}"
    if matches_any(normal, reserved):
        return f"{key} is set by the operator from the typed fields of the spec"
    if normal in patterns or (normal in HARMLESS and matches_any(normal, patterns)):
        return None
    if matches_any(normal, patterns):
        return (
            f"{key} is not among the harmless keys that a prefix of the class opens, so the class has to allow it by "
            "its full name"
        )
    return f"{key} is not among the keys that the class allows"


def _odd_value(key: str, value: str) -> str | None:
    """Return a refusal if a value contains `$`: Spark and Hadoop expand `${env:NAME}` and print it in errors."""
    if "$" in value or not value.isprintable():
        return f"the value of {key} contains a $ or an unprintable character"
    return None
