"""Settings that a table may make itself, and the ways around that list which must not exist."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_operator.jobs.settings.known_settings import HARMLESS, refused_keys, risk_of

OWNED = ("spark.master", "spark.hadoop.fs.s3a.endpoint", "spark.driver.extraJavaOptions")


def refused(*keys: str, allowed: tuple[str, ...] = (), prefix: str = "spark.") -> tuple[str, ...]:
    return refused_keys(dict.fromkeys(keys, "x"), allowed=allowed, prefix=prefix, owned=OWNED)


@pytest.mark.parametrize(
    ("key", "allowed"),
    [
        ("spark.sql.ansi.enabled", ("spark.sql.ansi.enabled",)),
        ("spark.sql.ansi.enabled", ("spark.sql.*",)),
        ("spark.sql.ansi.enabled", ("spark.*",)),
        ("spark.sql.ansi.enabled", ("*",)),
        ("spark.sql.ansi.enabled", ("spark.ui.*", "SPARK.SQL.ANSI.*")),
        ("spark.SQL.ansi.enabled", ("spark.sql.*",)),
        ("spark.sql.ansi.enabled", (" spark.sql.* ",)),
    ],
)
def test_a_key_that_the_class_allows_is_accepted(key: str, allowed: tuple[str, ...]) -> None:
    assert refused(key, allowed=allowed) == ()


@pytest.mark.parametrize(
    "key",
    [
        "spark.jars",
        "spark.sql",
        "spark.sqlx.ansi",
        "spark.sql.ansi.enabled2",
        "spark.sql.ansi",
        "sparkXsql.ansi.enabled",
        "hoodie.table.name",
        "fs.s3a.endpoint",
        "",
        " spark.sql.ansi.enabled",
        "spark.sql.ansi.enabled ",
        "spark.sql.ansi.enabled\n",
        "spark.sql.ansi.enabled\x00",
        "spark.sql.ansi.enabled=true spark.jars",
        "spark.sql.ansi.enabled\u200b",
        "spark.sql.an\u017fi.enabled",
        "\u017fpark.sql.ansi.enabled",
        "spar\u212a.sql.ansi.enabled",
        "spark.sql.\u0430nsi.enabled",
        "\uff53park.sql.ansi.enabled",
        "spark.sql.ansi.enabled\u0307",
        "spark/sql/ansi/enabled",
        "spark.${spark.jars}",
        ".spark.sql.ansi.enabled",
        "*",
        "spark.sql.*",
    ],
)
def test_every_other_spelling_is_refused(key: str) -> None:
    assert len(refused(key, allowed=("spark.sql.ansi.enabled",))) == 1


@pytest.mark.parametrize(
    "key",
    [
        "spark.a\n",
        "spark.a b",
        "spark.a\u017f",
        "spar\u212a.a",
        "spark.a\u0307",
        "spark.${x}",
        "spark.a\x00",
        " spark.a",
    ],
)
def test_a_key_that_is_not_plain_is_refused_even_where_everything_is_allowed(key: str) -> None:
    assert refused(key, allowed=("*",)) == (f"{key!r} is not a plain key",)


@pytest.mark.parametrize(
    "key",
    [
        "spark.master",
        "SPARK.MASTER",
        "Spark.Master",
        "spark.hadoop.fs.s3a.endpoint",
        "spark.hadoop.FS.S3A.endpoint",
        "spark.driver.extrajavaoptions",
    ],
)
@pytest.mark.parametrize("allowed", [("*",), ("spark.*",), ("spark.master", "spark.hadoop.*", "spark.driver.*")])
def test_a_key_of_the_operator_cannot_be_allowed(key: str, allowed: tuple[str, ...]) -> None:
    assert refused(key, allowed=allowed) == (f"{key} is set by the operator from the typed fields of the spec",)


@pytest.mark.parametrize(
    "value",
    [
        "${env:AWS_SECRET_ACCESS_KEY}",
        "64${env.AWS_SECRET_ACCESS_KEY}m",
        "${system:user.home}",
        "${spark.driver.host}",
        "$(AWS_SECRET_ACCESS_KEY)",
        "$HOME",
        "64\nspark.jars=x",
        "64\x00",
        "64\u2028",
    ],
)
def test_a_value_that_may_stand_for_something_else_is_refused(value: str) -> None:
    for key in ("spark.sql.files.maxPartitionBytes", "spark.named"):
        found = refused_keys({key: value}, allowed=("spark.sql.*", "spark.named"), prefix="spark.", owned=())
        assert found == (f"the value of {key} contains a $ or an unprintable character",)


def test_nothing_is_allowed_by_an_empty_list() -> None:
    assert len(refused("spark.a", "spark.b")) == 2


def test_every_refused_key_has_its_own_sentence() -> None:
    given = ("spark.jars", "hoodie.x", "spark .x", "spark.sql.catalog.x", "spark.sql.shuffle.partitions")
    assert refused(*given, allowed=("spark.sql.*",)) == (
        "spark.jars is not among the keys that the class allows",
        "hoodie.x does not start with spark.",
        "'spark .x' is not a plain key",
        "spark.sql.catalog.x is not among the harmless keys that a prefix of the class opens, so the class has to "
        "allow it by its full name",
    )


def test_hudi_options_have_a_prefix_of_their_own() -> None:
    assert refused("spark.jars", allowed=("*",), prefix="hoodie.") == ("spark.jars does not start with hoodie.",)
    assert refused("hoodie.bloom.index.parallelism", allowed=("hoodie.bloom.*",), prefix="hoodie.") == ()


DANGEROUS = {
    "loads code": (
        "spark.jars",
        "spark.jars.packages",
        "spark.jars.ivySettings",
        "spark.submit.pyFiles",
        "spark.files",
        "spark.archives",
        "spark.plugins",
        "spark.driver.extraClassPath",
        "spark.executor.extraClassPath",
        "spark.driver.extraLibraryPath",
        "spark.executor.extraJavaOptions",
        "spark.driver.defaultJavaOptions",
        "spark.executor.defaultJavaOptions",
        "spark.extraListeners",
        "spark.sql.queryExecutionListeners",
        "spark.sql.streaming.streamingQueryListeners",
        "spark.sql.extensions",
        "spark.sql.catalog.spark_catalog",
        "spark.sql.catalog.x.uri",
        "spark.sql.catalogImplementation",
        "spark.sql.hive.metastore.jars.path",
        "spark.sql.sources.commitProtocolClass",
        "spark.sql.parquet.output.committer.class",
        "spark.sql.adaptive.customCostEvaluatorClass",
        "spark.sql.cache.serializer",
        "spark.serializer",
        "spark.closure.serializer",
        "spark.kryo.registrator",
        "spark.io.compression.codec",
        "spark.shuffle.manager",
        "spark.shuffle.sort.io.plugin.class",
        "spark.pyspark.python",
        "spark.executorEnv.PYTHONPATH",
        "spark.hadoop.fs.s3a.impl",
        "spark.hadoop.io.compression.codecs",
        "spark.ui.filters",
        "hoodie.datasource.write.keygenerator.class",
        "hoodie.datasource.write.payload.class",
        "hoodie.write.record.merge.custom.implementation.classes",
        "hoodie.datasource.write.record.merger.impls",
        "hoodie.compaction.payload.class",
        "hoodie.index.class",
        "hoodie.bulkinsert.user.defined.partitioner.class",
        "hoodie.commits.archival.hook",
        "hoodie.metrics.reporter.class",
        "hoodie.client.init.callback.classes",
        "hoodie.write.commit.callback.class",
        "hoodie.clustering.execution.strategy.class",
        "hoodie.parquet.write.support.class",
        "hoodie.storage.class",
    ),
    "changes identity or endpoint": (
        "spark.submit.deployMode",
        "spark.kubernetes.authenticate.driver.serviceAccountName",
        "spark.kubernetes.executor.secretKeyRef.X",
        "spark.kubernetes.executor.secrets.root",
        "spark.kubernetes.executor.podTemplateFile",
        "spark.kubernetes.driver.volumes.hostPath.x.mount.path",
        "spark.kubernetes.namespace",
        "spark.hadoop.fs.s3a.endpoint.region",
        "spark.hadoop.fs.s3a.bucket.lake.endpoint",
        "spark.hadoop.fs.s3a.bucket.lake.aws.credentials.provider",
        "spark.hadoop.fs.s3a.bucket.lake.access.key",
        "spark.hadoop.fs.s3a.aws.credentials.provider",
        "spark.hadoop.fs.s3a.access.key",
        "spark.hadoop.fs.s3a.secret.key",
        "spark.hadoop.fs.s3a.session.token",
        "spark.hadoop.fs.s3a.assumed.role.arn",
        "spark.hadoop.fs.s3a.custom.signers",
        "spark.hadoop.fs.s3a.signing-algorithm",
        "spark.hadoop.fs.s3a.proxy.host",
        "spark.hadoop.fs.s3a.connection.ssl.enabled",
        "spark.hadoop.fs.defaultFS",
        "spark.hadoop.hadoop.security.credential.provider.path",
        "spark.hive.metastore.uris",
        "spark.driver.host",
        "spark.dynamicAllocation.maxExecutors",
        "spark.redaction.regex",
        "hoodie.write.lock.provider",
        "hoodie.write.lock.zookeeper.url",
        "hoodie.write.lock.dynamodb.endpoint_url",
        "hoodie.write.commit.callback.http.url",
        "hoodie.write.commit.callback.kafka.bootstrap.servers",
        "hoodie.datasource.hive_sync.jdbcurl",
        "hoodie.datasource.meta.sync.enable",
        "hoodie.meta.sync.client.tool.class",
        "hoodie.metrics.pushgateway.host",
        "hoodie.aws.access.key",
        "hoodie.aws.role.arn",
        "hoodie.filesystem.view.remote.host",
        "hoodie.embed.timeline.server.port",
    ),
    "changes a path": (
        "hoodie.base.path",
        "hoodie.basepath",
        "hoodie.table.base.path",
        "hoodie.memory.spillable.map.path",
        "hoodie.bootstrap.base.path",
        "hoodie.archivelog.folder",
        "hoodie.timeline.path",
        "hoodie.timeline.history.path",
        "hoodie.write.lock.filesystem.path",
        "hoodie.datasource.read.paths",
        "hoodie.errortable.base.path",
        "spark.local.dir",
        "spark.eventLog.dir",
        "spark.sql.warehouse.dir",
        "spark.sql.streaming.checkpointLocation",
        "spark.hadoop.fs.s3a.buffer.dir",
    ),
    "hides damage": (
        "spark.sql.files.ignoreCorruptFiles",
        "spark.sql.files.ignoreMissingFiles",
        "spark.files.ignoreCorruptFiles",
        "spark.files.ignoreMissingFiles",
        "spark.hadoopRDD.ignoreEmptySplits",
        "spark.sql.hive.verifyPartitionPath",
        "spark.sql.parquet.fieldId.read.ignoreMissing",
        "spark.sql.csv.parser.columnPruning.enabled",
        "spark.sql.sources.ignoreDataLocality",
        "hoodie.datasource.write.streaming.ignore.failed.batch",
        "hoodie.write.ignore.failed",
        "hoodie.consistency.check.enabled",
        "hoodie.avro.schema.validate",
        "hoodie.datasource.write.insert.drop.duplicates",
        "hoodie.client.heartbeat.interval_in_ms",
        "hoodie.metadata.validate",
    ),
}
ALL_DANGEROUS = [key for keys in DANGEROUS.values() for key in keys]


def prefixes_of(key: str) -> tuple[str, ...]:
    """Every prefix that a class can write for a key, but the key itself followed by nothing."""
    return tuple(f"{key[:length]}*" for length in range(1, len(key) + 1))


@pytest.mark.parametrize("key", ALL_DANGEROUS)
def test_no_prefix_opens_what_can_do_harm(key: str) -> None:
    for spelt in (key, key.lower(), key.upper().replace("SPARK.", "spark.").replace("HOODIE.", "hoodie.")):
        assert len(refused(spelt, allowed=prefixes_of(key), prefix=key[: key.index(".") + 1])) == 1, spelt


@pytest.mark.parametrize("key", [key for key in ALL_DANGEROUS if key.lower() not in {one.lower() for one in OWNED}])
def test_harmful_key_is_opened_by_its_own_name_only_and_is_a_risk(key: str) -> None:
    assert refused(key, allowed=(key,), prefix=key[: key.index(".") + 1]) == ()
    assert refused(f"{key}.x", allowed=(key,), prefix=key[: key.index(".") + 1]) != ()
    assert risk_of(key) is not None


@pytest.mark.parametrize(
    ("key", "risk"),
    [
        ("spark.jars", "can load code into the jobs"),
        ("spark.hadoop.fs.s3a.bucket.lake.endpoint", "can change an identity or lead to another endpoint"),
        ("hoodie.base.path", "can lead to another path"),
        ("spark.sql.files.ignoreCorruptFiles", "can skip damaged or missing input silently"),
        ("spark.sql.somethingNew", "is not known to be harmless"),
        ("spark.sql.shuffle.partitions", None),
        ("hoodie.upsert.shuffle.parallelism", None),
    ],
)
def test_risk_of_a_key_is_named(key: str, risk: str | None) -> None:
    assert risk_of(key) == risk


def test_no_harmless_key_reads_like_one_that_leads_elsewhere() -> None:
    words = (
        "class",
        "path",
        "dir",
        "url",
        "uri",
        "host",
        "provider",
        "jars",
        "ignore",
        "secret",
        "endpoint",
        "listener",
    )
    parts = {(key, part) for key in HARMLESS for part in key.replace("_", ".").split(".")}
    assert [key for key, part in parts if part in words] == []
    assert all(key == key.lower() for key in HARMLESS)


@given(st.from_regex(r"spark\.[A-Za-z0-9._-]{1,30}", fullmatch=True))
def test_a_prefix_opens_nothing_that_is_not_known(key: str) -> None:
    reserved = {one.lower() for one in OWNED}
    opened = refused(key, allowed=("spark.*", "s*")) == ()
    assert opened == (key.lower() in HARMLESS and key.lower() not in reserved)


@given(st.text(max_size=40))
def test_no_key_passes_that_does_not_start_as_the_list_says(key: str) -> None:
    passed = not refused(key, allowed=("spark.sql.*",))
    assert not passed or (key.isascii() and key.lower().startswith("spark.sql.") and key == key.strip())


@given(st.from_regex(r"spark\.[A-Za-z0-9._-]{1,20}", fullmatch=True))
def test_the_case_of_a_key_never_changes_the_answer(key: str) -> None:
    allowed = ("spark.sql.*", "spark.a")
    answers = {bool(refused(spelt, allowed=allowed)) for spelt in (key, key.lower(), "spark" + key[5:].upper())}
    assert len(answers) == 1
