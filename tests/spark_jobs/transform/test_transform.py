"""The SQL of a table's owner computes rows from `source` and does nothing else, whatever is tried."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.spark_jobs.continuous.watched import CANARY, TABLE, Watch, watching
from tests.spark_jobs.transform.harmless_queries import HARMLESS
from tests.spark_jobs.transform.hostile_queries import PROPERTY

from hudi_jobs.ingestion.row_checks import apply_transform, computed
from hudi_jobs.spark.jvm import classes

pytestmark = pytest.mark.spark

RUN = "SELECT TRANSFORM(id, name, v) USING '{script}' AS (id INT, name STRING, v DOUBLE) FROM source"

PLACES = {
    "top level": "{run}",
    "with": "WITH t AS ({run}) SELECT * FROM t",
    "nested with": "WITH t AS (WITH u AS ({run}) SELECT * FROM u) SELECT * FROM t",
    "unused with": "WITH t AS ({run}) SELECT * FROM source",
    "map": "WITH t AS (FROM source MAP id USING '{script}' AS id) SELECT * FROM t",
    "reduce": "FROM (FROM source REDUCE id USING '{script}' AS id) SELECT *",
    "scalar subquery": "SELECT (SELECT max(name) FROM ({run})) AS x FROM source",
    "exists": "SELECT * FROM source WHERE EXISTS ({run})",
    "in": "SELECT * FROM source WHERE id IN (SELECT id FROM ({run}))",
    "lateral": "SELECT * FROM source, LATERAL (SELECT * FROM ({run}))",
    "from": "SELECT * FROM ({run}) AS t",
    "union": "SELECT * FROM source UNION ALL ({run})",
    "join": "SELECT s.* FROM source s JOIN ({run}) t ON s.id = t.id",
    "having": "SELECT name FROM source GROUP BY name HAVING max(id) IN (SELECT id FROM ({run}))",
    "order by": "SELECT * FROM source ORDER BY (SELECT max(id) FROM ({run}))",
    "window": "SELECT sum(id) OVER (ORDER BY (SELECT max(id) FROM ({run}))) FROM source",
    "lambda": "SELECT transform(array(1), x -> (SELECT max(id) FROM ({run}))) FROM source",
    "join condition": "SELECT s.* FROM source s JOIN source t ON s.id IN (SELECT id FROM ({run}))",
    "pivot": "SELECT * FROM ({run}) PIVOT (sum(v) FOR name IN ('a'))",
    "hint": "SELECT /*+ REPARTITION(2) */ * FROM ({run})",
    "values": "SELECT * FROM VALUES ((SELECT max(id) FROM ({run})))",
    "lateral view": "SELECT * FROM source LATERAL VIEW explode(array((SELECT max(id) FROM ({run})))) t AS e",
    "table function": "SELECT * FROM range((SELECT max(id) FROM ({run})))",
    "limit": "SELECT * FROM source LIMIT (SELECT max(id) FROM ({run}))",
    "grouping": "SELECT count(*) FROM source GROUP BY CUBE(id, (SELECT max(id) FROM ({run})))",
}


@pytest.fixture(scope="module")
def watch(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watch]:
    with watching(spark, tmp_path_factory.mktemp("watched")) as watch:
        yield watch


def test_the_watch_sees_what_hostile_statements_do_where_nothing_holds_them(spark: Any, tmp_path: Any) -> None:
    with watching(spark, tmp_path) as watch:
        assert not watch.effects()
        watch.rows.createOrReplaceTempView("source")
        places = watch.places
        watch.spark.sql(RUN.format(script=places.script)).collect()
        watch.spark.sql(f"{places.before()[0]} SELECT * FROM source")
        watch.spark.sql(f"SELECT {places.expressions()[0]}").collect()
        watch.spark.conf.set("spark.sql.runSQLOnFiles", "true")
        for relation in (TABLE, f"csv.`{places.secret}`"):
            assert CANARY in str(watch.spark.sql(f"SELECT * FROM {relation}").collect())
        seen = " ".join(watch.effects())
    for effect in ("changed", "written", "a script has run", "a function has been called"):
        assert effect in seen


@pytest.mark.parametrize("place", PLACES)
def test_a_script_does_not_run_from_any_place_of_a_query(watch: Watch, place: str) -> None:
    run = RUN.format(script=watch.places.script)
    watch.require_refused(PLACES[place].format(run=run, script=watch.places.script))


def test_no_spelling_of_a_script_is_run(watch: Watch) -> None:
    for script in watch.places.scripts():
        watch.require_refused(script, "a script (TRANSFORM")
        watch.require_refused(f"WITH t AS ({script}) SELECT * FROM t", "a script (TRANSFORM")


def test_a_query_is_written_nowhere_but_into_its_table(watch: Watch) -> None:
    for before in watch.places.before():
        watch.require_refused(f"{before}SELECT * FROM source")
    assert "INSERT OVERWRITE DIRECTORY" in watch.require_refused(f"{watch.places.before()[0]}SELECT * FROM source")


def test_no_statement_but_a_query_is_run(watch: Watch) -> None:
    for statement in watch.places.statements():
        watch.require_refused(statement)


def test_no_file_table_or_table_function_is_read(watch: Watch) -> None:
    for relation in watch.places.relations():
        watch.require_refused(f"SELECT * FROM {relation} AS t")
        watch.require_refused(f"SELECT * FROM source WHERE id IN (SELECT 1 FROM {relation} AS t)")


def test_no_function_looks_beyond_its_arguments(watch: Watch) -> None:
    for expression in watch.places.expressions():
        watch.require_refused(f"SELECT {expression} AS x FROM source")
        watch.require_refused(f"SELECT * FROM source WHERE {expression} IS NULL ORDER BY {expression}")


def test_a_name_of_with_is_known_only_where_it_is_in_scope(watch: Watch) -> None:
    watch.require_refused(f"WITH a AS (SELECT * FROM {TABLE}), {TABLE} AS (SELECT 1) SELECT * FROM a", TABLE)
    watch.require_refused(f"SELECT * FROM (WITH {TABLE} AS (SELECT 1) SELECT 1), {TABLE}", TABLE)
    watch.require_refused(f"WITH {TABLE} AS (SELECT * FROM {TABLE}) SELECT * FROM {TABLE}", TABLE)
    watch.require_refused(f"WITH a AS (SELECT 1) SELECT * FROM default.{TABLE}", TABLE)
    watch.require_refused(f"WITH `` AS (SELECT 1) SELECT * FROM default.{TABLE}", TABLE)
    own = f"WITH {TABLE} AS (SELECT * FROM source) SELECT * FROM {TABLE}"
    assert "name='a'" in watch.require_untouched(own)


def test_a_view_of_the_name_of_a_table_is_not_taken_for_the_source(watch: Watch) -> None:
    watch.spark.sql(f"SELECT * FROM {TABLE}").createOrReplaceTempView("planted")
    try:
        watch.require_refused("SELECT * FROM planted", "planted")
        watch.require_refused("SELECT * FROM global_temp.planted", "global_temp.planted")
    finally:
        watch.spark.catalog.dropTempView("planted")


def test_other_case_of_the_source_is_another_name_where_the_session_says_so(watch: Watch) -> None:
    assert "name='a'" in watch.require_untouched("SELECT * FROM SOURCE")
    watch.spark.conf.set("spark.sql.caseSensitive", "true")
    try:
        watch.require_refused("SELECT * FROM SOURCE", "reads SOURCE")
        assert "name='a'" in watch.require_untouched("SELECT * FROM source")
    finally:
        watch.spark.conf.unset("spark.sql.caseSensitive")


def test_the_name_of_a_column_is_only_a_name(watch: Watch) -> None:
    call = f"java_method('java.lang.System', 'setProperty', '{PROPERTY}', 'set')"
    name = f"id` END || {call} || CASE WHEN true THEN `id"
    quoted = name.replace("`", "``")
    assert f"Row({name}=1" in watch.require_untouched(f"SELECT 1 AS `{quoted}` FROM source")


@pytest.mark.parametrize(
    "sql",
    [
        f"SELECT 1{'+1' * 300} FROM source",
        f"SELECT 1{'+1' * 15_000} FROM source",
        f"SELECT {'NOT ' * 8_000} true FROM source",
        f"SELECT {'(' * 15_000}1{')' * 15_000} FROM source",
        f"SELECT {'abs(' * 6_000}1{')' * 6_000} FROM source",
        f"SELECT {'CASE WHEN true THEN ' * 1_000}1{' END' * 1_000} FROM source",
        f"SELECT {'(SELECT ' * 3_000}1{')' * 3_000} FROM source",
        f"SELECT * FROM {'(SELECT * FROM ' * 1_500}source{')' * 1_500}",
        f"SELECT 1 FROM source {'UNION SELECT 1 FROM source ' * 1_000}",
        f"SELECT CAST(NULL AS {'ARRAY<' * 4_000}INT{'>' * 4_000}) FROM source",
    ],
    ids=["sum", "long sum", "not", "brackets", "calls", "case", "subqueries", "from", "union", "type"],
)
def test_query_nested_too_deep_is_refused_with_a_sentence(watch: Watch, sql: str) -> None:
    assert len(sql) <= 32_768
    watch.require_refused(sql, "nested too deep")


def test_a_text_that_is_too_long_is_not_parsed(watch: Watch) -> None:
    watch.require_refused("SELECT * FROM source -- " + "x" * 32_768, "32,768")


@pytest.mark.parametrize(
    "sql",
    [
        "WITH a0 AS (SELECT * FROM source), "
        + ", ".join(f"a{n + 1} AS (SELECT *, * FROM a{n})" for n in range(30))
        + " SELECT 1 FROM a30",
        "WITH a0 AS (SELECT 1 AS x), "
        + ", ".join(f"a{n + 1} AS (SELECT l.x FROM a{n} l, a{n} r)" for n in range(30))
        + " SELECT * FROM a30",
        "WITH a0 AS (SELECT 1 AS x), "
        + ", ".join(f"a{n + 1} AS (SELECT struct(*) AS x, struct(*) AS y FROM a{n})" for n in range(30))
        + " SELECT * FROM a30",
        f"SELECT 1 FROM source GROUP BY CUBE({', '.join(['id'] * 30)})",
        f"SELECT 1 FROM source GROUP BY {', '.join(['ROLLUP(id, name, v)'] * 30)}",
    ],
    ids=["columns", "rows", "structs", "cube", "rollups"],
)
def test_a_query_that_doubles_itself_is_refused_before_it_is_planned(watch: Watch, sql: str) -> None:
    watch.require_refused(sql, "repeats")


def test_a_refusal_names_what_is_not_allowed_briefly_and_in_letters(watch: Watch) -> None:
    said = watch.require_refused(f"SELECT `bad\n\x1b{'x' * 5_000}`(1) FROM source", r"bad\x0a\x1bx")
    assert len(said) < 400


def test_queries_of_every_common_kind_are_accepted(watch: Watch) -> None:
    assert [sql for sql in HARMLESS if not watch.accepts(sql)] == []
    assert [sql for sql in HARMLESS[::10] if not watch.attempt(sql).startswith("[")] == []
    assert not watch.effects()


def test_nothing_of_a_transform_is_left_in_the_session(watch: Watch) -> None:
    before = watch.spark.conf.get("spark.sql.defaultCatalog")
    watch.attempt("SELECT * FROM source")
    assert not [table.name for table in watch.spark.catalog.listTables() if table.isTemporary]
    assert watch.spark.conf.get("spark.sql.defaultCatalog") == before
    assert classes(watch.spark).java.lang.System.getProperty(PROPERTY) is None


@pytest.mark.parametrize(
    ("sql", "made"),
    [
        ("SELECT * FROM source WHERE id > 1 ORDER BY id LIMIT 5", set()),
        (
            "WITH a AS (SELECT b.*, 1 AS one FROM source b) SELECT one, id, mark FROM a JOIN range(3) USING (id)",
            set(),
        ),
        ("SELECT id, mark FROM source WHERE mark UNION ALL SELECT id, mark FROM source WHERE id > 1", set()),
        ("SELECT id + 1 AS id, mark FROM source", {"id"}),
        ("SELECT id, false AS mark FROM source", {"mark"}),
        ("SELECT id, max(mark) AS mark FROM source GROUP BY id", {"mark"}),
        ("SELECT id, mark AS other FROM source", set()),
    ],
)
def test_columns_that_a_query_makes_itself_are_told_from_those_that_it_hands_through(
    spark: Any, sql: str, made: set[str]
) -> None:
    view = spark.createDataFrame([(1, True), (2, False)], "id INT, mark BOOLEAN")
    assert computed(view, apply_transform(spark, view, sql), ("id", "mark", "none")) == made
