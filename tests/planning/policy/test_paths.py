"""One form for all spellings of a path, and the policies that are made of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract.table.location import Location, canonical_path
from hudi_operator.control.claims import Claim, ClaimIndex
from hudi_operator.planning.policy.class_policy import is_allowed, path_hash

FLIGHTS = "s3://lake/team-a/flights"


def overlap(claimed: str, path: str) -> bool:
    index = ClaimIndex()
    index.add(Claim(name="claim", uid="1", path=claimed, holder="2", table="team-a/flights"))
    return bool(index.overlapping(path))


@pytest.mark.parametrize(
    "spelling",
    [
        "s3://lake/team-a/flights",
        "s3a://lake/team-a/flights",
        "s3n://lake/team-a/flights",
        "S3A://lake/team-a/flights",
        "s3a://Lake/team-a/flights",
        "s3a://lake/team-a/flights/",
        "s3a://lake/team-a/flights///",
        "s3a://lake//team-a//flights",
        "s3a://lake/./team-a/./flights/.",
        "s3a://lake/team-b/../team-a/flights",
        "s3a://lake/../../team-a/flights",
        "s3a://lake/team-a/%2e/flights",
        "s3a://lake/team-b/%2E%2e/team-a/flights",
        "s3a://lake/team%2da/flights",
        "s3a://lake/team-a%2Fflights",
        "s3a://lake%2fteam-a/flights",
        "s3a://lake/team-a\\flights",
        "  s3a://lake/team-a/flights\n",
    ],
)
def test_all_spellings_of_a_folder_on_s3_have_one_form(spelling: str) -> None:
    assert canonical_path(spelling) == FLIGHTS


@pytest.mark.parametrize(
    "spelling",
    [
        "file:///data/lake",
        "file:////data//lake/",
        "FILE:///data/lake",
        "file://localhost/data/lake",
        "/data/lake",
        "/data/x/../lake/.",
        "file:///data/%6cake",
    ],
)
def test_all_spellings_of_a_local_folder_have_one_form(spelling: str) -> None:
    assert canonical_path(spelling) == "file:///data/lake"


@pytest.mark.parametrize(
    "other",
    [
        "s3a://lake/team-a/flights2",
        "s3a://lake/team-a/Flights",
        "s3a://lake/team-a",
        "s3a://lake2/team-a/flights",
        "file:///lake/team-a/flights",
        "gs://lake/team-a/flights",
        "s3a://lake/team-a/flights/%252e%252e",
    ],
)
def test_different_folders_keep_different_forms(other: str) -> None:
    assert canonical_path(other) != FLIGHTS
    assert path_hash(canonical_path(other)) != path_hash(FLIGHTS)


segments = st.lists(
    st.text("abcXYZ019-_.=é日", min_size=1, max_size=6).filter(lambda s: s not in {".", ".."}), min_size=1
)
noise = st.sampled_from(["/", "//", "/./", "/%2e/", "/x/../", "/%78/%2E%2e/", "///"])


def escaped(segment: str, mask: int) -> str:
    return "".join(
        "".join(f"%{byte:02x}" for byte in letter.encode()) if mask >> index & 1 else letter
        for index, letter in enumerate(segment)
    )


@st.composite
def two_spellings(draw: st.DrawFn) -> tuple[str, str]:
    """A plain path and another spelling of it."""
    parts = draw(segments)
    scheme = draw(st.sampled_from(["s3", "s3a", "s3n", "S3A", "S3"]))
    tail = draw(st.sampled_from(["", "/", "//", "/.", "/./"]))
    spelt = "".join(draw(noise) + escaped(part, draw(st.integers(0, 63))) for part in parts)
    return f"s3://lake/{'/'.join(parts)}", f"{scheme}://lake{spelt}{tail}"


@given(two_spellings())
def test_every_spelling_has_the_form_of_the_plain_path(pair: tuple[str, str]) -> None:
    plain, spelt = pair
    assert canonical_path(spelt) == canonical_path(plain) == plain


@given(two_spellings())
def test_the_form_is_its_own_form(pair: tuple[str, str]) -> None:
    form = canonical_path(pair[1])
    assert canonical_path(form) == form


@given(two_spellings(), st.lists(st.sampled_from("abc"), min_size=1, max_size=3))
def test_a_folder_overlaps_with_itself_and_what_lies_in_it_and_with_no_sibling(
    pair: tuple[str, str], below: list[str]
) -> None:
    folder, same = canonical_path(pair[0]), canonical_path(pair[1])
    inside, sibling = f"{folder}/{'/'.join(below)}", f"{folder}-{below[0]}"

    assert overlap(folder, same)
    assert overlap(folder, inside)
    assert overlap(inside, folder)
    assert not overlap(folder, sibling)
    assert not overlap(inside, sibling)


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ("s3://lake", "s3://lake/team-a/flights", True),
        ("s3://lake", "s3://lake2/team-a", False),
        ("file:///", "file:///data/lake", True),
        ("file:///data", "file:///data/lake", True),
        ("file:///data/lake", "s3://data/lake", False),
    ],
)
def test_roots_overlap_with_everything_below_them(first: str, second: str, *, expected: bool) -> None:
    assert overlap(first, second) is expected
    assert overlap(second, first) is expected


@pytest.mark.parametrize(
    ("path", "prefixes"),
    [
        ("s3a://lake/team-a/flights", ["s3://lake"]),
        ("s3a://lake/team-a/flights", ["s3://lake/"]),
        ("s3a://lake/team-a/flights", ["s3n://lake/team-a/"]),
        ("s3a://lake/team-a/flights", ["s3://lake/{namespace}"]),
        ("s3a://lake/team-a/flights", ["s3://lake/{namespace}/flights"]),
        ("s3a://lake-team-a/flights", ["s3://lake-{namespace}/"]),
        ("s3a://lake/team-a/flights", ["s3://other", "s3://lake/team-a"]),
        ("file:///data/team-a/flights", ["file:///data/{namespace}"]),
        ("file:///data/team-a/flights", ["file:///"]),
    ],
)
def test_a_path_under_a_prefix_is_allowed(path: str, prefixes: list[str]) -> None:
    assert is_allowed(Location.parse_or_none(path), prefixes, namespace="team-a")


@pytest.mark.parametrize(
    ("path", "prefixes"),
    [
        ("s3a://lake/team-a/flights", []),
        ("s3a://lake/team-ab/flights", ["s3://lake/team-a"]),
        ("s3a://lake/team-a", ["s3://lake/team-a/flights"]),
        ("s3a://lake2/team-a/flights", ["s3://lake"]),
        ("s3a://lakeside/team-a/flights", ["s3://lake"]),
        ("s3a://lake/team-a/../team-b/flights", ["s3://lake/team-a"]),
        ("s3a://lake/team-a/%2e%2e/team-b/flights", ["s3://lake/team-a"]),
        ("s3a://lake/team-a/..%2fteam-b/flights", ["s3://lake/team-a"]),
        ("s3a://lake/team-a/..\\team-b/flights", ["s3://lake/team-a"]),
        ("s3a://lake/Team-A/flights", ["s3://lake/team-a"]),
        ("s3a://lake/team-b/flights", ["s3://lake/{namespace}"]),
        ("file:///lake/team-a/flights", ["s3://lake/team-a"]),
        ("s3a:/lake/team-a/flights", ["s3://lake/team-a"]),
        ("/etc", ["s3://lake", "file:///data"]),
    ],
)
def test_a_path_outside_of_all_prefixes_is_not_allowed(path: str, prefixes: list[str]) -> None:
    assert not is_allowed(Location.parse_or_none(path), prefixes, namespace="team-a")


@given(two_spellings(), st.sampled_from(["s3://lake/team-a", "s3://lake", "s3a://lake/team-a/"]))
def test_no_spelling_makes_a_path_allowed(pair: tuple[str, str], prefix: str) -> None:
    plain, spelt = pair
    assert is_allowed(Location.parse_or_none(spelt), [prefix], namespace="n") <= is_allowed(
        Location.parse_or_none(plain), [prefix], namespace="n"
    )
