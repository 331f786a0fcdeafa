"""The archived timeline, whole and damaged."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hudi_jobs.contract import Location
from hudi_operator.storage import StorageErrorKind, open_filesystem
from hudi_operator.timeline import TableUnreadable, TimelineReader
from hudi_operator.timeline.archive import ArchivedTimeline, read_archive


@pytest.fixture
def table(request: pytest.FixtureRequest, tmp_path: Path, real_table: Callable[[str], Path]) -> Path:
    """A copy of a real archived table that a test may damage."""
    target = tmp_path / "table"
    shutil.copytree(real_table(request.param), target)
    return target


def archive(base: Path) -> ArchivedTimeline:
    filesystem, path = open_filesystem(str(base))
    properties, _ = TimelineReader(filesystem).read_properties(path)
    return read_archive(filesystem, path, properties)


lsm = pytest.mark.parametrize(
    "table", ["1.0.2-cow-archived", "1.2.0-mor-archived", "0.15.0-cow-archived-upgraded-by-1.1.1"], indirect=True
)
log = pytest.mark.parametrize("table", ["0.14.0-cow-archived", "0.15.0-mor-archived"], indirect=True)


def history(table: Path) -> Path:
    return table / ".hoodie" / "timeline" / "history"


def newest_manifest(table: Path) -> Path:
    return max(history(table).glob("manifest_*"), key=lambda path: int(path.name.removeprefix("manifest_")))


@lsm
def test_a_missing_version_file_changes_nothing(table: Path) -> None:
    whole = archive(table)
    (history(table) / "_version_").unlink()
    assert archive(table) == whole
    assert whole.problems == ()


@lsm
@pytest.mark.parametrize("text", ["0", "999", "", "nonsense", "\xff"])
def test_a_stale_version_file_is_reported_and_the_newest_manifest_read(table: Path, text: str) -> None:
    whole = archive(table)
    (history(table) / "_version_").write_text(text, encoding="latin-1")
    found = archive(table)
    assert found.instants == whole.instants
    assert [one.file.rpartition("/")[2] for one in found.problems] == ["_version_"]


@lsm
def test_leftovers_of_manifests_are_no_manifests(table: Path) -> None:
    whole = archive(table)
    for name in ("manifest_999.5f2c", "manifest_", "manifest_1000.tmp", "manifest_-1", "manifest_x"):
        (history(table) / name).write_text("{")
    assert archive(table) == whole


@lsm
def test_a_damaged_manifest_gives_way_to_the_one_before(table: Path) -> None:
    number = int(newest_manifest(table).name.removeprefix("manifest_"))
    (history(table) / f"manifest_{number + 1}").write_text('{"files": [{"fileN')
    (history(table) / "_version_").unlink()
    whole_instants = archive(table).instants
    assert whole_instants
    assert [one.file.rpartition("/")[2] for one in archive(table).problems] == [f"manifest_{number + 1}"]


@lsm
def test_without_any_manifest_the_history_is_reported_as_unreadable(table: Path) -> None:
    for path in history(table).glob("manifest_*"):
        path.write_text("[]")
    found = archive(table)
    assert found.instants == ()
    assert any("no readable manifest" in one.reason for one in found.problems)


@lsm
@pytest.mark.parametrize("keep", [0, 10, 500])
def test_a_truncated_file_costs_only_its_own_instants(table: Path, keep: int) -> None:
    whole = archive(table)
    victim = max(history(table).glob("*.parquet"), key=lambda path: path.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:keep])
    found = archive(table)
    assert set(found.instants) < set(whole.instants) or victim.name not in newest_manifest(table).read_text()
    assert len(found.problems) <= 1


@lsm
def test_a_missing_file_is_reported(table: Path) -> None:
    victims = [path for path in history(table).glob("*.parquet") if path.name in newest_manifest(table).read_text()]
    victims[0].unlink()
    assert [one.file.rpartition("/")[2] for one in archive(table).problems] == [victims[0].name]


@lsm
def test_manifest_opens_no_file_outside_of_the_archive(table: Path, tmp_path: Path) -> None:
    whole = archive(table)
    victim = next(path for path in history(table).glob("*.parquet") if path.name in newest_manifest(table).read_text())
    stolen = tmp_path / "stolen.parquet"
    stolen.write_bytes(victim.read_bytes())
    names = [f"../{name}" for name in (victim.name, "../" * 12 + str(stolen)[1:])] + [str(stolen), ".", ""]
    newest_manifest(table).write_text(json.dumps({"files": [{"fileName": name} for name in names]}))
    found = archive(table)
    assert whole.instants
    assert found.instants == ()
    assert {one.reason for one in found.problems if "missing here" in one.reason} == {
        "The archived instants in this file are missing here: the name leads out of the archive."
    }


@log
def test_a_log_archive_is_read_in_any_state(table: Path) -> None:
    found = archive(table)
    assert found.problems == ()
    assert len({(one.time, one.action) for one in found.instants}) == len(found.instants)
    assert {one.state for one in found.instants} == {"COMPLETED"}


@log
def test_a_truncated_log_archive_keeps_its_first_blocks(table: Path) -> None:
    whole = archive(table)
    victim = max((table / ".hoodie" / "archived").glob(".commits_*"), key=lambda path: path.stat().st_size)
    victim.write_bytes(victim.read_bytes()[:-100])
    found = archive(table)
    assert set(found.instants) <= set(whole.instants)
    assert [one.file.rpartition("/")[2] for one in found.problems] == [victim.name]


@log
def test_a_damaged_block_does_not_hide_the_following_ones(table: Path) -> None:
    files = sorted((table / ".hoodie" / "archived").glob(".commits_*"), key=lambda path: path.stat().st_size)
    content = files[-1].read_bytes()
    whole = archive(table)
    middle = content.index(b"#HUDI#") + 40
    files[-1].write_bytes(content[:middle] + b"\xff" * 30 + content[middle + 30 :] + content)
    found = archive(table)
    assert found.instants == whole.instants
    assert len(found.problems) == 1


@log
def test_other_files_in_the_archive_folder_are_left_alone(table: Path) -> None:
    whole = archive(table)
    (table / ".hoodie" / "archived" / "mergeArchivePlan").write_bytes(b"Obj\x01")
    (table / ".hoodie" / "archived" / "..commits_.archive.1.crc").write_bytes(b"crc")
    assert archive(table) == whole


def test_a_table_without_an_archive_has_an_empty_one(real_table: Callable[[str], Path]) -> None:
    assert archive(real_table("0.14.0-empty-table")) == ArchivedTimeline(())
    assert archive(real_table("1.2.0-empty-table")) == ArchivedTimeline(())


def test_a_store_that_fails_is_not_an_empty_archive(make_table: Any) -> None:
    filesystem = make_table(["1_2.commit"])
    properties, _ = TimelineReader(filesystem).read_properties(Location.parse("/t"))
    filesystem.broken = {"/t/.hoodie/timeline/history": StorageErrorKind.UNREACHABLE}
    with pytest.raises(TableUnreadable):
        read_archive(filesystem, Location.parse("/t"), properties)
