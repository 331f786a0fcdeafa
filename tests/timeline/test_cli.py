"""The command line."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hudi_operator.cli.main import execute

RealTable = Callable[[str], Path]


def run(arguments: Sequence[str]) -> int:
    return execute(["timeline", *arguments])


def documents(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[dict[str, Any]]:
    assert run(["-o", "json", *arguments]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_programs_get_one_document_per_path_and_line(capsys: pytest.CaptureFixture[str], real_table: RealTable) -> None:
    paths = [str(real_table(name)) for name in ("0.14.0-mor-compaction", "1.2.0-mor-compaction")]
    found = documents(capsys, *paths)
    assert [one["path"] for one in found] == paths
    assert [one["table"]["layoutVersion"] for one in found] == [1, 2]
    assert set(found[0]) == {"path", "table", "instants", "counters", "problems"}
    assert set(found[0]["counters"]) == {
        "deltaCommitsSinceCompaction",
        "deltaCommitsSinceCompactionRequest",
        "commitsSinceClustering",
        "commitsSinceClean",
        "pendingCompactions",
        "pendingLogCompactions",
        "pendingClusterings",
        "inflightWrites",
        "lastCompaction",
        "lastClustering",
        "lastClean",
        "latestCompleted",
        "savepoints",
        "earliestPending",
        "completedCommits",
    }


@pytest.mark.parametrize("spelling", ["{}", "{}/", "file://{}", "file:{}"])
def test_a_path_is_printed_as_it_was_given(
    spelling: str, capsys: pytest.CaptureFixture[str], real_table: RealTable
) -> None:
    path = spelling.format(real_table("1.2.0-mor-compaction"))
    assert documents(capsys, path)[0]["path"] == path


def test_a_relative_path_is_one_of_the_working_directory(
    capsys: pytest.CaptureFixture[str], real_table: RealTable, monkeypatch: pytest.MonkeyPatch
) -> None:
    base = real_table("1.2.0-mor-compaction")
    monkeypatch.chdir(base.parent)
    assert documents(capsys, base.name)[0]["table"]["name"] == base.name


@pytest.mark.parametrize("arguments", [["--archived", "{}"], ["{}", "--archived"]])
def test_the_archive_is_shown_on_request(
    arguments: list[str], capsys: pytest.CaptureFixture[str], real_table: RealTable
) -> None:
    path = str(real_table("1.2.0-cow-archived"))
    found = documents(capsys, *(one.format(path) for one in arguments))
    assert len(found[0]["archived"]) > 10
    assert run([path, "--archived"]) == 0
    assert "Archived (" in capsys.readouterr().out


@pytest.mark.parametrize("output", ["table", "json"])
def test_a_bad_path_costs_the_exit_code_but_not_the_others(
    output: str, capsys: pytest.CaptureFixture[str], real_table: RealTable, tmp_path: Path
) -> None:
    good = str(real_table("1.2.0-mor-compaction"))
    assert run(["-o", output, str(tmp_path), good, "gs://elsewhere/t"]) == 2
    printed = capsys.readouterr()
    assert good in printed.out
    errors = printed.err.splitlines()
    assert len(errors) == 2
    assert "There is no Hudi table at" in errors[0]
    assert "gs://elsewhere/t" in errors[1]
    assert all(line.endswith(".") for line in errors)


def test_people_get_a_table(capsys: pytest.CaptureFixture[str], real_table: RealTable) -> None:
    assert run([str(real_table("1.2.0-cow-clustering"))]) == 0
    text = capsys.readouterr().out
    assert "CopyOnWrite, table version 9, timeline layout 2, instants in LOCAL time" in text
    assert "TIME               ACTION         STATE      COMPLETED AT" in text
    assert "Pending clusterings                     2" in text


def test_an_unknown_count_is_shown_as_such(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = tmp_path / ".hoodie" / "timeline"
    folder.mkdir(parents=True)
    (tmp_path / ".hoodie" / "hoodie.properties").write_text("hoodie.table.name=t\nhoodie.table.version=9\n")
    (folder / "3.replacecommit.requested").write_text("garbage")
    assert run([str(tmp_path)]) == 0
    text = capsys.readouterr().out
    assert "Commits since clustering                0" in text
    assert "It is unknown whether this is a clustering" in text
    assert documents(capsys, str(tmp_path))[0]["counters"]["inflightWrites"] is None


def test_a_count_that_is_not_certain_is_shown_with_its_bounds(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    folder = tmp_path / ".hoodie" / "timeline"
    folder.mkdir(parents=True)
    (tmp_path / ".hoodie" / "hoodie.properties").write_text("hoodie.table.name=t\nhoodie.table.version=9\n")
    (folder / "3_4.clean").write_text("garbage")
    for time in (1, 2, 5):
        (folder / f"{time}_{time}.commit").write_text("")
    assert run([str(tmp_path)]) == 0
    assert "Commits since clean                     ? (between 1 and 3, see the problems)" in capsys.readouterr().out
    counters = documents(capsys, str(tmp_path))[0]["counters"]
    assert counters["commitsSinceClean"] is None
    assert counters["bounds"] == {"commitsSinceClean": {"atLeast": 1, "atMost": 3}}


def test_output_that_nobody_reads_is_no_error(real_table: RealTable) -> None:
    program = "import sys; from hudi_operator.cli.main import execute; sys.exit(execute(sys.argv[1:]))"
    path = str(real_table("1.2.0-mor-archived"))
    command = [sys.executable, "-c", program, "timeline", "-o", "json", *[path] * 200]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0


def loaded_modules(arguments: Sequence[str]) -> set[str]:
    program = (
        "import sys; from hudi_operator.cli.main import execute; "
        f"code = execute({['timeline', *arguments]!r}); print(*sys.modules, file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in done.stderr.split()}


def test_a_local_read_loads_nothing_heavy(real_table: RealTable) -> None:
    loaded = loaded_modules([str(real_table("1.2.0-mor-compaction"))])
    heavy = {"kopf", "kubernetes", "aiohttp", "pydantic", "pyarrow", "numpy", "obstore", "typer", "rich", "structlog"}
    assert loaded & heavy == set()
