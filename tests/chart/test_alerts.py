"""The alerts of the chart: which metrics they ask, and where a person finds what to do."""

import re
from typing import Any

import pytest
from tests.chart.conftest import ROOT
from tests.chart.test_chart import EVERYTHING

pytestmark = pytest.mark.chart


def alerts(documents: Any) -> list[Any]:
    """The alerts of the chart with all that it can install."""
    (rule,) = [document for document in documents(EVERYTHING) if document["kind"] == "PrometheusRule"]
    return list(rule["spec"]["groups"][0]["rules"])


def test_alerts_ask_for_metrics_that_exist(documents: Any) -> None:
    from hudi_operator.telemetry.metrics import metrics  # noqa: PLC0415 - the other tests need no operator

    known = {description.name for description in metrics.descriptions}
    for alert in alerts(documents):
        assert set(re.findall(r"hudi_operator_\w+", alert["expr"])) <= known, alert["alert"]
        assert 'job="hudi-hudi-operator-metrics", namespace="hudi-system"' in alert["expr"]


def test_each_alert_names_its_section_of_the_runbook(documents: Any) -> None:
    sections = re.findall(r"^## (\w+)$", (ROOT / "docs" / "operations" / "alerts.md").read_text(), re.MULTILINE)
    assert [alert["alert"] for alert in alerts(documents)] == sections
    for alert in alerts(documents):
        assert alert["annotations"]["runbook_url"] == f"docs/operations/alerts.md#{alert['alert'].lower()}"


def test_the_alert_on_tables_that_are_behind_holds_each_against_its_own_target(documents: Any) -> None:
    (alert,) = [one for one in alerts(documents) if one["alert"] == "HudiTableBehind"]
    here = '{job="hudi-hudi-operator-metrics", namespace="hudi-system"}'
    assert " ".join(alert["expr"].split()) == (
        f"time() - hudi_operator_table_complete_up_to_timestamp_seconds{here} > on (table_namespace, table) "
        f"hudi_operator_table_freshness_target_seconds{here}"
    )
    assert "{{ $labels.table_namespace }}/{{ $labels.table }}" in alert["annotations"]["summary"]


def test_a_table_of_which_nothing_was_ever_reported_is_no_silent_one(documents: Any) -> None:
    (alert,) = [one for one in alerts(documents) if one["alert"] == "HudiTableFreshnessUnknown"]
    here = '{job="hudi-hudi-operator-metrics", namespace="hudi-system"}'
    assert " ".join(alert["expr"].split()) == (
        f"hudi_operator_table_freshness_target_seconds{here} unless on (table_namespace, table) "
        f"hudi_operator_table_complete_up_to_timestamp_seconds{here}"
    )
    assert alert["for"] == "1h"
    assert "{{ $labels.table_namespace }}/{{ $labels.table }}" in alert["annotations"]["summary"]
