"""Access from PySpark to the JVM; the only module that uses PySpark's private members."""

import json
import os
import re
import signal
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

from py4j.java_gateway import JavaClass, JavaMember, JavaPackage, JVMView
from pyspark import SparkContext
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql.types import DataType

JavaObject: TypeAlias = Any
"""An object in the JVM; py4j has no types."""

Observations: TypeAlias = dict[str, tuple[int, ...]]
"""Counts of observations, by name, from computing rows."""

_OBSERVED = re.compile(r"(\w+) -> \[([\d,]+)\]")
_NO_STREAM = False
_NULL_OF_NULL = _MAY_BE_NULL = _IS_PURE = True


def classes(spark: SparkSession) -> JavaObject:
    """Return the root for looking up Java classes by full name."""
    jvm = spark._jvm  # noqa: SLF001
    if type(jvm) is JVMView:
        jvm.__class__ = _Names
    return jvm


class _Names(JVMView):  # type: ignore[misc]
    """A view of the JVM that remembers each name, also for PySpark.

    py4j asks the JVM for each part of a name on every use, and the JVM searches every jar for a package's name. That
    was a quarter of the driver's own cost of a small batch.
    """

    def __getattr__(self, name: str) -> JavaObject:
        return _remembered(self, name, super().__getattr__(name))


class _Package(JavaPackage):  # type: ignore[misc]
    def __getattr__(self, name: str) -> JavaObject:
        return _remembered(self, name, super().__getattr__(name))


class _Class(JavaClass):  # type: ignore[misc]
    """A class that remembers its methods and inner classes; fields are read on each use."""

    def __getattr__(self, name: str) -> JavaObject:
        return _remembered(self, name, super().__getattr__(name))


def _remembered(owner: JavaObject, name: str, found: JavaObject) -> JavaObject:
    if isinstance(found, JavaPackage):
        found = _Package(found._fqn, found._gateway_client, found._jvm_id)  # noqa: SLF001
    elif isinstance(found, JavaClass):
        found = _Class(found._fqn, found._gateway_client)  # noqa: SLF001
    if isinstance(found, JavaPackage | JavaClass | JavaMember):
        setattr(owner, name, found)
    return found


def elements(collection: JavaObject) -> list[JavaObject]:
    """Return the elements of a Java collection.

    Iterating with py4j ends in a JVM exception, which makes PySpark ask twenty questions.
    """
    array = collection.toArray()
    return [array[place] for place in range(len(array))]


def iterated(iterator: JavaObject) -> Iterator[JavaObject]:
    """Yield the elements of a Java or Hadoop iterator singly, because there may be very many."""
    while iterator.hasNext():
        yield iterator.next()


def texts(spark: SparkSession, entries: JavaObject) -> dict[str, str]:
    """Return a Java map of strings, fetched in a single call; empty for null."""
    found = json.loads(str(classes(spark).org.apache.hudi.common.util.JsonUtils.toString(entries))) or {}
    return {str(key): str(value) for key, value in found.items()}


def hadoop_configuration(spark: SparkSession) -> JavaObject:
    """Return the configuration for opening Hadoop's file systems."""
    return spark._jsc.hadoopConfiguration()  # noqa: SLF001


def spark_session(spark: SparkSession) -> JavaObject:
    """Return the Java session."""
    return spark._jsparkSession  # noqa: SLF001


def java_spark_context(spark: SparkSession) -> JavaObject:
    """Return the `JavaSparkContext` of a session."""
    return classes(spark).org.apache.spark.api.java.JavaSparkContext.fromSparkContext(
        spark_session(spark).sparkContext()
    )


def engine_context(spark: SparkSession) -> JavaObject:
    """Return the `HoodieEngineContext` in which Hudi's utilities run on a session."""
    return classes(spark).org.apache.hudi.client.common.HoodieSparkEngineContext(java_spark_context(spark))


def java_map(spark: SparkSession, entries: Mapping[str, str]) -> JavaObject:
    """Return a Java map of strings."""
    result = classes(spark).java.util.HashMap()
    for key, value in entries.items():
        result.put(key, value)
    return result


def scala_map(spark: SparkSession, entries: Mapping[str, str]) -> JavaObject:
    """Return an immutable Scala map of strings."""
    return classes(spark).PythonUtils.toScalaMap(java_map(spark, entries))


def parsed_plan(session: SparkSession, sql: str) -> JavaObject:
    """Parse a statement, without resolving or running it."""
    return session_state(session).sqlParser().parsePlan(sql)


def parsed_expression(session: SparkSession, sql: str) -> JavaObject:
    """Parse an expression, without resolving it."""
    return session_state(session).sqlParser().parseExpression(sql)


