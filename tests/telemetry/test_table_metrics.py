"""The series that name a table: which there are, whose they are, and when they go."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hudi_operator.api.status.conditions import Condition, ConditionType
from hudi_operator.api.status.findings import Finding, FindingCode, Severity
from hudi_operator.api.status.table_parts import ExactStatistics, StatisticsStatus, TableStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.telemetry.metrics import Metrics
from hudi_operator.telemetry.table_series import TableFigures

MOMENT = datetime(2026, 3, 10, 12, 0, tzinfo=UTC)
AT = "2026-03-10T12:00:00Z"


def condition(kind: ConditionType, status: str, reason: str) -> Condition:
    said = {"status": status, "reason": reason, "message": ".", "lastTransitionTime": AT, "observedGeneration": 1}
    return Condition.model_validate({"type": kind, **said})


def figures(
    ready: str = "True",
    reason: str = "Succeeded",
    *codes: str,
    fresh: str | None = None,
    severity: Severity = Severity.WARNING,
    **others: Any,
) -> TableFigures:
    conditions = [condition(ConditionType.READY, ready, reason)]
    if fresh is not None:
        conditions.append(condition(ConditionType.FRESH, fresh, "FreshnessMissed"))
    found = tuple(
        Finding(code=FindingCode(code), severity=severity, since=AT, message="m", remedy="r") for code in codes
    )
    return TableFigures(status=HudiTableStatus(conditions=tuple(conditions), findings=found), **others)


def series(metrics: Metrics, name: str) -> dict[tuple[str, ...], float]:
    """Return the samples of a metric by their labels, in the described order, as a reader of the page reads them."""
    (labels,) = [one.labels for one in metrics.descriptions if one.name == f"hudi_operator_{name}"]
    families = text_string_to_metric_families(metrics.exposition().decode())
    (family,) = [one for one in families if one.name == f"hudi_operator_{name}"]
    return {tuple(one.labels[label] for label in labels): one.value for one in family.samples}


@pytest.mark.parametrize(("status", "figure"), [("True", 1), ("False", 0), ("Unknown", 0)])
def test_table_is_ready_only_while_its_condition_is_true(status: str, figure: float) -> None:
    metrics = Metrics()
    metrics.set_table("n", "a", figures(status, "Progressing"))
    assert series(metrics, "table_ready") == {("n", "a"): figure}


def test_table_without_a_condition_is_not_ready() -> None:
    metrics = Metrics()
    metrics.set_table("n", "a", TableFigures(status=HudiTableStatus()))
    assert series(metrics, "table_ready") == {("n", "a"): 0}
    assert series(metrics, "table_info") == {("n", "a", "", "Unknown", "", ""): 1}


def test_info_of_a_table_is_a_single_series_with_its_newest_reason() -> None:
    metrics = Metrics()
    for reason in ("Progressing", "HudiError", "OutOfMemory"):
        metrics.set_table("n", "a", figures("False", reason, class_name="standard"))
    metrics.set_table("n", "b", figures(class_name="large"))
    assert series(metrics, "table_info") == {
        ("n", "a", "standard", "False", "OutOfMemory", ""): 1,
        ("n", "b", "large", "True", "Succeeded", ""): 1,
    }


def test_info_of_a_table_names_its_type() -> None:
    metrics = Metrics()
    shown = figures(class_name="standard")
    status = shown.status.copy_with(table=TableStatus(type="MergeOnRead", version=9, zone="UTC"))
    metrics.set_table("n", "a", TableFigures(status=status, class_name="standard"))
    assert list(series(metrics, "table_info")) == [("n", "a", "standard", "True", "Succeeded", "MergeOnRead")]


def test_finding_of_a_table_has_a_series_until_it_is_gone() -> None:
    metrics = Metrics()
    metrics.set_table("n", "a", figures("True", "Succeeded", "BadRows", "FilesSkipped"))
    metrics.set_table("n", "b", figures("True", "Succeeded", "BadRows"))
    assert series(metrics, "table_findings") == {
        ("n", "a", "BadRows", "Warning"): 1,
        ("n", "a", "FilesSkipped", "Warning"): 1,
        ("n", "b", "BadRows", "Warning"): 1,
    }
    metrics.set_table("n", "a", figures("True", "Succeeded", "FilesSkipped", severity=Severity.CRITICAL))
    assert ("n", "a", "BadRows", "Warning") not in series(metrics, "table_findings")
    assert series(metrics, "findings")[("FilesSkipped", "Critical")] == 1


def test_figure_of_a_table_has_a_series_only_while_it_is_known() -> None:
    metrics = Metrics()
    names = ("complete_up_to_timestamp_seconds", "backlog_records", "backlog_bytes", "freshness_target_seconds")

    def exported() -> list[dict[tuple[str, ...], float]]:
        return [series(metrics, f"table_{name}") for name in names]

    known: dict[str, Any] = {
        "complete_up_to": MOMENT,
        "backlog_records": 0,
        "backlog_bytes": 7,
        "target": timedelta(minutes=10),
    }
    metrics.set_table("n", "a", figures(**known))
    key = ("n", "a")
    assert exported() == [{key: MOMENT.timestamp()}, {key: 0}, {key: 7}, {key: 600}]
    metrics.set_table("n", "a", figures(complete_up_to=MOMENT, backlog_records=3))
    assert exported() == [{key: MOMENT.timestamp()}, {key: 3}, {}, {}]


def test_forgotten_table_leaves_no_series_and_no_count() -> None:
    metrics = Metrics()
    metrics.set_table("n", "a", figures("False", "HudiError", "BadRows", quarantined_rows=5))
    metrics.set_active_jobs("n/a", ["Ingestion"])
    metrics.forget_table("n", "a")
    metrics.forget_table("n", "never-seen")
    page = metrics.exposition().decode()
    assert 'table="a"' not in page
    assert series(metrics, "findings")[("BadRows", "Warning")] == 0
    assert series(metrics, "tables_not_ready")[("False", "HudiError")] == 0
    assert series(metrics, "jobs_active")[("Ingestion",)] == 0
    assert series(metrics, "tables_with_series") == {(): 0}


def test_tables_that_are_not_ready_are_counted_by_status_and_reason() -> None:
    metrics = Metrics()
    for name, reason in (("a", "HudiError"), ("b", "HudiError"), ("c", "OutOfMemory")):
        metrics.set_table("n", name, figures("False", reason))
    assert series(metrics, "tables_not_ready") == {("False", "HudiError"): 2, ("False", "OutOfMemory"): 1}
    metrics.set_table("n", "a", figures())
    metrics.set_table("n", "b", figures("Unknown", "Progressing"))
    assert series(metrics, "tables_not_ready") == {
        ("False", "HudiError"): 0,
        ("Unknown", "Progressing"): 1,
        ("False", "OutOfMemory"): 1,
    }


ATTENTION = {
    "not ready": figures("False", "HudiError"),
    "unknown": figures("Unknown", "Progressing"),
    "with a finding": figures("True", "Succeeded", "BadRows"),
    "behind": figures(fresh="False"),
}


@pytest.mark.parametrize("needy", ATTENTION.values(), ids=ATTENTION)
def test_above_the_limit_only_tables_that_need_attention_have_series(needy: TableFigures) -> None:
    metrics = Metrics()
    metrics.tables.configure(enabled=True, limit=3)
    for name in ("a", "b"):
        metrics.set_table("n", name, figures(fresh="True"))
    metrics.set_table("n", "needy", needy)
    assert len(series(metrics, "table_info")) == 3
    metrics.set_table("n", "c", figures(fresh="Unknown"))
    assert [key[:2] for key in series(metrics, "table_info")] == [("n", "needy")]
    assert series(metrics, "tables_with_series") == {(): 1}
    metrics.set_table("n", "needy", figures())
    assert series(metrics, "table_info") == {}
    metrics.forget_table("n", "c")
    assert len(series(metrics, "table_info")) == 3


def test_metrics_switched_off_name_no_table() -> None:
    metrics = Metrics()
    metrics.set_table("n", "before", figures("False", "HudiError", "BadRows"))
    metrics.tables.configure(enabled=False, limit=1000)
    metrics.set_table("n", "a", figures("False", "HudiError", "BadRows", complete_up_to=MOMENT, quarantined_rows=5))
    page = metrics.exposition().decode()
    assert "table=" not in page
    assert "table_namespace=" not in page
    assert series(metrics, "findings")[("BadRows", "Warning")] == 2
    assert series(metrics, "tables_not_ready") == {("False", "HudiError"): 2}


def test_names_with_quotes_and_line_breaks_stay_inside_their_label() -> None:
    metrics = Metrics()
    hostile = 'a"} 1\nhudi_operator_leader 1\n# \\'
    metrics.set_table("n", "a", figures(class_name=hostile))
    assert [key[2] for key in series(metrics, "table_info")] == [hostile]
    assert series(metrics, "leader") == {(): 0}


def test_each_metric_of_tables_is_described_with_its_labels() -> None:
    metrics = Metrics()
    described = {one.name: one.labels for one in metrics.descriptions}
    metrics.set_table("n", "a", figures("False", "HudiError", "BadRows", complete_up_to=MOMENT))
    for family in metrics.tables.collect():
        name = f"{family.name}_total" if family.type == "counter" else family.name
        assert described[name][:2] == ("table_namespace", "table")
        for sample in family.samples:
            assert tuple(sample.labels) == described[family.name]


STATISTICS = StatisticsStatus(
    as_of="20260310120000000",
    size="1.26Gi",
    files=120,
    small_files=30,
    exact=ExactStatistics(base_bytes=1000, log_bytes=250, partitions=3, rows=12_345_678),
)
MEASURED = ("size_bytes", "rows", "files", "small_files", "log_ratio")


def measured(statistics: StatisticsStatus | None) -> list[float | None]:
    metrics = Metrics()
    metrics.set_table("n", "a", TableFigures(status=HudiTableStatus(statistics=statistics)))
    return [series(metrics, f"table_{name}").get(("n", "a")) for name in MEASURED]


def test_statistics_of_a_table_are_exact_in_metrics() -> None:
    assert measured(STATISTICS) == [1250, 12_345_678, 120, 30, 0.25]


def test_unknown_statistics_of_a_table_have_no_series() -> None:
    assert measured(None) == [None] * 5
    assert measured(StatisticsStatus(as_of="20260310120000000")) == [None] * 5
    bare = ExactStatistics(base_bytes=0, log_bytes=0, partitions=0)
    assert measured(STATISTICS.copy_with(exact=bare, small_files=None)) == [0, None, 120, None, None]
