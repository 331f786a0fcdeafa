"""Reading Hadoop's listing out of one text."""

import re

import pytest

from hudi_jobs.frames import exact
from hudi_jobs.spark.filesystem import parse_statuses


def status(path: str, *, kind: str = "LocatedFileStatus", tail: str = "") -> str:
    figures = "isDirectory=false; length=37; replication=1; blocksize=33554432; modification_time=1700000000123"
    return f"{kind}{{path={path}; {figures}; access_time=0; owner=; group=; isEncrypted=false}}{tail}"


@pytest.mark.parametrize("path", ["file:/in/a.csv", "s3a://b/in/a; b, [c] {d}.csv", "file:/in/ü.csv"])
def test_path_size_and_time_are_read(path: str) -> None:
    listing = [status(path), status(f"{path}2", kind="S3ALocatedFileStatus", tail="[eTag='x', versionId='']")]
    assert parse_statuses(f"[{', '.join(listing)}]") == [
        (path, 37, 1_700_000_000_123),
        (f"{path}2", 37, 1_700_000_000_123),
    ]


def test_nothing_is_read_from_an_empty_listing() -> None:
    assert parse_statuses("[]") == []


def test_a_name_that_imitates_a_status_changes_the_number_of_files() -> None:
    assert len(parse_statuses(f"[{status('file:/in/' + status('file:/in/b'))}]")) != 1


@pytest.mark.parametrize("name", ["a[1].csv", "{x}*?.csv", "back\\slash.csv", "plain 100%25.csv"])
def test_a_path_is_no_pattern(name: str) -> None:
    assert re.sub(r"\\(.)", r"\1", exact(f"s3a://b/{name}")) == f"s3a://b/{name}"
    assert not re.search(r"(?<!\\)[\[\]{}*?]", exact(name))
