"""`hudi-operator doctor` on the recorded lake: each break has its code, and no healthy table has one."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tests.cli.command import command
from tests.lake.recorded_lake import BROKEN, FIXTURES, HEALTHY, MORE_BREAKS, make_lake, unpack_break

from hudi_operator.diagnosis.check_registry import CHECKS
from hudi_operator.diagnosis.examine import REQUESTS

Document = dict[str, Any]


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Document]:
    """What the doctor says of each table of the lake, and of the further breaks."""
    folder = tmp_path_factory.mktemp("lake")
    make_lake(folder)
    for name in MORE_BREAKS:
        unpack_break(name, folder / "more" / name)
    found = json.loads(command("doctor", str(folder), "-o", "json").stdout)
    return {one["path"].rpartition("/")[2]: one for one in found["tables"]}


def codes(table: Document) -> set[str]:
    return {one["code"] for one in table["findings"]}


def test_each_break_has_its_code_and_no_other(report: dict[str, Document]) -> None:
    expected = {name: set(one.by_doctor) for name, one in BROKEN.items()} | {
        name: set(said) for name, said in MORE_BREAKS.items()
    }
    assert {name: codes(report[name]) for name in expected} == expected


def test_each_code_of_the_doctor_has_a_real_break(report: dict[str, Document]) -> None:
    of_copies = {"TimelineDamaged"}  # tests/diagnosis/test_recorded_tables.py damages recorded files
    assert set[str]().union(*map(codes, report.values())) == {one.code.value for one in CHECKS} - of_copies


def test_healthy_tables_of_five_releases_have_at_most_an_older_version(report: dict[str, Document]) -> None:
    said = {name: codes(report[name]) for name in HEALTHY}
    behind = {name for name in HEALTHY if report[name]["version"] < 9}
    assert {name: found for name, found in said.items() if found} == {name: {"TableVersionBehind"} for name in behind}


def test_no_table_costs_more_than_twenty_requests(report: dict[str, Document]) -> None:
    assert len(report) == len(HEALTHY) + len(BROKEN) + len(MORE_BREAKS)
    assert max(one["requests"] for one in report.values()) <= REQUESTS


def test_every_fixture_is_used() -> None:
    assert {path.name.removesuffix(".tar.gz") for path in FIXTURES.iterdir()} == {*BROKEN, *MORE_BREAKS}
