"""Tables are found below a prefix, never inside of tables, and a search ends at its bounds."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.cli.command import Done, command
from tests.timeline.conftest import MemoryFileSystem

from hudi_jobs.contract import Location
from hudi_operator.adoption.search import Found, SearchLimits, find_tables
from hudi_operator.storage import StorageErrorKind
from hudi_operator.storage.local import LocalFileSystem

WHOLE = (
    "hoodie.table.name=t\nhoodie.table.type=COPY_ON_WRITE\nhoodie.table.version=9\n"
    "hoodie.timeline.layout.version=2\nhoodie.table.recordkey.fields=id\nhoodie.table.timeline.timezone=UTC\n"
)


def lake(*tables: str, broken: dict[str, StorageErrorKind] | None = None) -> MemoryFileSystem:
    files = {f"/lake/{name}/.hoodie/hoodie.properties": WHOLE.encode() for name in tables}
    return MemoryFileSystem({**files, "/lake/readme": b""}, broken=broken or {})


def paths(result: Found) -> list[str]:
    return [table.path for table in result.tables]


def found(filesystem: Any, prefix: str = "/lake", **limits: Any) -> list[str]:
    return paths(find_tables(filesystem, Location.parse(prefix), SearchLimits(**limits)))


def test_tables_are_found_at_any_depth_and_the_prefix_may_be_one() -> None:
    assert found(lake("b/c/d", "a")) == ["/lake/a", "/lake/b/c/d"]
    assert found(lake("a"), "/lake/a") == ["/lake/a"]
    assert found(lake("b/c/d", "a"), depth=2) == ["/lake/a"]


def test_folders_inside_a_table_and_hidden_folders_are_not_searched() -> None:
    filesystem = lake("a", "a/day=1/inner", "a/.hoodie/metadata", ".trash/old", "_temporary/new")
    assert found(filesystem) == ["/lake/a"]
    assert not any("day=1" in path for path in filesystem.reads)


def test_a_damaged_table_is_found() -> None:
    filesystem = lake("a")
    filesystem.files["/lake/a/.hoodie/hoodie.properties"] = b"hoodie.table.name=t\nhoodie.table.checksum=1\n"
    assert found(filesystem) == ["/lake/a"]


@pytest.mark.parametrize("limits", [{"folders": 3}, {"tables": 2}])
def test_a_search_that_ends_at_a_bound_says_so(limits: dict[str, int]) -> None:
    result = find_tables(lake("a", "b", "c", "d"), Location.parse("/lake"), SearchLimits(**limits))
    assert paths(result) == ["/lake/a", "/lake/b"]
    (problem,) = [one for one in result.problems if "narrower prefix" in one]
    assert "and 2 tables" in problem


@pytest.mark.parametrize(("depth", "said"), [(0, "1 folder there has"), (1, "2 folders there have"), (2, None)])
def test_folders_below_the_depth_of_a_search_are_said(depth: int, said: str | None) -> None:
    result = find_tables(lake("a/x", "b/y", "c"), Location.parse("/lake"), SearchLimits(depth=depth))
    problems = [one for one in result.problems if "--depth" in one]
    assert len(problems) == (said is not None)
    assert said is None or said in problems[0]


def test_hidden_folders_below_the_depth_of_a_search_are_not_said() -> None:
    result = find_tables(lake("a/_temporary/t", "a/.trash/t"), Location.parse("/lake"), SearchLimits(depth=1))
    assert (result.tables, result.problems) == ([], [])


def test_a_search_ends_in_time() -> None:
    result = find_tables(
        lake("a", "b", "c"), Location.parse("/lake"), SearchLimits(seconds=2.5), clock=itertools.count().__next__
    )
    assert paths(result) == ["/lake/a"]
    assert len(result.problems) == 1


def test_a_folder_that_cannot_be_listed_stops_nothing_else() -> None:
    result = find_tables(
        lake("a/b", "c", broken={"/lake/a": StorageErrorKind.ACCESS_DENIED}), Location.parse("/lake"), SearchLimits()
    )
    assert "/lake/c" in paths(result)
    assert [one for one in result.problems if one.startswith("/lake/a")] or "/lake/a" in paths(result)


def test_links_are_not_followed(tmp_path: Path) -> None:
    table = tmp_path / "lake" / "a" / ".hoodie"
    table.mkdir(parents=True)
    (table / "hoodie.properties").write_text(WHOLE)
    (tmp_path / "lake" / "again").symlink_to(tmp_path / "lake", target_is_directory=True)
    assert found(LocalFileSystem(), str(tmp_path / "lake")) == [f"{tmp_path}/lake/a"]


def run(*arguments: str) -> Done:
    return command("adopt", *arguments)


def make(folder: Path, text: str = WHOLE) -> None:
    (folder / ".hoodie" / "timeline").mkdir(parents=True)
    (folder / ".hoodie" / "hoodie.properties").write_text(text)


def test_the_command_writes_a_document_for_each_table_and_a_summary_beside_them(tmp_path: Path) -> None:
    make(tmp_path / "a" / "trips")
    make(tmp_path / "b" / "trips")
    done = run(str(tmp_path), "--namespace", "team-a")
    assert done.returncode == 0, done.stderr
    documents = list(yaml.safe_load_all(done.stdout))
    assert [one["metadata"] for one in documents] == [
        {"name": "trips", "namespace": "team-a"},
        {"name": "b-trips", "namespace": "team-a"},
    ]
    assert "2 of 2 tables in 5 folders are written as resources." in done.stderr


def test_the_exit_code_says_that_something_is_left_to_do(tmp_path: Path) -> None:
    make(tmp_path / "a")
    make(tmp_path / "b", WHOLE.replace("version=9", "version=99"))
    partly, nothing, nowhere = run(str(tmp_path)), run(str(tmp_path / "a" / ".hoodie")), run("nowhere://x")
    assert (partly.returncode, nothing.returncode, nowhere.returncode) == (1, 2, 2)
    assert "1 cannot be managed" in partly.stderr
    assert len([one for one in yaml.safe_load_all(partly.stdout) if one]) == 1


def test_a_search_that_found_nothing_within_its_depth_does_not_say_that_there_is_nothing(tmp_path: Path) -> None:
    make(tmp_path / "a" / "b" / "t")
    done = run(str(tmp_path), "--depth", "1")
    assert done.returncode == 1
    assert "use a larger --depth" in done.stderr
    assert "There is no Hudi table" not in done.stderr
    deeper = run(str(tmp_path), "--depth", "3")
    assert (deeper.returncode, deeper.stderr) == (
        0,
        "1 of 1 table in 4 folders is written as a resource. Search for `decide:` before you apply them.\n",
    )


BROKEN = {
    "a version of 5,000 digits": WHOLE.replace("table.version=9", f"table.version={'9' * 5_000}"),
    "a layout of 5,000 digits": WHOLE.replace("layout.version=2", f"layout.version={'2' * 5_000}"),
    "a version of other digits": WHOLE.replace("table.version=9", "table.version=\\u0669"),
    "a negative version": WHOLE.replace("table.version=9", "table.version=-9"),
    "a type of 100,000 letters": WHOLE.replace("COPY_ON_WRITE", "X" * 100_000),
    "a zone that clears the screen": WHOLE.replace("timezone=UTC", "timezone=\\u001b[2J"),
    "a name with a lone surrogate": WHOLE.replace("name=t", "name=\\ud800"),
    "a name that turns the text round": WHOLE.replace("name=t", "name=\\u202egnp\\u009b2J"),
    "buckets of 5,000 digits": WHOLE + f"hoodie.index.type=BUCKET\nhoodie.bucket.index.num.buckets={'8' * 5_000}\n",
    "a checksum of 5,000 digits": WHOLE + f"hoodie.table.checksum={'1' * 5_000}\n",
    "an archive outside of the table": WHOLE + "hoodie.archivelog.folder=../../../..\n",
    "a timeline outside of the table": WHOLE + "hoodie.timeline.path=../../../..\n",
    "a key generator of 100,000 letters": WHOLE + f"hoodie.table.keygenerator.class={'k' * 100_000}\n",
}


def test_a_broken_table_never_ends_the_adoption_of_others(tmp_path: Path) -> None:
    for number, text in enumerate(BROKEN.values()):
        make(tmp_path / f"broken{number:02}", text)
    make(tmp_path / "whole")
    make(tmp_path / "numbers")
    (tmp_path / "numbers/.hoodie/timeline/20260301000000000_20260301000001000.commit").write_text(
        '{"partitionToWriteStats": {"": [{"numWrites": ' + "9" * 5_000 + "}]}}"
    )
    done = run(str(tmp_path))
    assert (done.returncode, "Traceback" in done.stderr) == (1, False)
    assert "whole" in {one["metadata"]["name"] for one in yaml.safe_load_all(done.stdout) if one}
    assert all(each.isprintable() or each == "\n" for each in done.stdout + done.stderr)
    assert len(done.stdout) < 100_000


def test_a_broken_table_never_ends_the_timelines_of_others(tmp_path: Path) -> None:
    paths = []
    for number, text in enumerate([*BROKEN.values(), WHOLE]):
        make(tmp_path / f"t{number:02}", text)
        paths.append(str(tmp_path / f"t{number:02}"))
    for form in ("table", "json"):
        command = (sys.executable, "-m", "hudi_operator", "timeline", "-o", form, *paths)
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, env=environment)
        assert "Traceback" not in done.stderr
        assert f"t{len(BROKEN):02}" in done.stdout
        assert all(each.isprintable() or each == "\n" for each in done.stdout + done.stderr)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [(("--class", "no name"), "no name"), (("--depth", "33"), "at most 32"), (("--seconds", "nan"), "at least 1")],
)
def test_an_argument_out_of_bounds_is_refused_by_its_name(
    arguments: tuple[str, str], named: str, tmp_path: Path
) -> None:
    refused = run(str(tmp_path), *arguments)
    assert refused.returncode == 2
    assert arguments[0] in refused.stderr
    assert named in refused.stderr
    assert "Traceback" not in refused.stderr


def test_no_name_of_a_folder_reaches_a_terminal_as_it_is(tmp_path: Path) -> None:
    make(tmp_path / "a\x1b[2Jb\nkind: Secret")
    done = run(str(tmp_path))
    assert "\x1b" not in done.stdout + done.stderr
    assert [one for one in yaml.safe_load_all(done.stdout) if one] == []
    assert done.returncode == 1
