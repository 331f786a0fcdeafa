"""What a class is told of itself: whether it can be used, and which of its allowances can do harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.planning.world import NOW, minutes, table_class

from hudi_operator.api.resources import HudiTableClass, InvalidObject, ObjectMetadata, parse_table_class
from hudi_operator.api.status.conditions import (
    Condition,
    ConditionStatus,
    ConditionType,
    HudiTableClassStatus,
    find_condition,
)
from hudi_operator.planning.outcome.status.class_status import build_class_status, class_problem

EXAMPLES = Path(__file__).parents[3] / "examples"
FRESH = HudiTableClassStatus()


def unsafe(parsed: HudiTableClass) -> Condition | None:
    found = build_class_status(parsed, FRESH, now=NOW).conditions
    return find_condition(found, ConditionType.UNSAFE_SETTINGS)


def test_a_class_that_names_nothing_that_can_do_harm_is_ready_and_no_more() -> None:
    policy = table_class(
        allowedSparkConf=["spark.sql.shuffle.partitions", "spark.sql.files.*"],
        allowedHudiOptions=["hoodie.upsert.shuffle.parallelism"],
        sparkConf={"spark.hadoop.fs.s3a.threads.max": "8"},
    )
    (ready,) = build_class_status(policy, FRESH, now=NOW).conditions
    assert (ready.type, ready.status, ready.reason) == (ConditionType.READY, ConditionStatus.TRUE, "Accepted")


@pytest.mark.parametrize(
    ("policy", "sentence"),
    [
        ({"allowedSparkConf": ["spark.jars"]}, "allowedSparkConf: spark.jars can load code into the jobs."),
        (
            {"allowedSparkConf": ["spark.sql.files.ignoreCorruptFiles"]},
            "spark.sql.files.ignoreCorruptFiles can skip damaged or missing input silently.",
        ),
        (
            {"allowedSparkConf": ["spark.hadoop.fs.s3a.bucket.x.endpoint"]},
            "spark.hadoop.fs.s3a.bucket.x.endpoint can change an identity or lead to another endpoint.",
        ),
        (
            {"allowedHudiOptions": ["hoodie.base.path"]},
            "allowedHudiOptions: hoodie.base.path can lead to another path.",
        ),
        ({"allowedHudiOptions": ["hoodie.new"]}, "allowedHudiOptions: hoodie.new is not known to be harmless."),
        ({"allowedSparkConf": ["spark.jars.*"]}, "allowedSparkConf: spark.jars.* allows nothing"),
        (
            {"sparkConf": {"spark.sql.files.ignoreCorruptFiles": "TRUE"}},
            "sparkConf: spark.sql.files.ignoreCorruptFiles can skip damaged",
        ),
    ],
)
def test_a_class_that_opens_what_can_do_harm_says_so(policy: dict[str, Any], sentence: str) -> None:
    condition = unsafe(table_class(**policy))
    assert condition is not None
    assert (condition.status, condition.reason) == (ConditionStatus.TRUE, "UnsafeSettingAllowed")
    assert sentence in condition.message


def test_the_warning_is_bounded_however_much_a_class_opens() -> None:
    condition = unsafe(table_class(allowedSparkConf=[f"spark.{'x' * 200}{number}" for number in range(64)]))
    assert condition is not None
    assert len(condition.message) <= 2000


def test_a_class_that_cannot_be_read_is_stalled() -> None:
    invalid = InvalidObject(metadata=ObjectMetadata(name="bad", generation=3), message="spec.retry: no")
    status = build_class_status(invalid, FRESH, now=NOW)
    assert [(one.type.value, one.status.value, one.reason) for one in status.conditions] == [
        ("Ready", "False", "TableClassInvalid"),
        ("Stalled", "True", "TableClassInvalid"),
    ]
    assert "spec.retry: no" in status.conditions[0].message
    assert status.observed_generation == 3


@pytest.mark.parametrize("field", ["allowedBasePaths", "allowedSourcePaths", "allowedQuarantinePaths"])
@pytest.mark.parametrize(
    "prefix",
    [
        "s3a://",
        "s3a:///lake",
        "file://",
        "file:///",
        "file:////x",
        "lake/team-a",
        "http://lake/x",
        "s3a://Lake/team-a",
        "s3a://LAKE",
        "S3A://lake",
        "s3a://lake/../other",
        "s3a://lake/team-a/..",
        "s3a://lake/./team-a",
        "s3a://lake//team-a",
        "s3a://lake/team-a//",
        "s3a://lake/{name}",
        "s3a://lake/{}",
        "s3a://lake/{namespace",
        "s3a://{Namespace}/x",
        "s3a://lake/*",
        "s3a://lake/%2e%2e/other",
        "s3a://lake/a b",
        "s3a://lake/a\u00a0b",
        "s3a://lake/a\x00",
        "s3a://lake/a\u202eb",
        "s3a://lake/a\n",
        "",
    ],
)
def test_no_table_can_use_a_class_whose_prefix_allows_something_else_than_it_seems_to(field: str, prefix: str) -> None:
    policy = table_class(**{field: [prefix]})
    assert f"spec.{field}: {prefix}" in str(class_problem(policy))
    stalled = find_condition(build_class_status(policy, FRESH, now=NOW).conditions, ConditionType.STALLED)
    assert stalled is not None
    assert stalled.reason == "TableClassInvalid"


def test_no_table_can_use_a_class_whose_folder_of_reports_is_no_plain_folder() -> None:
    policy = table_class(operations={"reportPath": "s3a://audit/../other"})
    assert "spec.operations.reportPath: s3a://audit/../other" in str(class_problem(policy))
    assert class_problem(table_class(operations={"reportPath": "s3a://audit/{namespace}/"})) is None


@pytest.mark.parametrize(
    "prefix",
    ["s3a://lake", "s3://lake-{namespace}/tables/", "s3n://{namespace}", "file:///data", "s3a://lake/x_{namespace}.y"],
)
def test_a_plain_prefix_is_well(prefix: str) -> None:
    assert class_problem(table_class(allowedBasePaths=[prefix])) is None


def test_a_class_shows_the_namespaces_it_is_for() -> None:
    assert build_class_status(table_class(), FRESH, now=NOW).namespaces == "All"
    policy = table_class(allowedNamespaces={"names": ["team-a"]})
    assert build_class_status(policy, FRESH, now=NOW).namespaces == "team-a"


def test_a_status_that_says_the_same_is_the_same_later() -> None:
    policy = table_class(allowedSparkConf=["spark.jars"])
    first = build_class_status(policy, FRESH, now=NOW)
    assert build_class_status(policy, first, now=NOW + minutes(5)) == first


CLASSES = sorted(path for path in EXAMPLES.rglob("*class*.yaml") if "testdata" not in path.parts)


@pytest.mark.parametrize("path", CLASSES, ids=lambda path: path.name)
def test_no_example_opens_what_can_do_harm(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        parsed = parse_table_class(document)
        assert isinstance(parsed, HudiTableClass)
        assert unsafe(parsed) is None