def resolved_plan(session: SparkSession, plan: JavaObject) -> JavaObject:
    """Resolve a parsed plan in the session, without running commands, unlike a data frame."""
    modes = getattr(classes(session).org.apache.spark.sql.execution, "CommandExecutionMode$")
    return session_state(session).executePlan(plan, getattr(modes, "MODULE$").SKIP()).analyzed()


def without_stand_ins(session: SparkSession, plan: JavaObject) -> JavaObject:
    """Return a resolved plan with each runtime-replaceable function replaced by its implementation."""
    rule = getattr(classes(session).org.apache.spark.sql.catalyst.optimizer, "ReplaceExpressions$")
    return getattr(rule, "MODULE$").apply(plan)


def frame_of(session: SparkSession, plan: JavaObject) -> DataFrame:
    """Return a resolved plan as a data frame of the session."""
    return DataFrame(classes(session).org.apache.spark.sql.Dataset.ofRows(spark_session(session), plan), session)


def frame_of_relation(session: SparkSession, relation: JavaObject) -> DataFrame:
    """Return a data source's relation as a data frame of the session."""
    return DataFrame(spark_session(session).sqlContext().baseRelationToDataFrame(relation), session)


def frame_of_rows(session: SparkSession, rows: JavaObject, ddl: str) -> DataFrame:
    """Return a `JavaRDD` of rows as a data frame with the columns of a struct type in DDL."""
    kind = classes(session).org.apache.spark.sql.types.DataType.fromDDL(ddl)
    return DataFrame(spark_session(session).createDataFrame(rows, kind), session)


def java_objects(spark: SparkSession, *values: object) -> JavaObject:
    """Return a Java array of objects, the form of a reflective call's arguments."""
    return java_array(spark, classes(spark).Object, values)


def java_array(spark: SparkSession, kind: JavaObject, values: Sequence[object]) -> JavaObject:
    """Return a Java array of a class."""
    gateway: JavaObject = spark.sparkContext._gateway  # noqa: SLF001
    array = gateway.new_array(kind, len(values))
    for index, value in enumerate(values):
        array[index] = value
    return array


def java_texts(spark: SparkSession, values: Sequence[str]) -> JavaObject:
    """Return a Java array of texts."""
    gateway: JavaObject = spark.sparkContext._gateway  # noqa: SLF001
    array = gateway.new_array(gateway.jvm.String, len(values))
    for index, value in enumerate(values):
        array[index] = value
    return array


def session_state(spark: SparkSession) -> JavaObject:
    """Return the parser, the functions and the catalog of a Spark session."""
    return spark._jsparkSession.sessionState()  # noqa: SLF001


def query_execution(frame: DataFrame) -> JavaObject:
    """Return Spark's plan and execution of the frame."""
    return frame._jdf.queryExecution()  # noqa: SLF001


def schema_json(frame: DataFrame) -> dict[str, Any]:
    """Return the schema of a frame as JSON, without PySpark's types."""
    described: dict[str, Any] = json.loads(frame._jdf.schema().json())  # noqa: SLF001
    return described


def inferred_columns(texts: DataFrame, format_: str, options: Mapping[str, str]) -> JavaObject:
    """Return the columns that Spark infers from the frame's only column of CSV or JSON texts."""
    strings = getattr(texts._jdf, "as")(classes(texts.sparkSession).org.apache.spark.sql.Encoders.STRING())  # noqa: SLF001
    reader = spark_session(texts.sparkSession).read().options(java_map(texts.sparkSession, options))
    return getattr(reader, format_)(strings).schema()


def input_files(frame: DataFrame) -> list[str]:
    """Return the paths of all files that the frame may read, fetched in a single call."""
    joined = classes(frame.sparkSession).org.apache.hadoop.util.StringUtils.join("\0", frame._jdf.inputFiles())  # noqa: SLF001
    return [path for path in str(joined).split("\0") if path]


def collected_rows(frame: DataFrame) -> tuple[JavaObject, list[JavaObject]]:
    """Return the schema and all rows of a small frame as Java objects."""
    return frame._jdf.schema(), list(frame._jdf.collectAsList())  # noqa: SLF001


def local_rows(frame: DataFrame) -> JavaObject:
    """Return a Java iterator of the frame's rows, partition by partition."""
    return frame._jdf.toLocalIterator()  # noqa: SLF001


def from_protobuf(value: Column, message: str, descriptor_file: str) -> Column:
    """Decode a message by its name in a descriptor file; null for an invalid value.

    PySpark's own function passes the file's content, which the image's release of spark-protobuf does not accept.
    """
    spark = SparkSession.getActiveSession()
    assert spark is not None, "a column is made in a session"
    functions = classes(spark).org.apache.spark.sql.protobuf.functions
    options = java_map(spark, {"mode": "PERMISSIVE"})
    return Column(functions.from_protobuf(value._jc, message, descriptor_file, options))  # noqa: SLF001


