"""Metadata of buckets and instants of another layout: found with one listing each, and not again at rest."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.timeline.conftest import MemoryFileSystem

from hudi_jobs.contract import INDEX_KEY, Location
from hudi_jobs.contract.table.facts import TableFacts
from hudi_operator.storage import StorageErrorKind
from hudi_operator.timeline import TableUnreadable, TimelineReader
from hudi_operator.timeline.facts import read_facts

V6 = {"table_version": "6", "timeline_layout_version": "1"}
FIRST, SECOND, THIRD = "20260101000000000", "20260102000000000", "20260103000000000"
HASHING = "/t/.hoodie/.bucket_index/consistent_hashing_metadata/p=1/00000000000000.hashing_meta"


def commit(**extra: str) -> bytes:
    return json.dumps({"operationType": "UPSERT", "extraMetadata": extra}).encode()


def facts_of(reader: TimelineReader, *, changed_at: str | None = None) -> TableFacts:
    timeline = reader.read(Location.parse("/t"), full=True)
    commits = tuple(reader.commits(Location.parse("/t"), timeline))
    return read_facts(reader, Location.parse("/t"), timeline, commits, changed_at=changed_at)


@pytest.mark.parametrize(
    ("properties", "name"),
    [
        (V6, f"timeline/{FIRST}_{SECOND}.commit"),
        (V6, f"timeline/{FIRST}.commit.requested"),
        ({}, f"{FIRST}.commit"),
        ({}, f"{FIRST}.deltacommit.inflight"),
        ({"table_version": "8"}, f"{FIRST[:14]}.clean"),
    ],
)
def test_instant_of_another_layout_is_named(make_table: Any, properties: dict[str, str], name: str) -> None:
    """A change of the version was ended while files were moved (`SevenToEightUpgradeHandler`)."""
    filesystem = make_table({f"{SECOND}.clean.requested": b""}, **properties)
    filesystem.files[f"/t/.hoodie/{name}"] = commit()
    assert facts_of(TimelineReader(filesystem)).moved == name.rpartition("/")[2]


@pytest.mark.parametrize(
    ("properties", "names"),
    [
        (V6, ["timeline/history/00000001_00000002_0.parquet", "timeline/history/_version_"]),
        ({}, ["hoodie.properties.backup", f".{FIRST}.commit.crc", "20260101.commit", "metadata/x", "archived/y"]),
    ],
)
def test_other_files_in_the_folder_of_the_other_layout_are_no_instants(
    make_table: Any, properties: dict[str, str], names: list[str]
) -> None:
    """Hudi 1.x leaves `timeline/history` behind where a table was downgraded."""
    filesystem = make_table({f"{SECOND}.clean.requested": b""}, **properties)
    filesystem.files |= {f"/t/.hoodie/{name}": b"" for name in names}
    assert facts_of(TimelineReader(filesystem)).moved is None


def test_metadata_of_varying_buckets_is_found(make_table: Any) -> None:
    filesystem = make_table({f"{FIRST}_{SECOND}.commit": commit()})
    assert not facts_of(TimelineReader(filesystem)).has_varying_buckets
    filesystem.files[HASHING] = b"{}"
    assert facts_of(TimelineReader(filesystem)).has_varying_buckets


def test_varying_buckets_are_asked_again_after_a_commit_of_another_tool(make_table: Any) -> None:
    filesystem = make_table({f"{FIRST}_{SECOND}.commit": commit()})
    reader = TimelineReader(filesystem)
    assert not facts_of(reader, changed_at=FIRST).has_varying_buckets
    filesystem.files[HASHING] = b"{}"
    assert not facts_of(reader, changed_at=FIRST).has_varying_buckets
    assert facts_of(reader, changed_at=SECOND).has_varying_buckets


def counted(filesystem: MemoryFileSystem, reader: TimelineReader, **arguments: Any) -> int:
    """The listings of files that the facts take, without that of the timeline itself."""
    before = filesystem.lists
    facts_of(reader, **arguments)
    return filesystem.lists - before - 1


@pytest.mark.parametrize("properties", [{}, V6], ids=["version 9", "version 6"])
def test_table_at_rest_costs_no_further_listing(make_table: Any, properties: dict[str, str]) -> None:
    name = f"{FIRST}.commit" if properties else f"{FIRST}_{SECOND}.commit"
    filesystem = make_table({name: commit()}, **properties)
    reader = TimelineReader(filesystem)
    assert counted(filesystem, reader) == 2, "The schema history, and the folder of the other layout"
    assert counted(filesystem, reader) == 0
    filesystem.files[f"/t/.hoodie/{'' if properties else 'timeline/'}{THIRD}.clean.requested"] = b""
    assert counted(filesystem, reader) == 0, "A new instant asks for none"


def test_buckets_of_a_table_of_our_own_commits_are_not_asked(make_table: Any) -> None:
    """The note of the index says what they are; an object store would be asked for each such table at a restart."""
    filesystem = make_table({f"{FIRST}_{SECOND}.commit": commit(**{INDEX_KEY: "Bloom"})})
    filesystem.broken["/t/.hoodie/.bucket_index"] = StorageErrorKind.ACCESS_DENIED
    assert not facts_of(TimelineReader(filesystem)).has_varying_buckets


def test_moved_instant_is_looked_for_until_it_is_gone(make_table: Any) -> None:
    filesystem = make_table({f"{FIRST}_{SECOND}.commit": commit()})
    reader = TimelineReader(filesystem)
    filesystem.files[f"/t/.hoodie/{SECOND}.commit"] = commit()
    assert facts_of(reader).moved == f"{SECOND}.commit"
    del filesystem.files[f"/t/.hoodie/{SECOND}.commit"]
    assert facts_of(reader).moved is None


def test_moved_instants_are_looked_for_again_when_the_oldest_instants_are_gone(make_table: Any) -> None:
    """Another tool changes the version: it moves the files of the timeline away."""
    filesystem = make_table({f"{FIRST}_{SECOND}.commit": commit(), f"{SECOND}_{THIRD}.commit": commit()})
    reader = TimelineReader(filesystem)
    assert facts_of(reader).moved is None
    content = filesystem.files.pop(f"/t/.hoodie/timeline/{FIRST}_{SECOND}.commit")
    filesystem.files[f"/t/.hoodie/{FIRST}.commit"] = content
    assert facts_of(reader).moved == f"{FIRST}.commit"


@pytest.mark.parametrize("folder", [".bucket_index", "timeline"])
def test_store_that_does_not_answer_is_no_answer(make_table: Any, folder: str) -> None:
    filesystem = make_table({f"{FIRST}.commit": commit()}, **V6)
    reader = TimelineReader(filesystem)
    filesystem.broken[f"/t/.hoodie/{folder}"] = StorageErrorKind.UNREACHABLE
    with pytest.raises(TableUnreadable):
        facts_of(reader)
