"""The rules of queries on plans that are plain values, and the lists that they go by."""

import re
from typing import Any

import pytest
from tests.spark_jobs.continuous.watched import watching
from tests.spark_jobs.trials import ALL

from hudi_jobs.query.rules import CATALYST, DEEPEST, QueryRules, tree
from hudi_jobs.query.session import FUNCTIONS, TABLE_FUNCTIONS, bare_session
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import classes, session_state

RULES = QueryRules("source", case_sensitive=False)
PROJECT, STAR = f"{CATALYST}plans.logical.Project", f"{CATALYST}analysis.UnresolvedStar"
RELATION, VIEW = f"{CATALYST}analysis.UnresolvedRelation", f"{CATALYST}plans.logical.View"
SOURCE = (1, RELATION, "source")

_NOT_OFFERED = """
current_catalog current_database current_schema current_user input_file_block_length input_file_block_start
input_file_name java_method reflect user version xpath xpath_boolean xpath_double xpath_float xpath_int xpath_long
xpath_number xpath_short xpath_string
"""

NOT_OFFERED = frozenset(_NOT_OFFERED.split())
"""What Spark 3.5.9 registers and a transform cannot use."""


def registered(registry: Any) -> set[str]:
    return {name.strip("`") for name in str(registry.listFunction().mkString("\n")).splitlines()}


def builtin(spark: Any) -> Any:
    registry = getattr(classes(spark).org.apache.spark.sql.catalyst.analysis, "FunctionRegistry$")
    return getattr(registry, "MODULE$").builtin()


def test_a_node_that_is_in_no_list_is_refused_wherever_it_is() -> None:
    plan = [(0, PROJECT), SOURCE, (1, STAR), (2, "org.example.Unheard$")]
    with pytest.raises(TaskFailed, match="Unheard is not allowed"):
        RULES.require_parsed(tree(plan))


def test_a_node_below_the_deepest_level_is_refused() -> None:
    RULES.require_parsed(tree([*((n, PROJECT) for n in range(DEEPEST)), (DEEPEST, RELATION, "source")]))
    with pytest.raises(TaskFailed, match="too deep"):
        RULES.require_parsed(tree([*((n, PROJECT) for n in range(DEEPEST + 1)), (DEEPEST + 1, RELATION, "source")]))


@pytest.mark.parametrize(
    "names", [("other",), ("default", "source"), ("source", "option"), (), ("",), ("sourc\u0065\u0301",)]
)
def test_a_relation_is_the_source_and_nothing_else(names: tuple[str, ...]) -> None:
    with pytest.raises(TaskFailed, match="may read only the view"):
        RULES.require_parsed(tree([(0, PROJECT), (1, RELATION, *names)]))


def test_a_view_of_another_name_is_refused_once_it_is_resolved() -> None:
    RULES.require_resolved(tree([(0, PROJECT), (1, VIEW, "source")]))
    for names in (("other",), ("source", "spark_catalog"), ()):
        with pytest.raises(TaskFailed, match="may read only the view"):
            RULES.require_resolved(tree([(0, PROJECT), (1, VIEW, *names)]))


@pytest.mark.spark
def test_every_function_of_spark_is_either_offered_or_left_out_on_purpose(spark: Any) -> None:
    words = {name for name in registered(builtin(spark)) if name[0].isalpha()}
    assert words == FUNCTIONS | NOT_OFFERED
    assert not FUNCTIONS & NOT_OFFERED


@pytest.mark.spark
def test_the_session_of_a_transform_has_no_other_function(spark: Any) -> None:
    state = session_state(bare_session(spark, "source", spark.range(1)))
    assert registered(state.functionRegistry()) == FUNCTIONS
    assert registered(state.tableFunctionRegistry()) == TABLE_FUNCTIONS


@pytest.mark.spark
def test_the_examples_of_offered_functions_are_accepted_and_those_of_the_others_are_not(
    spark: Any, tmp_path: Any
) -> None:
    registry = builtin(spark)
    identifier = classes(spark).org.apache.spark.sql.catalyst.FunctionIdentifier
    examples = sorted(
        (name, found.replace("_FUNC_", name))
        for name in FUNCTIONS | NOT_OFFERED
        for found in re.findall(r"> (SELECT.*?);", registry.lookupFunction(identifier(name)).get().getExamples(), re.S)
    )
    assert len(examples) > 500
    left_out = [(name, sql) for name, sql in examples if name in NOT_OFFERED]
    with watching(spark, tmp_path) as watch:
        assert [sql for _, sql in left_out if watch.accepts(f"SELECT 1 FROM ({sql})")] == []
        offered = [sql for name, sql in examples if name in FUNCTIONS]
        assert [sql for sql in offered[:: 1 if ALL else 10] if not watch.accepts(f"SELECT 1 FROM ({sql})")] == []