def tried_cast(column: Column, kind: DataType) -> Column:
    """Return the value cast to another type, or null when it does not fit, whatever `spark.sql.ansi.enabled` is.

    With ANSI a plain cast ends the run, even behind a condition that no row meets: Spark computes expressions used in
    several places before it checks conditions. PySpark has `Column.try_cast` from 4.0 on.
    """
    spark = SparkSession.getActiveSession()
    assert spark is not None, "a column is made in a session"
    sql = classes(spark).org.apache.spark.sql
    wanted = sql.types.DataType.fromJson(kind.json())
    mode = sql.catalyst.expressions.EvalMode.TRY()
    zone = classes(spark).scala.Option.empty()
    return Column(sql.Column(sql.catalyst.expressions.Cast(column._jc.expr(), wanted, zone, mode)))  # noqa: SLF001


def called_with(spark: SparkSession, function: JavaObject, argument: Column, kind: DataType) -> Column:
    """Return the column of a Java function's results on a column's values, in Spark's internal form.

    Spark calls the function by its interface. Values are not copied, unlike with functions registered for SQL.
    """
    jvm = classes(spark)
    catalyst, types = jvm.org.apache.spark.sql.catalyst.expressions, jvm.org.apache.spark.sql.types
    interface = jvm.java.lang.Class.forName("org.apache.spark.api.java.function.Function")
    target = catalyst.Literal.fromObject(function, types.ObjectType(interface))
    arguments = jvm.java.util.ArrayList()
    arguments.add(argument._jc.expr())  # noqa: SLF001
    result = types.DataType.fromJson(kind.json()).asNullable()
    to_seq = jvm.PythonUtils.toSeq
    call = catalyst.objects.Invoke(
        target,
        "call",
        result,
        to_seq(arguments),
        to_seq(jvm.java.util.ArrayList()),
        _NULL_OF_NULL,
        _MAY_BE_NULL,
        _IS_PURE,
    )
    return Column(jvm.org.apache.spark.sql.Column(call))


def fill_cache(frame: DataFrame) -> Observations:
    """Compute the rows of a persisted frame once, without a query, and return its observations.

    Observations that Spark optimised away are missing.
    """
    manager = spark_session(frame.sparkSession).sharedState().cacheManager()
    relation = manager.lookupCachedData(frame._jdf).get().cachedRepresentation()  # noqa: SLF001
    relation.cacheBuilder().cachedColumnBuffers().count()
    return _observed(frame.sparkSession, relation.cachedPlan())


def in_shuffle_files(frame: DataFrame) -> tuple[DataFrame, Observations]:
    """Compute the rows of a frame into its last shuffle's files, and return a frame that continues there.

    Also returns the observations from before any shuffle. Observations after the last shuffle are missing, because that
    part is computed on each read. With `spark.sql.adaptive.enabled` off nothing is computed yet, so there are none.
    """
    spark, execution = frame.sparkSession, query_execution(frame)
    rows = execution.toRdd()
    found: Observations = {}
    if str(execution.executedPlan().getClass().getSimpleName()) == "AdaptiveSparkPlanExec":
        leaves = execution.executedPlan().executedPlan().collectLeaves()
        for leaf in (leaves.apply(place) for place in range(leaves.size())):
            if str(leaf.getClass().getSimpleName()) == "ShuffleQueryStageExec":
                found |= _observed(spark, leaf)
    continued = spark_session(spark).internalCreateDataFrame(rows, execution.analyzed().schema(), _NO_STREAM)
    return DataFrame(continued, spark), found


def _observed(spark: SparkSession, plan: JavaObject) -> Observations:
    """Return the observations of a plan that was run; names must be word characters and values whole numbers."""
    collector = getattr(classes(spark).org.apache.spark.sql.execution, "CollectMetricsExec$")
    text = str(getattr(collector, "MODULE$").collect(plan).toString())
    return {name: tuple(map(int, values.split(","))) for name, values in _OBSERVED.findall(text)}


def jvm_process() -> JavaObject | None:
    """Return PySpark's process of the JVM, or None."""
    return getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001


def open_sockets() -> int:
    """Return the number of the JVM's open sockets; 0 when unknown."""
    process = jvm_process()
    found = 0
    with suppress(OSError):
        for file in Path(f"/proc/{os.getppid() if process is None else process.pid}/fd").iterdir():
            with suppress(OSError):  # closed meanwhile
                found += str(file.readlink()).startswith("socket:")
    return found


def end_jvm() -> None:
    """Kill the JVM, and with it whatever this process was about to commit."""
    process = jvm_process()
    if process is None:
        os.kill(os.getpid(), signal.SIGKILL)
    else:
        process.kill()
        process.wait()
