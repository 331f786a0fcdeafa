"""What runs cost, as metrics: sums by namespace that always exist, and series that name a table."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families
from tests.planning.world import run

from hudi_operator.api.status.cost import RunCost
from hudi_operator.api.status.runs import RunStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.telemetry.metrics import Metrics
from hudi_operator.telemetry.table_series import TableFigures

SINCE = "2026-03-10T12:00:00Z"
Labels = frozenset[tuple[str, str]]


def a_run(service: str = "Compaction", **figures: int) -> RunStatus:
    return run(service=service, cost=RunCost.model_validate({"since": SINCE, **figures}))


def count(metrics: Metrics, table: str, one: RunStatus, *, class_name: str = "standard") -> None:
    namespace, name = table.split("/")
    metrics.run_cost(namespace, name, one, class_name=class_name)
    metrics.set_table(namespace, name, TableFigures(status=HudiTableStatus()))


def samples(metrics: Metrics, name: str) -> dict[Labels, float]:
    families = text_string_to_metric_families(metrics.exposition().decode())
    found = (one for family in families for one in family.samples if one.name == f"hudi_operator_{name}")
    return {frozenset(one.labels.items()): one.value for one in found}


def by(metrics: Metrics, name: str, *labels: str) -> dict[tuple[str, ...], float]:
    sums: dict[tuple[str, ...], float] = {}
    for one, figure in samples(metrics, name).items():
        values = tuple(dict(one)[label] for label in labels)
        sums[values] = sums.get(values, 0) + figure
    return sums


def test_costs_of_tables_add_up_to_those_of_their_namespace_class_and_service() -> None:
    metrics = Metrics()
    count(metrics, "a/x", a_run(cpu_milliseconds=1500, bytes_read=10))
    count(metrics, "a/x", a_run(estimated_cpu_milliseconds=4000))
    count(metrics, "a/y", a_run("Ingestion", cpu_milliseconds=2000, bytes_written=7))
    count(metrics, "b/z", a_run(cpu_milliseconds=8000), class_name="large")
    labels = ("table_namespace", "class", "service", "estimated")
    assert by(metrics, "run_cpu_seconds_total", *labels) == {
        ("a", "standard", "Compaction", "false"): 1.5,
        ("a", "standard", "Compaction", "true"): 4,
        ("a", "standard", "Ingestion", "false"): 2,
        ("b", "large", "Compaction", "false"): 8,
    }
    assert by(metrics, "table_run_cpu_seconds_total", *labels) == by(metrics, "run_cpu_seconds_total", *labels)
    named = by(metrics, "table_run_cpu_seconds_total", "table_namespace", "table")
    assert named == {("a", "x"): 5.5, ("a", "y"): 2, ("b", "z"): 8}
    for name, figure in (("read", {("a",): 10}), ("written", {("a",): 7})):
        assert by(metrics, f"run_{name}_bytes_total", "table_namespace") == figure
        assert by(metrics, f"table_run_{name}_bytes_total", "table_namespace") == figure


def test_run_without_a_cost_has_no_series() -> None:
    metrics = Metrics()
    count(metrics, "a/x", run())
    assert samples(metrics, "run_cpu_seconds_total") == samples(metrics, "table_run_cpu_seconds_total") == {}


def test_costs_of_a_table_that_is_gone_stay_in_the_sums_of_its_namespace() -> None:
    metrics = Metrics()
    count(metrics, "a/x", a_run(cpu_milliseconds=1500))
    metrics.forget_table("a", "x")
    assert samples(metrics, "table_run_cpu_seconds_total") == {}
    assert by(metrics, "run_cpu_seconds_total", "table_namespace") == {("a",): 1.5}
    count(metrics, "a/x", a_run(cpu_milliseconds=500))
    assert by(metrics, "table_run_cpu_seconds_total", "table") == {("x",): 0.5}


def test_sums_exist_where_no_series_may_name_a_table() -> None:
    metrics = Metrics()
    metrics.tables.configure(enabled=False, limit=1)
    count(metrics, "a/x", a_run(cpu_milliseconds=1500))
    assert samples(metrics, "table_run_cpu_seconds_total") == {}
    assert by(metrics, "run_cpu_seconds_total", "table_namespace") == {("a",): 1.5}


def test_costs_are_counters_for_prometheus() -> None:
    metrics = Metrics()
    count(metrics, "a/x", a_run(cpu_milliseconds=1500))
    text = metrics.exposition().decode()
    for name in ("run_cpu_seconds", "table_run_cpu_seconds"):
        assert f"# TYPE hudi_operator_{name}_total counter" in text
