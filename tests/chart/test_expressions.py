"""Each expression of the alerts and dashboards, evaluated by a Prometheus that has scraped the operator's page."""

from __future__ import annotations

import functools
import http.server
import json
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.chart.conftest import ROOT
from tests.chart.test_alert_rules import rules_of
from tests.chart.test_alerts import alerts
from tests.chart.test_chart import EVERYTHING
from tests.chart.test_dashboards import expressions

from toolkit.control_plane import free_ports, running

pytestmark = pytest.mark.chart

JOB = "hudi-hudi-operator-metrics"
CHOICES = {"job": JOB, "namespace": "team-b", "table": "broken"}

Ask = Callable[[str], Sequence[Any]]

FIRING = {
    "HudiOperatorFallsBehind",
    "HudiOperatorSweepsFail",
    "HudiTableNotReady",
    "HudiTableFindingCritical",
    "HudiTableBehind",
    "HudiTableQuarantineGrows",
}
"""Alerts whose condition holds on the recorded page; a quarantine without an earlier figure counts as grown."""


class Page(http.server.BaseHTTPRequestHandler):
    """Serves the metrics page of a recorded run."""

    text = b""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
        self.end_headers()
        self.wfile.write(self.text)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the library
        pass


def configuration(port: int) -> dict[str, Any]:
    """Return a scrape with the labels that the Prometheus Operator gives a target of the chart's ServiceMonitor."""
    labels = {
        "job": JOB,
        "namespace": "hudi-system",
        "service": JOB,
        "pod": "hudi-operator-0",
        "container": "operator",
        "endpoint": "metrics",
    }
    target = {"targets": [f"127.0.0.1:{port}"], "labels": labels}
    scrape = {"job_name": JOB, "honor_labels": True, "static_configs": [target]}
    return {
        "global": {"scrape_interval": "1s", "scrape_timeout": "1s", "evaluation_interval": "1s"},
        "scrape_configs": [scrape],
        "rule_files": ["rules.yaml"],
    }


def query(url: str, expression: str) -> Sequence[Any]:
    """Return the series that an expression has now; raise HTTPError for one that Prometheus refuses."""
    parameters = urllib.parse.urlencode({"query": expression})
    with urllib.request.urlopen(f"{url}/api/v1/query?{parameters}", timeout=10) as answer:
        return list(json.load(answer)["data"]["result"])


@pytest.fixture(scope="module")
def page() -> Iterator[int]:
    """The port of the page of a recorded run."""
    command = (sys.executable, "-m", "tests.chart.recorded_page")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, check=True, timeout=60)
    served = type("Recorded", (Page,), {"text": done.stdout})
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), served) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.fixture
def ask(prometheus_tools: Path, page: int, documents: Any, tmp_path: Path) -> Iterator[Ask]:
    """Evaluates an expression in a Prometheus that has scraped the page and loaded the alerts."""
    (tmp_path / "prometheus.yaml").write_text(yaml.safe_dump(configuration(page)))
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump(rules_of(documents(EVERYTHING))))
    (port,) = free_ports(1)
    command = (
        str(prometheus_tools / "prometheus"),
        "--config.file=prometheus.yaml",
        "--storage.tsdb.path=data",
        f"--web.listen-address=127.0.0.1:{port}",
    )
    url = f"http://127.0.0.1:{port}"
    with running(tmp_path, "prometheus", *command):
        deadline = time.monotonic() + 60
        while not has_scraped_thrice(url):
            assert time.monotonic() < deadline, (tmp_path / "prometheus.log").read_text()
            time.sleep(0.3)
        yield functools.partial(query, url)


def has_scraped_thrice(url: str) -> bool:
    try:
        return query(url, "count_over_time(hudi_operator_leader[1m]) >= 3") != []
    except OSError:
        return False


def test_expressions_are_answered_and_show_what_the_run_left(ask: Ask, documents: Any) -> None:
    for name in ("lake", "table"):
        for title, asked in expressions(name, **CHOICES).items():
            for expression in asked:
                assert ask(expression) != [], f"panel {title} of {name} shows nothing: {expression}"
    answered = {alert["alert"]: ask(alert["expr"]) for alert in alerts(documents(EVERYTHING))}
    assert {name for name in answered if answered[name]} == FIRING
    assert [one["metric"] for one in answered["HudiTableNotReady"]] == [
        {"table_namespace": "team-b", "table": "broken"}
    ]


def test_metric_keeps_its_own_label_service_in_a_scrape(ask: Ask) -> None:
    (ended,) = ask("sum by (service, exported_service) (hudi_operator_jobs_total)")
    assert ended["metric"] == {"service": "Ingestion"}
    (leader,) = ask("hudi_operator_leader")
    assert leader["metric"]["service"] == JOB
