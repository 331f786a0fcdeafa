"""What is named after a location, or kept inside it, is found where every release before looked for it."""

from __future__ import annotations

import posixpath
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.contract.test_location import URLS

from hudi_jobs.contract import Location
from hudi_jobs.contract.table.location import canonical_path
from hudi_jobs.ingestion.sources.files.record import canonical, fingerprint
from hudi_jobs.ingestion.sources.files.selection import SourceFile
from hudi_jobs.lease import stores
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.table_services.deletion import _require_folder
from hudi_operator.planning.policy.class_policy import is_allowed, path_hash
from hudi_operator.storage import StorageError, parse_url

PLAIN = st.builds(
    lambda scheme, names, end: scheme + "/".join(names) + end,
    st.sampled_from(["s3://lake/", "s3a://lake/", "s3n://lake-2.b/", "file:///"]),
    st.lists(st.from_regex(r"[A-Za-z0-9=_:@\u00e9{}-][A-Za-z0-9=_.:@-]{0,5}", fullmatch=True), min_size=2, max_size=5),
    st.sampled_from(["", "/"]),
)
"""Paths that the API server lets in."""


@pytest.mark.parametrize(
    ("url", "path", "digest"),
    [
        ("s3a://lake/team-a/flights", "s3://lake/team-a/flights", "13bea3132b11e80db2abfd30f0dd0b71"),
        ("s3n://lake/team-a/flights/", "s3://lake/team-a/flights", "13bea3132b11e80db2abfd30f0dd0b71"),
        ("file:///data/lake/flights", "file:///data/lake/flights", "5e3449a2a7d698e6d9314af131d86060"),
        ("s3://lake/n=1/A.b", "s3://lake/n=1/A.b", "a1ff967cb62f5d92009730b9ec7e3b8d"),
    ],
)
def test_a_claim_keeps_its_name(url: str, path: str, digest: str) -> None:
    assert (canonical_path(url), path_hash(canonical_path(url))) == (path, digest)
    assert str(Location.parse(url)) == path


@pytest.mark.parametrize(
    ("root", "spelling", "digest"),
    [
        ("s3a://landing/team-a/flights", "s3://landing/team-a/flights", "ba802af0262dbc1646d1"),
        ("file:/data/landing", "file:/data/landing", "bb71907f7a88e02b6e66"),
        ("s3n://landing/a%20b", "s3://landing/a%20b", "911720989d82ba52657b"),
    ],
)
def test_a_file_that_was_read_is_known_by_the_same_fingerprint(root: str, spelling: str, digest: str) -> None:
    file = SourceFile(time=3000, path="c.csv", size=12)
    assert (canonical(root), fingerprint(canonical(root), file).hex()) == (spelling, digest)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("s3a://lake/team-a/flights", "lake/team-a/flights/.hudi-operator"),
        ("s3n://lake/team-a/flights/", "lake/team-a/flights/.hudi-operator"),
        ("file:///data/lake/flights", "/data/lake/flights/.hudi-operator"),
        ("s3://lake/n=1/A.b", "lake/n=1/A.b/.hudi-operator"),
    ],
)
def test_a_lease_keeps_its_place(url: str, place: str) -> None:
    assert place_of_lease(url) == place


@given(PLAIN)
def test_a_lease_of_any_plain_path_is_where_it_was(url: str) -> None:
    parts = urlsplit(url, allow_fragments=False)
    path = posixpath.normpath(f"/{parts.path}").lstrip("/")
    bucket = "" if parts.scheme == "file" else parts.netloc
    assert place_of_lease(url) == f"{bucket}/{path}/.hudi-operator"


@given(PLAIN | URLS)
def test_operator_and_driver_find_a_table_in_the_same_place(url: str) -> None:
    lease = place_of_lease(url)
    assert (lease is None) == (seen_by_operator(url) is None)
    assert lease is None or lease == posixpath.join(str(seen_by_operator(url)), ".hudi-operator")


@given(PLAIN | URLS, PLAIN | URLS | st.sampled_from(["s3://lake", "file:///a", "s3a://{namespace}/a"]))
def test_paths_refused_before_are_still_refused(url: str, prefix: str) -> None:
    path, root = canonical_path(url), canonical_path(prefix.replace("{namespace}", "lake"))
    was_allowed = path == root or path.startswith(root if root.endswith("/") else f"{root}/")
    assert is_allowed(Location.parse_or_none(url), [prefix], namespace="lake") <= was_allowed


@given(PLAIN, st.integers(1, 4))
def test_a_plain_path_is_still_allowed_below_each_folder_around_it(url: str, depth: int) -> None:
    scheme, _, rest = url.rstrip("/").partition("://")
    least = 2 if scheme == "file" else 1
    folders = rest.split("/")
    assert is_allowed(
        Location.parse_or_none(url), [f"{scheme}://{'/'.join(folders[: max(depth, least)])}"], namespace="n"
    )


@given(PLAIN | URLS)
def test_path_that_was_no_folder_to_delete_is_still_none(url: str) -> None:
    names = {name for name in unquote(urlsplit(url).path).split("/") if name not in {"", "."}}
    if not names or names & {"..", ".hoodie", ".hudi-operator"}:
        assert not is_deleted(url)


@given(PLAIN)
def test_a_plain_path_is_a_folder_to_delete(url: str) -> None:
    assert is_deleted(url)


def place_of_lease(url: str) -> str | None:
    """Return the folder of the driver's files on a table, with its bucket, without asking any store."""
    places: list[str] = []

    def s3(store: str, prefix: str, *, limit: int) -> None:  # noqa: ARG001 - as the class has it
        places.append(f"{store}/{prefix}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stores, "hadoop_configuration", lambda _spark: None)
        patch.setattr(stores, "_s3_store", lambda bucket, _settings: bucket)
        patch.setattr(stores, "S3Files", s3)
        patch.setattr(stores, "LocalFiles", lambda folder, *, limit: places.append(str(folder)))  # noqa: ARG005
        spark: Any = None
        try:
            stores.open_table_files(spark, url)
        except TaskFailed:
            return None
    return places[0]


def seen_by_operator(url: str) -> str | None:
    """Return the path that the operator's file system is asked for."""
    try:
        return parse_url(url).path
    except StorageError:
        return None


def is_deleted(url: str) -> bool:
    """Whether the driver takes a path for a folder that can be deleted."""
    try:
        _require_folder(url)
    except TaskFailed:
        return False
    return True
