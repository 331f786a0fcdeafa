"""`hudi-operator doctor` on folders of recorded and broken tables."""

from __future__ import annotations

import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command import command
from tests.diagnosis.recorded import recorded

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check_registry import CHECKS
from hudi_operator.diagnosis.score import FULL, POINTS, score_of

HOSTILE = "<script>alert(1)</script>|`x`"
BREAKS_OUT = '"><img src=x onerror=alert(1)>'


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A lake of a sound, a killed, a damaged and an unreadable table."""
    for name, source in (("sound", "1.2.0-mor-archived"), ("killed", "1.2.0-killed-compaction")):
        shutil.copytree(recorded(source), tmp_path / "lake" / name)
    shutil.copytree(recorded("1.2.0-cow-clustering-with-unknown-files"), tmp_path / "lake" / HOSTILE)
    broken = tmp_path / "lake" / "broken" / ".hoodie"
    broken.mkdir(parents=True)
    (broken / "hoodie.properties").write_text("hoodie.table.name=t\nhoodie.table.version=99\n")
    return tmp_path / "lake"


def document(*arguments: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(command("doctor", *arguments, "-o", "json").stdout)
    return found


def table_of(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in found["tables"] if one["path"].endswith(f"/{name}"))


def test_each_table_has_its_findings_and_an_unreadable_table_spares_the_others(lake: Path) -> None:
    found = document(str(lake))
    assert found["tables"][0]["path"].endswith("/broken")
    assert "version 99" in table_of(found, "broken")["problem"]
    assert (table_of(found, "sound")["score"], table_of(found, "sound")["findings"]) == (100, [])
    (overdue,) = table_of(found, "killed")["findings"]
    assert (overdue["code"], overdue["severity"], overdue["blocks"]) == (
        "PendingInstantOverdue",
        "Warning",
        ["Archival", "Cleaning"],
    )
    assert overdue["ageSeconds"] > 0
    assert overdue["instant"] in overdue["message"]
    assert set(found["needCluster"]) == {one.value for one in FindingCode} - {one.code.value for one in CHECKS}


def test_exit_code_tells_whether_a_finding_is_as_bad_as_asked(lake: Path, tmp_path: Path) -> None:
    killed, sound = str(lake / "killed"), str(lake / "sound")
    assert command("doctor", killed).returncode == 0
    assert command("doctor", killed, "--fail-on", "Warning").returncode == 1
    assert command("doctor", sound, "--fail-on", "Info").returncode == 0
    assert command("doctor", str(lake / "broken")).returncode == 1
    (tmp_path / "empty").mkdir()
    nothing = command("doctor", str(tmp_path / "empty"))
    assert (nothing.returncode, nothing.stdout) == (2, "")
    assert "There is no Hudi table at or below" in nothing.stderr


def test_table_below_two_prefixes_is_examined_once(lake: Path) -> None:
    assert len(document(str(lake), str(lake / "sound"))["tables"]) == 4


def test_terminal_gets_the_score_with_its_parts_and_no_control_characters(lake: Path) -> None:
    shutil.copytree(lake / "killed", lake / "odd\x1b]0;x\x07")
    done = command("doctor", str(lake))
    assert "killed: 90: PendingInstantOverdue 10" in done.stdout
    assert "\x1b" not in done.stdout
    assert re.search(r"\d+ of \d+ codes need the cluster", done.stdout)


class _Page(HTMLParser):
    """Collects the elements of a page and what they refer to."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: set[str] = set()
        self.references: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.references += [value or "" for name, value in attrs if name in {"src", "href"} or name.startswith("on")]


@pytest.mark.parametrize("output", ["table", "json", "markdown", "html"])
def test_every_format_names_what_was_not_read(output: str, tmp_path: Path) -> None:
    timeline = tmp_path / "planned" / ".hoodie"
    shutil.copytree(recorded("0.15.0-empty-table"), tmp_path / "planned")
    for number in range(30):
        (timeline / f"202611010000000{number:02}.compaction.requested").touch()
    assert "newest commits" in command("doctor", str(tmp_path), "-o", output).stdout


def test_page_links_only_to_sections_that_exist(lake: Path) -> None:
    page = command("doctor", str(lake), "-o", "html").stdout
    sections = re.findall(r'<section id="(t\d+)">', page)
    assert 0 < len(sections) < 4
    assert re.findall(r'href="#(t\d+)"', page) == sections


def test_page_escapes_everything_and_refers_to_nothing_elsewhere(lake: Path) -> None:
    renamed = lake / BREAKS_OUT
    shutil.copytree(lake / "killed", renamed)
    shutil.copytree(lake / "broken", lake / f"broken{BREAKS_OUT}")
    done = command("doctor", str(lake), "-o", "html")
    page = _Page()
    page.feed(done.stdout)
    assert page.elements.isdisjoint({"script", "img", "link", "iframe"})
    assert all(re.fullmatch(r"#t\d+", one) for one in page.references)
    assert "&lt;script&gt;" in done.stdout
    assert "http://" not in done.stdout
    assert "https://" not in done.stdout


def test_markdown_holds_no_markup_of_a_table(lake: Path) -> None:
    done = command("doctor", str(lake), "-o", "markdown")
    assert "<script>" not in done.stdout
    rows = [line for line in done.stdout.splitlines() if line.startswith("| ")]
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {7}


def test_score_takes_by_severity_and_stays_within_bounds() -> None:
    critical, warning = (FindingCode.TIMELINE_CORRUPT, Severity.CRITICAL), (FindingCode.WRITES_FAIL, Severity.WARNING)
    assert score_of([]) == (FULL, ())
    assert score_of([warning, critical]).line == "50: TimelineCorrupt 40, WritesFail 10"
    assert score_of([critical] * 5).value == 0
    assert POINTS[Severity.CRITICAL] > POINTS[Severity.WARNING] > POINTS[Severity.INFO] > 0


@pytest.mark.parametrize("output", ["table", "json", "markdown", "html"])
def test_every_format_tells_of_a_table_whose_reading_fails_unforeseen(
    output: str, lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        raise RuntimeError("odd <b>bytes</b>")

    monkeypatch.setattr("hudi_operator.cli.commands.doctor.examine", fail)
    done = command("doctor", str(lake), "-o", output)
    assert done.returncode == 1
    assert "odd" in done.stdout
