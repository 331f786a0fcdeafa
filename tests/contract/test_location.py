"""Where something is: one value for all spellings, the same for the operator and the driver."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract import Location, NotALocation
from hudi_jobs.contract.table.location import canonical_path
from hudi_jobs.spark.filesystem import Folder
from hudi_operator.planning.policy.class_policy import is_allowed

SEGMENTS = st.sampled_from(
    [
        "a",
        "A",
        "b",
        "a%20b",
        "%2e%2e",
        "%2F",
        "..",
        ".",
        "",
        "é",
        "e\u0301",
        "a b",
        "a?b",
        "a#b",
        "\\",
        "\\..",
        "a@b",
        "\t",
    ]
)
SCHEMES = st.sampled_from(
    [
        "s3://",
        "S3A://",
        "s3n://",
        "file://",
        "file:/",
        "/",
        "//",
        "gs://",
        "abfss://c@x/",
        "file://localhost/",
        "hdfs://",
        "s3:",
    ]
)
URLS = st.builds(
    lambda scheme, names, end: scheme + "/".join(names) + end,
    SCHEMES,
    st.lists(SEGMENTS, max_size=5),
    st.sampled_from(["", "/", "//"]),
)


@pytest.mark.parametrize(
    ("url", "spelling"),
    [
        ("s3a://lake/team-a//t/", "s3://lake/team-a/t"),
        ("S3N://Lake/./T", "s3://Lake/T"),
        ("s3://lake", "s3://lake"),
        ("s3://lake/a%20b", "s3://lake/a%20b"),
        ("s3://lake/a?b#c", "s3://lake/a?b#c"),
        ("/lake/t", "file:///lake/t"),
        ("file:/", "file:///"),
        ("FILE://localhost/lake", "file:///lake"),
        ("gs://lake/t", "gs://lake/t"),
        ("abfss://box@account/t", "abfs://box@account/t"),
    ],
)
def test_a_location_has_one_spelling(url: str, spelling: str) -> None:
    assert str(Location.parse(url)) == spelling
    assert Location.parse(spelling) == Location.parse(url)


@pytest.mark.parametrize(
    "url",
    [
        *("", "t", "./t", "s3://", "s3:///t", "s3:lake/t", "s3://key@lake/t", "file://host/t", "file:", "//host/t"),
        *("hdfs://n/t", "s3://lake/a/../b", "/lake/..", "s3://lake/a\0b", "s3a ://lake/t", " s3://lake/t"),
        *("s3://../t", "s3://a?b/t", "s3://a#b/t", "s3://a%20b/t", "s3://a b/t", "s3://a\tb/t", "gs://k@lake/t"),
        *("abfs://box/t", "abfss://box@/t", "s3://lake/" + "a" * 8_192),
    ],
)
def test_ambiguous_path_is_no_location(url: str) -> None:
    with pytest.raises(NotALocation):
        Location.parse(url)


@pytest.mark.parametrize(
    ("url", "held"),
    [
        ("s3a://lake/t", True),
        ("s3://lake/t/x", True),
        ("s3://lake/t2", False),
        ("s3://lake/T", False),
        ("s3://lake", False),
        ("gs://lake/t", False),
        ("s3://LAKE/t", False),
        ("/lake/t", False),
        ("s3://lake/%74", False),
    ],
)
def test_a_folder_holds_itself_and_what_is_below_it(url: str, held: bool) -> None:
    assert Location.parse("s3n://lake/t").holds(Location.parse(url)) is held


@given(URLS, URLS)
def test_two_spellings_of_one_location_are_one_claim(first: str, second: str) -> None:
    one, other = parsed(first), parsed(second)
    if one is not None and one == other:
        assert canonical_path(first) == canonical_path(second)


@given(URLS, URLS)
def test_allowed_path_lies_below_its_prefix_in_every_reading(url: str, prefix: str) -> None:
    if is_allowed(Location.parse_or_none(url), [prefix], namespace="n"):
        assert Location.parse(prefix).holds(Location.parse(url))
        assert canonical_path(url).startswith(canonical_path(prefix))


@given(URLS, URLS)
def test_the_driver_takes_a_path_for_one_inside_of_a_table_exactly_if_it_is_below_it(base: str, url: str) -> None:
    table, file = parsed(base), parsed(url)
    if table is not None and "://" in url:
        assert Folder(base).holds("", url) is (file is not None and table != file and table.holds(file))


def parsed(url: str) -> Location | None:
    try:
        return Location.parse(url)
    except NotALocation:
        return None
