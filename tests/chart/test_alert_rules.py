"""The alerts of the chart over series as Prometheus would store them: when each fires, and with which words.

promtool, of Prometheus itself, evaluates the rules. `make test-all` builds it; without it these tests skip.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.test_alerts import UNNAMED
from tests.chart.test_chart import EVERYTHING

pytestmark = pytest.mark.chart

FOLDER = Path(__file__).parent / "rules"
VALUES = {"operator": EVERYTHING, "tables": EVERYTHING, "cost": EVERYTHING, "unnamed": UNNAMED}
PLACES = {
    "HERE": 'job="hudi-hudi-operator-metrics", namespace="hudi-system"',
    "TABLE": 'table_namespace="team-a", table="flights"',
}

Run = Callable[..., subprocess.CompletedProcess[str]]


def rules_of(rendered: list[Any]) -> dict[str, Any]:
    """Return the rules of a rendered chart as promtool reads them, without the links to the runbook."""
    (found,) = [document for document in rendered if document["kind"] == "PrometheusRule"]
    for group in found["spec"]["groups"]:
        for rule in group["rules"]:
            rule["annotations"].pop("runbook_url")
    return dict(found["spec"])


def cases(name: str) -> str:
    """Return the cases of a file with the labels of the scrape and of the table."""
    text = (FOLDER / f"{name}.yaml").read_text()
    for word, labels in PLACES.items():
        text = text.replace(f"{{{word}", f"{{{labels}").replace(f", {word}", f", {labels}")
    return text


@pytest.fixture
def promtool(prometheus_tools: Path, tmp_path: Path) -> Run:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = (str(prometheus_tools / "promtool"), *arguments)
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=60)

    return run


@pytest.mark.parametrize("name", VALUES)
def test_alert_fires_when_its_cases_say(name: str, documents: Any, promtool: Run, tmp_path: Path) -> None:
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules_of(documents(VALUES[name]))))
    (tmp_path / "cases.yaml").write_text(cases(name))
    checked = promtool("check", "rules", "--lint=all", "--lint-fatal", "rules.yaml")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    tested = promtool("test", "rules", "cases.yaml")
    assert tested.returncode == 0, tested.stdout + tested.stderr


def test_alert_that_fires_too_early_is_found(documents: Any, promtool: Run, tmp_path: Path) -> None:
    rules = rules_of(documents(EVERYTHING))
    for rule in rules["groups"][0]["rules"]:
        rule.pop("for", None)
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules))
    (tmp_path / "cases.yaml").write_text(cases("tables"))
    tested = promtool("test", "rules", "cases.yaml")
    assert tested.returncode != 0
    assert "HudiTableNotReady" in tested.stdout + tested.stderr


def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_is_silent(documents: Any) -> None:
    for values in (EVERYTHING, UNNAMED):
        named = {rule["alert"] for group in rules_of(documents(values))["groups"] for rule in group["rules"]}
        tested = [
            (one["alertname"], bool(one["exp_alerts"]))
            for name in VALUES
            for case in yaml.safe_load(cases(name))["tests"]
            for one in case["alert_rule_test"]
        ]
        assert {(name, fires) for name in named for fires in (True, False)} <= set(tested)
