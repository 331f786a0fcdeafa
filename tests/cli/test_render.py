"""What commands print of a table, from values."""

from __future__ import annotations

import json
import re
from datetime import timedelta

import pytest
import yaml
from tests.cli.tables import recorded, view
from tests.planning.operations.operations import operation
from tests.planning.world import NOW, ago, at, minutes

from hudi_jobs.contract.wording import byte_size
from hudi_operator.api.crd.kinds import TABLE
from hudi_operator.api.resources import SUSPEND_ANNOTATION
from hudi_operator.api.status.operation_status import HudiOperationStatus
from hudi_operator.api.status.table_parts import ExactStatistics, StatisticsStatus
from hudi_operator.cli.commands.wait import is_in_state
from hudi_operator.cli.render.cost_sums import cost_document, cost_text, cpu_of_days, first_day, spent, totals
from hudi_operator.cli.render.explanation import Shown, explain_text
from hudi_operator.cli.render.past_runs import entries, event_time, events_text, history_document, history_text
from hudi_operator.cli.render.size_table import size_of, top_text
from hudi_operator.cli.render.status_table import ORDERS, status_text, summary_line
from hudi_operator.cli.render.text import Cell, Tone, as_document, duration, table
from hudi_operator.cli.render.view import TableView

TABLES = [view(name) for name in recorded()]
SHOWN = Shown(now=NOW)


def listing(*, wide: bool = False, colour: bool = False) -> str:
    return status_text(TABLES, now=NOW, namespaces=True, wide=wide, messages=True, colour=colour)


def test_unhealthy_tables_are_those_that_are_not_ready_or_have_a_finding() -> None:
    assert {one.metadata.name for one in TABLES if one.is_unhealthy} == {"blocked", "failing", "quarantined"}
    assert summary_line(TABLES, shown=3) == "5 tables: 3 ready, 3 unhealthy, 1 suspended; 3 shown."


def test_table_that_no_operator_has_observed_is_unhealthy_and_says_why() -> None:
    new = TableView.of({**recorded()["orders"], "status": {}})
    assert new.is_unhealthy
    (line,) = status_text([new], now=NOW, namespaces=False, wide=False, messages=True, colour=False).splitlines()[1:]
    assert "NotObserved" in line
    assert "No operator has observed the table" in line


def test_line_of_an_unhealthy_table_says_why() -> None:
    lines = {line.split()[1]: line for line in listing().splitlines()}
    assert "PathNotAllowed" in lines["blocked"]
    assert "The path is not allowed." in lines["blocked"]
    assert "1 Warning" in lines["quarantined"]
    assert "has quarantined 50 bad rows" in lines["quarantined"]


def test_columns_are_those_of_kubectl() -> None:
    columns = [one.name.upper() for one in TABLE.columns]
    assert re.split(r"  +", listing(wide=True).splitlines()[0]) == ["NAMESPACE", "NAME", *columns]


def test_colours_are_only_on_terminals() -> None:
    assert "\x1b[" not in listing()
    assert "\x1b[31mFalse" in listing(colour=True)


def test_table_without_known_lag_is_sorted_last() -> None:
    assert min(TABLES, key=ORDERS["behind"]).metadata.name == "orders"


def test_explanation_has_the_count_the_reason_and_the_next_run_of_each_service() -> None:
    text = explain_text(view("orders"), SHOWN)
    assert "compaction   2 of 2    yes   ThresholdReached" in text
    assert "2 of 2 delta commits since the last compaction." in text
    assert "WaitingForSchedule   in 3m" in text
    assert "flights-compaction-" in text


def test_explanation_has_the_progress_of_a_long_run_below_its_job() -> None:
    document = recorded()["orders"]
    name = document["status"]["jobs"][0]["name"]
    line = "Compacting: 120 of 480 file groups, about 3m left"
    known = view("orders").status.active_jobs[0].copy_with(progress=line)
    document["status"] = view("orders").status.copy_with(active_jobs=(known,)).to_document()

    lines = explain_text(TableView.of(document), SHOWN).splitlines()

    job = next(number for number, one in enumerate(lines) if one.strip().startswith(name))
    assert lines[job + 1].strip() == line


def test_explanation_has_the_remedy_of_a_finding_and_the_failures_of_a_service() -> None:
    assert "To do: Look at the rows" in explain_text(view("quarantined"), SHOWN)
    assert "Runs in a row: 2 failed." in explain_text(view("failing"), SHOWN)


