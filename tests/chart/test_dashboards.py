"""The dashboards of the chart: what their panels ask, and the ConfigMaps that bring them to Grafana."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from tests.chart.conftest import CHART
from tests.chart.expressions import mistakes, selectors
from tests.chart.test_chart import EVERYTHING

from dashboards.files import DASHBOARDS
from hudi_operator.telemetry.metrics import metrics

NAMES = pytest.mark.parametrize("name", DASHBOARDS)
WINDOWS = {"$__rate_interval": "30s", "$__range": "1h"}


def stored(name: str) -> dict[str, Any]:
    """Return a dashboard as the chart has it."""
    return dict(json.loads((CHART / "dashboards" / f"{name}.json").read_text()))


def panels(name: str) -> Iterator[dict[str, Any]]:
    """Yield the panels of a dashboard, those of collapsed rows too."""
    for panel in stored(name)["panels"]:
        yield from panel.get("panels") or [panel] if panel["type"] == "row" else [panel]


def expressions(name: str, **choices: str) -> dict[str, list[str]]:
    """Return the expressions of each panel with its variables replaced, by the title of the panel."""
    found: dict[str, list[str]] = {}
    for panel in panels(name):
        for target in panel.get("targets", ()):
            found.setdefault(panel["title"], []).append(with_choices(target["expr"], **choices))
    return found


def with_choices(text: str, **choices: str) -> str:
    """Return an expression with the values of the dashboard's variables."""
    for word, window in WINDOWS.items():
        text = text.replace(word, window)
    return re.sub(r"\$(\w+)", lambda match: choices.get(match[1], "any"), text)


@NAMES
def test_panel_asks_for_metrics_and_labels_of_one_operator(name: str) -> None:
    shown = expressions(name, job="j")
    assert len(shown) > 8
    for title, asked in shown.items():
        for expression in asked:
            assert mistakes(expression) == [], title
            for selector in selectors(expression):
                assert ("job", "j") in {(one.name, one.value) for one in selector.matchers.matchers}, title


@NAMES
def test_panel_names_no_variable_that_the_dashboard_lacks(name: str) -> None:
    declared = {one["name"] for one in stored(name)["templating"]["list"]}
    text = json.dumps(list(panels(name)))
    named = set(re.findall(r"\$(?:\{)?([a-z_]+)", text)) - {word.strip("$") for word in WINDOWS} - {"__data"}
    assert named <= declared


@NAMES
def test_variable_lists_the_values_of_a_label_that_there_is(name: str) -> None:
    labels = {one.name: {*one.labels, "job"} for one in metrics.descriptions}
    for variable in stored(name)["templating"]["list"]:
        if variable["type"] == "query":
            asked = re.fullmatch(r"label_values\((.+), (\w+)\)", with_choices(variable["query"]))
            assert asked is not None, variable["name"]
            assert mistakes(asked[1]) == []
            (selector,) = selectors(asked[1])
            assert asked[2] in labels[selector.name]


@NAMES
def test_each_panel_of_a_dashboard_has_a_question_and_a_title_of_its_own(name: str) -> None:
    titles = [panel["title"] for panel in panels(name) if panel["type"] != "row"]
    assert len(titles) == len(set(titles))
    for panel in panels(name):
        if panel["type"] != "row":
            assert "?" in panel["description"], panel["title"]


def test_row_of_a_table_leads_to_the_dashboard_of_tables() -> None:
    links = {
        link["url"]
        for panel in panels("lake")
        if panel["type"] == "table"
        for link in panel["fieldConfig"]["defaults"]["links"]
    }
    (url,) = links
    assert url.startswith(f"/d/{stored('table')['uid']}?")
    chosen = {one["name"] for one in stored("table")["templating"]["list"]}
    assert set(re.findall(r"var-(\w+)=", url)) | set(re.findall(r"\{(\w+):queryparam\}", url)) == chosen


@pytest.mark.chart
def test_config_maps_hold_the_dashboards_unchanged_and_have_the_label_of_the_sidecar(documents: Any) -> None:
    maps = [one for one in documents(EVERYTHING) if one["kind"] == "ConfigMap"]
    held = {name: json.loads(text) for one in maps for name, text in one["data"].items()}
    assert held == {f"hudi-operator-{name}.json": stored(name) for name in DASHBOARDS}
    for one in maps:
        assert one["metadata"]["labels"]["grafana_dashboard"] == "1"
        assert one["metadata"]["annotations"] == {"grafana_folder": "Lake"}
        assert one["metadata"]["namespace"] == "hudi-system"


@pytest.mark.chart
def test_dashboards_are_off_by_default_and_may_go_to_the_namespace_of_grafana(documents: Any) -> None:
    assert [one for one in documents({}) if one["kind"] == "ConfigMap"] == []
    moved = documents({"grafanaDashboards": {"enabled": True, "namespace": "monitoring"}})
    assert {one["metadata"]["namespace"] for one in moved if one["kind"] == "ConfigMap"} == {"monitoring"}
