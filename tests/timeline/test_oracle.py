"""The reader against Hudi's own Java classes, on real tables of five releases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest
from tests.timeline.arrow import ArrowFileSystem

from hudi_jobs.contract import Location
from hudi_operator.storage import open_filesystem
from hudi_operator.timeline import NotAHudiTable, State, TimelineReader, pending_instants
from hudi_operator.timeline.archive import read_archive
from hudi_operator.timeline.output import timeline_document

TABLES = Path(__file__).parents[1] / "fixtures" / "timeline" / "tables"
EXPECTED = {path.stem: json.loads(path.read_text()) for path in sorted(TABLES.glob("*.json"))}
RELEASES = ("0.14.0", "0.15.0", "1.0.2", "1.1.1", "1.2.0")
METADATA_TABLES = [name for name, expected in EXPECTED.items() if "metadata" in expected]


def read(base: Path) -> dict[str, Any]:
    filesystem, path = open_filesystem(str(base))
    timeline = TimelineReader(filesystem).read(path)
    archive = read_archive(filesystem, path, timeline.properties)
    return timeline_document(str(base), timeline, archived=archive.instants, archive_problems=archive.problems)


def test_there_are_fixtures_of_every_release() -> None:
    assert {name.partition("-")[0] for name in EXPECTED} == set(RELEASES)
    killed = {f"{release}-killed-{what}" for release in RELEASES for what in ("write", "compaction", "clustering")}
    assert killed <= set(EXPECTED)
    for kind in ("upgraded-by", "restore", "archived", "inflight", "indexing", "utc", "with-old-names"):
        assert sum(kind in name for name in EXPECTED) >= 3, kind


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("part", ["table", "instants", "counters", "archived"])
def test_the_reader_says_what_hudi_says(name: str, part: str, real_table: Callable[[str], Path]) -> None:
    assert read(real_table(name))[part] == EXPECTED[name]["table"]["judge"][part]


SETTINGS = ("minCommits", "maxCommits", "retainCommits", "deltaCommits")
SERVICES = [(name, one) for name in EXPECTED for one in EXPECTED[name]["table"]["judge"]["services"] or ()]


@pytest.mark.parametrize(("name", "verdict"), SERVICES)
def test_cleaning_and_archival_would_do_what_hudi_would_do(
    name: str, verdict: dict[str, Any], real_table: Callable[[str], Path], would_do: Any
) -> None:
    assert would_do(str(real_table(name)), {key: verdict[key] for key in SETTINGS}) == verdict


def test_hudi_says_of_nearly_every_table_what_the_services_would_do() -> None:
    # Without the plan of a pending compaction, it can plan no clean.
    assert {name for name in EXPECTED if EXPECTED[name]["table"]["judge"]["services"] is None} == {
        name for name in EXPECTED if "with-plan-gone" in name
    }
    assert sum(1 for _, verdict in SERVICES if verdict["archivable"]) > 100


@pytest.mark.parametrize("name", METADATA_TABLES)
@pytest.mark.parametrize("part", ["table", "instants", "counters", "archived"])
def test_the_reader_says_what_hudi_says_of_the_metadata_table(
    name: str, part: str, real_table: Callable[[str], Path]
) -> None:
    assert read(real_table(name) / ".hoodie" / "metadata")[part] == EXPECTED[name]["metadata"]["judge"][part]


@pytest.mark.parametrize("name", [name for name in EXPECTED if "-with-" not in name])
def test_the_reader_sees_the_instants_that_the_writing_release_sees(
    name: str, real_table: Callable[[str], Path]
) -> None:
    document = read(real_table(name))
    writer = EXPECTED[name]["table"]["writer"]
    assert (document["table"], document["instants"]) == (writer["table"], writer["instants"])


@pytest.mark.parametrize("name", ["0.14.0-mor-compaction", "0.15.0-cow-archived", "1.2.0-mor-archived"])
def test_any_file_system_of_pyarrow_will_do(name: str, real_table: Callable[[str], Path]) -> None:
    filesystem = ArrowFileSystem(pafs.LocalFileSystem(), identity="arrow")
    base = str(real_table(name))
    timeline = TimelineReader(filesystem).read(Location.parse(base))
    archive = read_archive(filesystem, Location.parse(base), timeline.properties)
    document = timeline_document(base, timeline, archived=archive.instants, archive_problems=archive.problems)
    assert document == read(Path(base))
    with pytest.raises(NotAHudiTable):
        TimelineReader(filesystem).read(Location.parse(f"{base}/nothing"))


@pytest.mark.parametrize("name", [name for name in EXPECTED if "-with-" not in name])
def test_a_healthy_table_has_no_problems(name: str, real_table: Callable[[str], Path]) -> None:
    assert read(real_table(name))["problems"] == []


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize("what", ["write", "compaction", "clustering"])
def test_killed_action_is_pending_with_its_kind(release: str, what: str, real_table: Callable[[str], Path]) -> None:
    filesystem, path = open_filesystem(str(real_table(f"{release}-killed-{what}")))
    (found,) = pending_instants(TimelineReader(filesystem).read(path))
    assert (found.kind.value.lower(), found.instant.state) == (what, State.INFLIGHT)
