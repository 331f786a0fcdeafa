"""Builds the session for resolving a query: a view, values, and functions over them."""

from collections.abc import Iterable

from pyspark.sql import DataFrame, SparkSession

from hudi_jobs.jvm import JavaObject, classes, frame_of, query_execution, session_state
from hudi_jobs.query.functions import FUNCTIONS, TABLE_FUNCTIONS

_NO_CATALOG = {
    # No catalog has this name: a name that is neither a view nor a function of the session is not looked up.
    "spark.sql.defaultCatalog": "none",
    "spark.sql.runSQLOnFiles": "false",
    "spark.sql.variable.substitute": "false",
}


def bare_session(spark: SparkSession, view: str, rows: DataFrame) -> SparkSession:
    """Return a session with the rows as a view and the allowed functions, without tables, catalogs or files.

    It shares the JVM with every other session. So this is the second safeguard; the first is that only an allowed plan
    is resolved.
    """
    session = spark.newSession()
    frame_of(session, query_execution(rows).analyzed()).createOrReplaceTempView(view)
    for key, value in _NO_CATALOG.items():
        session.conf.set(key, value)
    state = session_state(session)
    _keep(spark, state.functionRegistry(), FUNCTIONS)
    _keep(spark, state.tableFunctionRegistry(), TABLE_FUNCTIONS)
    return session


def _keep(spark: SparkSession, registry: JavaObject, allowed: Iterable[str]) -> None:
    identifier = classes(spark).org.apache.spark.sql.catalyst.FunctionIdentifier
    registered = {name.strip("`") for name in str(registry.listFunction().mkString("\n")).splitlines()}
    for name in registered.difference(allowed):
        registry.dropFunction(identifier(name))