def test_explanation_of_a_new_spec_says_that_the_status_is_about_an_earlier_one() -> None:
    document = recorded()["orders"]
    document["metadata"]["generation"] = 2
    assert "The operator has not seen the newest spec yet" in explain_text(TableView.of(document), SHOWN)


def test_text_from_outside_cannot_drive_the_terminal() -> None:
    document = recorded()["orders"]
    document["status"]["message"] = "\x1b]0;title\x07"
    document["spec"]["basePath"] = "s3a://lake/\x1b[2J"
    assert "\x1b" not in explain_text(TableView.of(document), SHOWN)
    assert "\x1b" not in table(["A"], [["\x1b[2J"]], colour=False)


def test_table_without_a_status_is_shown_as_not_observed() -> None:
    document = recorded()["orders"]
    del document["status"]
    fresh = TableView.of(document)
    assert "NotObserved" in status_text([fresh], now=NOW, namespaces=False, wide=True, messages=True, colour=False)
    assert "no table yet" in explain_text(fresh, SHOWN)
    assert not is_in_state(fresh, "ready")
    assert not is_in_state(fresh, "idle")


def test_history_has_runs_operations_with_their_requester_and_a_suspension() -> None:
    document = recorded()["orders"]
    document["metadata"]["annotations"] = {SUSPEND_ANNOTATION: "maria: backfill"}
    asked = operation(requestedBy="anna").copy_with(
        status=HudiOperationStatus(
            requested_by="anna", requester_verified=True, finished_at=at(NOW - minutes(5)), message="Restored."
        )
    )
    found = entries(TableView.of(document), [asked])
    assert [one.who for one in found] == ["maria: backfill", "the operator", "anna"]
    text = history_text(found, now=NOW, colour=False)
    assert "Read 20 rows of 1 file." in text
    assert "5m    hop/" in text
    assert json.loads(json.dumps(history_document(found)))[2]["who"] == "anna"


def test_suspension_is_in_the_history_only_if_its_annotation_suspends() -> None:
    document = recorded()["blocked"]
    for value, who in (("true", ["not said"]), (" False ", []), ("maria", ["maria"])):
        document["metadata"]["annotations"] = {SUSPEND_ANNOTATION: value}
        assert [one.who for one in entries(TableView.of(document), []) if one.what == "suspension"] == who


def test_requester_that_nobody_checked_is_marked() -> None:
    (found, *_) = entries(view("blocked"), [operation(requestedBy="anna")])
    assert found.who == "anna (not verified)"


def test_events_are_shown_newest_first_whichever_time_they_have() -> None:
    old = {"type": "Normal", "reason": "Old", "message": "m", "lastTimestamp": at(NOW - minutes(9)), "count": 3}
    new = {"type": "Warning", "reason": "New", "message": "m", "eventTime": "2026-03-10T11:59:00.123456Z"}
    broken = {"reason": "Broken", "lastTimestamp": 5, "series": []}
    lines = events_text([old, broken, new], now=NOW, colour=False).splitlines()
    assert [line.split()[2] for line in lines[1:3]] == ["New", "Old"]
    assert event_time(broken) is None


def test_condition_about_an_earlier_spec_does_not_end_a_wait() -> None:
    ready = view("orders")
    assert is_in_state(ready, "ready")
    assert is_in_state(view("paused"), "suspended")
    assert is_in_state(view("paused"), "idle")
    assert not is_in_state(ready, "idle")
    assert not is_in_state(view("blocked"), "ready")
    document = recorded()["orders"]
    document["metadata"]["generation"] = 2
    assert not is_in_state(TableView.of(document), "ready")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(-5, "0s"), (1, "1s"), (119, "119s"), (120, "2m"), (7199, "119m"), (7200, "2h"), (172800, "2d")],
)
def test_span_is_in_the_largest_unit_that_holds_it_twice(seconds: int, text: str) -> None:
    assert duration(timedelta(seconds=seconds)) == text


def test_documents_are_printed_as_kubectl_prints_them() -> None:
    document = recorded()["orders"]
    assert as_document([document], "name") == "huditable.hudi-operator.io/orders"
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "orders.1"}}
    assert as_document([document, event], "name") == "huditable.hudi-operator.io/orders\nevent/orders.1"
    for text in (as_document([document], "json"), as_document([document], "yaml")):
        assert yaml.safe_load(text) == {"apiVersion": "v1", "kind": "List", "items": [document]}


