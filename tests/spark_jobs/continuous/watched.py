"""What a query may do outside of its rows, seen in the file system, the process table, the catalog and the JVM."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from tests.spark_jobs.transform.hostile_queries import PROPERTY, Places

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion.row_checks import apply_transform
from hudi_jobs.schemas.types import nullable
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import classes, spark_session

CANARY = "canary-5b1f"
"""Stands in every file and table that must not be read."""

TABLE = "other_tenant"


@dataclass
class Watch:
    """A source of two rows, and everything around it that must stay as it is."""

    spark: SparkSession
    places: Places
    trace: Path
    rows: DataFrame

    def attempt(self, sql: str) -> str:
        """Run a transform to its end; return what it says, or its rows as text."""
        try:
            # What follows a transform in a run names its columns.
            return str(nullable(apply_transform(self.spark, self.rows, sql)).collect())
        except TaskFailed as failed:
            return f"{failed.reason}: {failed.message}"
        except (PySparkException, Py4JJavaError) as error:
            return f"failed: {error}"

    def accepts(self, sql: str) -> bool:
        """Tell whether a transform is allowed and can be planned; it is not run."""
        try:
            apply_transform(self.spark, self.rows, sql)
        except TaskFailed:
            return False
        return True

    def effects(self) -> list[str]:
        """Everything that has happened outside."""
        java = classes(self.spark).java.lang.System
        expected = {self.places.folder / "kept.csv": CANARY, self.places.secret: f"1,{CANARY},1.5\n"}
        found = [
            f"changed: {path}" for path, text in expected.items() if not path.is_file() or path.read_text() != text
        ]
        found += [f"written: {path}" for path in self.places.folder.iterdir() if path.name != "kept.csv"]
        found += ["a script has run"] if self.trace.exists() else []
        found += [f"runs: {line}" for line in _command_lines() if str(self.places.script) in line]
        found += ["a function has been called"] if java.getProperty(PROPERTY) is not None else []
        tables = str(spark_session(self.spark).sharedState().externalCatalog().listTables("default").mkString(" "))
        return found if tables == TABLE else [*found, f"the catalog holds {tables}"]

    def require_untouched(self, sql: str) -> str:
        """Run a transform; fail when it had any effect or has read anything. Return what it says."""
        said = self.attempt(sql)
        assert CANARY not in said.replace(str(self.places.folder.parent), ""), sql
        assert not self.effects(), sql
        return said

    def require_refused(self, sql: str, part: str = "") -> str:
        """The same, for a transform that is not run at all, for a reason that names this part of it."""
        said = self.require_untouched(sql)
        assert said.startswith(f"{FailureReason.TRANSFORM_INVALID}: "), (sql, said)
        assert part in said, (sql, said)
        return said


@contextmanager
def watching(spark: SparkSession, folder: Path) -> Iterator[Watch]:
    """Lay out what is watched, and take it away again."""
    session = spark.newSession()
    script, trace, target = folder / "script.sh", folder / "trace", folder / "target"
    secret = folder / "secret" / "rows.csv"
    for made in (target, secret.parent):
        made.mkdir()
    script.write_text(f"#!/bin/sh\necho run >> {trace}\nexec cat\n")
    script.chmod(0o755)
    secret.write_text(f"1,{CANARY},1.5\n")
    (target / "kept.csv").write_text(CANARY)
    session.sql(f"CREATE TABLE {TABLE} (id INT, name STRING, v DOUBLE) USING csv LOCATION '{secret.parent}'")
    rows = session.createDataFrame([(1, "a", 2.0), (2, "b", 3.5)], "id INT, name STRING, v DOUBLE")
    try:
        yield Watch(session, Places(script, secret, target, TABLE), trace, rows)
    finally:
        session.sql(f"DROP TABLE IF EXISTS {TABLE}")
        classes(spark).java.lang.System.clearProperty(PROPERTY)


def _command_lines() -> Iterator[str]:
    for process in Path("/proc").glob("[0-9]*"):
        try:
            yield (process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue  # it has ended meanwhile
