"""The reader against Hudi's own Java classes, on real tables of five releases."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.fs as pafs
import pytest

from hudi_operator.storage import open_filesystem
from hudi_operator.storage.arrow import ArrowFileSystem
from hudi_operator.timeline import NotAHudiTable, TimelineReader
from hudi_operator.timeline.archive import read_archive
from hudi_operator.timeline.document import timeline_document

TABLES = Path(__file__).parents[1] / "fixtures" / "timeline" / "tables"
EXPECTED = {path.stem: json.loads(path.read_text()) for path in sorted(TABLES.glob("*.json"))}
METADATA_TABLES = [name for name, expected in EXPECTED.items() if "metadata" in expected]


def read(base: Path) -> dict[str, Any]:
    filesystem, path = open_filesystem(str(base))
    timeline = TimelineReader(filesystem).read(path)
    archive = read_archive(filesystem, path, timeline.properties)
    return timeline_document(str(base), timeline, archived=archive.instants, archive_problems=archive.problems)


def test_there_are_fixtures_of_every_release() -> None:
    assert {name.partition("-")[0] for name in EXPECTED} == {"0.14.0", "0.15.0", "1.0.2", "1.1.1", "1.2.0"}
    for kind in ("upgraded-by", "killed", "restore", "archived", "inflight", "indexing", "utc", "with-old-names"):
        assert sum(kind in name for name in EXPECTED) >= 3, kind


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("part", ["table", "instants", "counters", "archived"])
def test_the_reader_says_what_hudi_says(name: str, part: str, real_table: Callable[[str], Path]) -> None:
    assert read(real_table(name))[part] == EXPECTED[name]["table"]["judge"][part]


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
    timeline = TimelineReader(filesystem).read(base)
    archive = read_archive(filesystem, base, timeline.properties)
    document = timeline_document(base, timeline, archived=archive.instants, archive_problems=archive.problems)
    assert document == read(Path(base))
    with pytest.raises(NotAHudiTable):
        TimelineReader(filesystem).read(f"{base}/nothing")


@pytest.mark.parametrize("name", [name for name in EXPECTED if "-with-" not in name])
def test_a_healthy_table_has_no_problems(name: str, real_table: Callable[[str], Path]) -> None:
    assert read(real_table(name))["problems"] == []