def test_missing_table_of_cells_has_its_header() -> None:
    assert table(["A", "B"], [], colour=True) == "A   B"
    assert table(["A"], [[Cell("x", Tone.BAD)]], colour=True) == "A\n\x1b[31mx\x1b[0m"


def costing(name: str, *lines: str, service: str = "ingestion") -> TableView:
    one = view(name)
    memory = one.status.services.ingestion.copy_with(costs=lines)
    services = one.status.services.copy_with(**{service: memory})
    return TableView(document=one.document, metadata=one.metadata, status=one.status.copy_with(services=services))


SPENDERS = (
    costing("orders", "2026-03-09 2 3600000 0 1024 0", "2026-03-10 1 1800000 3600000 0 2048"),
    costing("paused", "2026-03-10 4 7200000 0 0 0", "not a line", service="compaction"),
)


def test_costs_are_summed_by_what_was_asked() -> None:
    found = list(spent(SPENDERS, NOW.date() - timedelta(days=1), NOW.date()))
    assert [(one.name, one.runs, one.cpu_milliseconds) for one in totals(found, "table")] == [
        ("team-a/orders", 3, 9_000_000),
        ("team-a/paused", 4, 7_200_000),
    ]
    assert [one.name for one in totals(found, "day")] == ["2026-03-09", "2026-03-10"]
    assert {one.name for one in totals(found, "service")} == {"ingestion", "compaction"}
    text = cost_text(found, "table")
    assert re.split(r"  +", text.splitlines()[-1]) == ["all", "7", "4.50", "1.00", "1.0 KiB", "2.0 KiB"]
    assert cost_document(totals(found, "class"))[0]["name"] == "standard"


def test_days_before_the_first_do_not_count_and_the_dearest_comes_first() -> None:
    assert sum(one.cost.runs for one in spent(SPENDERS, NOW.date(), NOW.date())) == 5
    assert cpu_of_days(SPENDERS[0], NOW, days=1) == 5_400_000


@pytest.mark.parametrize(
    ("text", "day"),
    [("today", "2026-03-10"), ("yesterday", "2026-03-09"), ("7d", "2026-03-04"), ("2026-01-01", "2026-01-01")],
)
def test_first_day_is_read_from_words_numbers_and_dates(text: str, day: str) -> None:
    assert first_day(text, NOW.date()).isoformat() == day


@pytest.mark.parametrize("text", ["0d", "d", "400d", "tomorrow", "2026-13-01"])
def test_day_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".*"):
        first_day(text, NOW.date())


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 B"), (1023, "1023 B"), (1536, "1.5 KiB"), (2**50 * 4096, "4096 PiB")]
)
def test_bytes_are_in_the_largest_unit(number: int, text: str) -> None:
    assert byte_size(number) == text


def test_explanation_names_the_rules_of_the_class_from_the_status_alone() -> None:
    assert "Class: standard: no operations; 10 attempts" in explain_text(view("orders"), SHOWN)


def test_statistics_that_nobody_measured_are_question_marks() -> None:
    exact = ExactStatistics(base_bytes=1000, log_bytes=24, partitions=3)
    known = StatisticsStatus(as_of=ago(5), commits_since=2, size="1Ki", files=4, small_files=1, exact=exact)
    one, other = view("orders"), view("paused")
    measured = TableView(document=one.document, metadata=one.metadata, status=one.status.copy_with(statistics=known))
    lines = top_text([measured, other], now=NOW, namespaces=True).splitlines()
    assert lines[1].split() == ["team-a", "orders", "1Ki", "?", "?", "4", "1", "3", "5m", "2"]
    assert lines[2].split() == ["team-a", "paused", *["?"] * 10]
    assert (size_of(measured), size_of(other)) == (1024, None)
    assert min([other, measured], key=ORDERS["size"]) is measured


def test_wide_message_is_whole_and_that_of_unhealthy_tables_fits_a_line() -> None:
    document = recorded()["failing"]
    long = "The class runs 1 job, which is its limit. " * 6 + "It is used by slow-one."
    for one in document["status"]["conditions"]:
        one["message"] = long

    def shown(*, wide: bool) -> str:
        views = [TableView.of(document)]
        return status_text(views, now=NOW, namespaces=False, wide=wide, messages=True, colour=False)

    assert shown(wide=True).endswith(long)
    assert shown(wide=False).endswith("...")
