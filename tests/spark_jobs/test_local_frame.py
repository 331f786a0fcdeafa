"""A few rows of the driver are a frame without a job and without Python workers."""

from typing import Any

import pytest

from hudi_jobs.frames import local_frame
from hudi_jobs.spark.jvm import query_execution

pytestmark = pytest.mark.spark

TEXTS = ["", " ", "null", "\n\r\t", "\0", '"\\', "ü\u2028\U0001f600", "x" * 10_000]


def test_values_are_what_they_were(spark: Any) -> None:
    rows = [(text, number, number > 3, None) for number, text in enumerate(TEXTS)]
    frame = local_frame(spark, rows, "a STRING, `b.c` BIGINT, _corrupt_record BOOLEAN, d INT")
    assert [tuple(row) for row in frame.collect()] == rows


def test_structs_are_given_as_sequences(spark: Any) -> None:
    rows = [("a", (2**63 - 1, ("x", None))), ("b", None)]
    frame = local_frame(spark, rows, "k STRING, v STRUCT<n: BIGINT, deep: STRUCT<s: STRING, t: INT>>")
    assert [tuple(row) for row in frame.collect()] == rows


def test_there_may_be_no_rows_or_more_than_are_handed_over_at_once(spark: Any) -> None:
    assert local_frame(spark, (), "n INT").collect() == []
    assert [row.n for row in local_frame(spark, ((n,) for n in range(2_500)), "n INT").collect()] == list(range(2_500))


def test_a_value_that_is_none_of_its_type_is_an_error_and_not_null(spark: Any) -> None:
    with pytest.raises(Exception, match="MALFORMED_RECORD_IN_PARSING"):
        local_frame(spark, [("1.5",)], "n INT").collect()


def test_no_job_is_run_for_it(spark: Any) -> None:
    plan = query_execution(local_frame(spark, [("a",)], "s STRING")).executedPlan().toString()
    assert plan.startswith("LocalTableScan"), plan
