"""A location joins paths below it, and two grammars read an odd path as the table of this file says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.test_location import URLS

from hudi_jobs.contract import Location, NotALocation
from hudi_jobs.contract.table.location import canonical_path, folders_above
from hudi_operator.planning.policy.class_policy import path_hash

NAMES = st.text(st.characters(exclude_characters="/\0"), min_size=1, max_size=8).filter(
    lambda name: name not in (".", "..")
)


@pytest.mark.parametrize("base", ["s3a://lake/t", "s3a://lake/t/", "s3a://lake/t//", "s3a://lake//t"])
def test_join_keeps_the_scheme_that_hadoop_was_given(base: str) -> None:
    joined = Location.parse(base) / ".hoodie" / "timeline/history"
    assert joined == Location.parse("s3://lake/t/.hoodie/timeline/history")
    assert (joined.path, joined.key) == ("lake/t/.hoodie/timeline/history", "t/.hoodie/timeline/history")
    assert joined.url.startswith("s3a://lake/")
    assert joined.url.endswith("t/.hoodie/timeline/history")


@pytest.mark.parametrize(
    ("base", "url"),
    [("/", "/x"), ("/t", "/t/x"), ("file:/t/", "file:/t/x"), ("file:///", "file:/x"), ("s3://lake", "s3://lake/x")],
)
def test_joined_url_is_read_as_the_joined_location(base: str, url: str) -> None:
    joined = Location.parse(base) / "x"
    assert joined.url == url
    assert Location.parse(url) == joined


@pytest.mark.parametrize("below", ["", "/", "/x", "x/", "x//y", ".", "..", "x/../y", "../x", "./x", "x/.", "x\0y"])
def test_join_refuses_a_path_that_is_no_path_below_the_folder(below: str) -> None:
    folder = Location.parse("s3://lake/t")
    with pytest.raises(NotALocation):
        folder / below
    with pytest.raises(NotALocation):
        folder.path_of(below)


@given(URLS, st.lists(NAMES, min_size=1, max_size=4))
def test_joined_location_lies_in_its_folder_under_the_joined_path(url: str, names: list[str]) -> None:
    folder = Location.parse_or_none(url)
    if folder is None:
        return
    below = "/".join(names)
    joined = folder / below
    assert folder.holds(joined)
    assert folder.relative(joined) == below
    assert joined == Location.parse(joined.url)
    assert (folder / names[0]).path == folder.path_of(names[0])


def test_location_elsewhere_has_no_relative_path() -> None:
    table = Location.parse("s3a://lake/t")
    assert table.relative(table) == ""
    assert table.relative(Location.parse("s3://lake/t2/x")) is None
    assert table.relative(Location.parse("s3://lake/t/a/b")) == "a/b"


def test_canonical_path_ends_at_the_root_when_its_parents_are_listed() -> None:
    assert list(folders_above("s3://lake/a/b")) == ["s3://lake/a", "s3://lake"]
    assert list(folders_above("file:///a/b")) == ["file:///a", "file:///"]
    assert list(folders_above("file:///")) == []


DIFFERENCES = {
    "s3a://b//x": ("s3://b/x", "s3://b/x"),
    "s3a://b/x/": ("s3://b/x", "s3://b/x"),
    "s3a://b/x//.//y": ("s3://b/x/y", "s3://b/x/y"),
    "s3a://b/a%20b": ("s3://b/a%20b", "s3://b/a b"),
    "s3a://b/a%2Fb": ("s3://b/a%2Fb", "s3://b/a/b"),
    "s3a://b/x/%2e%2e/y": ("s3://b/x/%2e%2e/y", "s3://b/y"),
    "s3a://b/x\\y": ("s3://b/x\\y", "s3://b/x/y"),
    "s3a://b/x/../y": (None, "s3://b/y"),
    "s3a://b/é": ("s3://b/é", "s3://b/é"),
    "s3a://b/e\u0301": ("s3://b/e\u0301", "s3://b/e\u0301"),
    "s3a://key@b/x": (None, "s3://key@b/x"),
    "s3a://b:9000/x": (None, "s3://b:9000/x"),
    "s3a://b/x?v=1": ("s3://b/x?v=1", "s3://b/x?v=1"),
    "s3a://b/x#f": ("s3://b/x#f", "s3://b/x#f"),
    "S3A://b/x": ("s3://b/x", "s3://b/x"),
    "s3a://B/x": ("s3://B/x", "s3://b/x"),
    "s3a:/b/x": (None, "file:///s3a:/b/x"),
    "file:/x/y": ("file:///x/y", "file:///x/y"),
    "file:///x/y": ("file:///x/y", "file:///x/y"),
    "file://localhost/x/y": ("file:///x/y", "file:///x/y"),
    "file://host/x/y": (None, "file:///host/x/y"),
    "FILE:/x/y": ("file:///x/y", "file:///x/y"),
    "/x/y": ("file:///x/y", "file:///x/y"),
    "x/y": (None, "file:///x/y"),
    " s3a://b/x": (None, "s3://b/x"),
    "s3a://b/x ": ("s3://b/x ", "s3://b/x"),
    "s3a://b/x\n": ("s3://b/x\n", "s3://b/x"),
    "s3a://b/ x": ("s3://b/ x", "s3://b/ x"),
    "hdfs://n/x": (None, "hdfs://n/x"),
}
"""Odd paths, their location (None: refused), and the form by which claims compare them.

The location is what Hadoop and S3 open, or nothing. The canonical form is coarser: two tables whose paths some tool
might confuse never own one folder each. A class allows a path only if both readings lie below its prefix.
"""


@pytest.mark.parametrize(("url", "readings"), DIFFERENCES.items())
def test_odd_path_has_its_two_readings(url: str, readings: tuple[str | None, str]) -> None:
    location = Location.parse_or_none(url)
    assert (None if location is None else str(location), canonical_path(url)) == readings


@pytest.mark.parametrize(
    ("url", "digest"),
    [
        ("s3a://lake/team-a/flights", "13bea3132b11e80db2abfd30f0dd0b71"),
        ("file:///data/lake/flights", "5e3449a2a7d698e6d9314af131d86060"),
        ("s3a://Lake/a%20b/x\\y/ ", "ad85a7a3639dcb62484f3025af1b7b52"),
        ("s3a://b/x/../y", "418af4687d1da92b0dcbe23f0241df4d"),
        ("hdfs://n/x", "72d4e1a3e3701063fd8f60e8ec4bc8e8"),
        ("file://host/x", "893e1c3328ee17fb04011707e312b59b"),
    ],
)
def test_claim_of_an_odd_path_keeps_its_name(url: str, digest: str) -> None:
    assert path_hash(canonical_path(url)) == digest
    location = Location.parse_or_none(url)
    assert location is None or path_hash(location.canonical) == digest


@pytest.mark.parametrize(
    ("path", "joined"),
    [("AA:1/f.parquet", "AA:1/f.parquet"), ("s3://other/f", "s3:/other/f"), ("a//./b", "a/b"), ("", "")],
)
def test_path_of_a_tables_file_stays_inside_the_table(path: str, joined: str) -> None:
    table = Location.parse("s3a://lake/t")
    found = table.join(path)
    assert found == Location.parse(f"s3a://lake/t/{joined}")
    assert table.holds(found)


@pytest.mark.parametrize("path", ["/etc/passwd", "a/../../b", "..", "a/b\0c"])
def test_path_that_leads_out_of_the_table_is_refused(path: str) -> None:
    with pytest.raises(NotALocation):
        Location.parse("s3a://lake/t").join(path)
