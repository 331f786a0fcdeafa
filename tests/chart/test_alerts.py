"""The alerts of the chart: which metrics they ask, and where a person finds what to do."""

import re
from typing import Any

import pytest
from tests.chart.conftest import ROOT
from tests.chart.expressions import mistakes, selectors
from tests.chart.test_chart import EVERYTHING

pytestmark = pytest.mark.chart

UNNAMED = EVERYTHING | {"tableMetrics": {"enabled": False}}
SETTINGS = pytest.mark.parametrize("values", [EVERYTHING, UNNAMED], ids=["tables have series", "no table has"])


def alerts(rendered: list[Any]) -> list[Any]:
    """Return the alerts of a rendered chart."""
    (rule,) = [document for document in rendered if document["kind"] == "PrometheusRule"]
    return [alert for group in rule["spec"]["groups"] for alert in group["rules"]]


@SETTINGS
def test_alert_asks_for_metrics_and_labels_of_this_operator_alone(values: Any, documents: Any) -> None:
    for alert in alerts(documents(values)):
        assert mistakes(alert["expr"]) == [], alert["alert"]
        for selector in selectors(alert["expr"]):
            here = {one.name: one.value for one in selector.matchers.matchers}
            assert here["job"] == "hudi-hudi-operator-metrics", alert["alert"]
            assert here["namespace"] == "hudi-system", alert["alert"]


def test_mistake_in_an_expression_is_found() -> None:
    assert mistakes('sum by (table) (hudi_operator_table_ready{job="x"}) == 0') == []
    assert mistakes('hudi_operator_tabel_ready{job="x"}') == ["metric hudi_operator_tabel_ready"]
    assert mistakes('hudi_operator_leader{table="x"}') == ["label table of hudi_operator_leader"]
    assert mistakes("sum by (tabel) (hudi_operator_table_ready)") == ["label tabel"]
    with pytest.raises(ValueError, match="parenthesis"):
        mistakes("sum(hudi_operator_tables")


def test_each_alert_names_its_section_of_the_runbook(documents: Any) -> None:
    sections = re.findall(r"^## (Hudi\w+)$", (ROOT / "docs" / "operations" / "alerts.md").read_text(), re.MULTILINE)
    named = [alert for values in (EVERYTHING, UNNAMED) for alert in alerts(documents(values))]
    assert sections == list(dict.fromkeys(alert["alert"] for alert in named))
    for alert in named:
        assert alert["annotations"]["runbook_url"] == f"docs/operations/alerts.md#{alert['alert'].lower()}"


def test_no_alert_names_a_table_where_tables_have_no_series(documents: Any) -> None:
    shown, hidden = alerts(documents(EVERYTHING)), alerts(documents(UNNAMED))
    assert [alert["alert"] for alert in hidden if "hudi_operator_table_" in alert["expr"]] == []
    both = {alert["alert"] for alert in shown} & {alert["alert"] for alert in hidden}
    assert {alert["alert"] for alert in hidden} - both == {
        "HudiTablesNotReady",
        "HudiFindingsCritical",
        "HudiRowsQuarantined",
    }
    assert all(alert["alert"].startswith("HudiTable") for alert in shown if alert["alert"] not in both)


def test_labels_of_the_metrics_win_over_those_of_the_service(documents: Any) -> None:
    (monitor,) = [one for one in documents(EVERYTHING) if one["kind"] == "ServiceMonitor"]
    assert [endpoint["honorLabels"] for endpoint in monitor["spec"]["endpoints"]] == [True]
