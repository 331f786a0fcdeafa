"""The statistics in the status of a table: rounded, exact in its memory, and absent while unknown."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.planning.world import NOW, ago, at, done, observe, snapshot, status, status_of, story, table
from tests.samples import examples

from hudi_jobs.contract.statistics import DaySize, Figures, TableStatistics
from hudi_operator.api.crd.definitions import structural_schema
from hudi_operator.api.status.table_parts import StatisticsStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.planning.model import TimelineSnapshot, TimelineTrouble

MIB = 2**20
LIMIT = 100 * MIB
STORY = story(done("deltacommit", 9), done("deltacommit", 5), done("rollback", 3), done("deltacommit", 1))
FIGURES = Figures(
    base_files=120,
    base_bytes=1200 * MIB,
    small_files=30,
    log_files=12,
    log_bytes=90 * MIB,
    partitions=4,
    largest_partition=645 * MIB,
    rows=12_345_678,
    oldest=ago(9),
    newest=ago(1),
)
WEEK = (
    DaySize(at=NOW - timedelta(days=4), total_bytes=1000 * MIB),
    DaySize(at=NOW, total_bytes=1290 * MIB),
)


def document(**changes: Any) -> TableStatistics:
    fields: dict[str, Any] = {
        "as_of": max(one.completion for one in STORY.completed),
        "table_version": STORY.properties.version,
        "small_file_limit": LIMIT,
        "written_at": NOW,
        "seconds": 1.0,
        "figures": FIGURES,
        "sizes": WEEK,
    }
    return TableStatistics.model_validate(fields | changes)


def read(**changes: Any) -> TimelineSnapshot:
    return snapshot(timeline=STORY, statistics=document(**changes))


def shown(found: TimelineSnapshot, **spec: Any) -> StatisticsStatus | None:
    return status_of(observe(table(type="MergeOnRead", **spec), snapshot=found)).statistics


def figures(found: TimelineSnapshot, **spec: Any) -> StatisticsStatus:
    statistics = shown(found, **spec)
    assert statistics is not None
    return statistics


def test_statistics_are_rounded_for_people_and_exact_in_the_memory() -> None:
    found = figures(read())
    assert found.model_dump(exclude={"exact", "as_of"}, exclude_defaults=True) == {
        "rows": "12.3M",
        "size": "1.26Gi",
        "growth_per_day": "72.5Mi",
        "files": 120,
        "small_files": 30,
        "log_ratio": "0.075",
        "partition_skew": "2",
    }
    assert found.exact is not None
    assert (found.exact.rows, found.exact.log_bytes) == (12_345_678, 90 * MIB)
    document = status_of(observe(table(type="MergeOnRead"), snapshot=read())).to_document()
    assert "exact" not in document["statistics"]
    assert "12345678" in document["memory"]["statistics"]
    assert len(yaml.safe_dump({"statistics": document["statistics"]}).splitlines()) <= 9
    jsonschema.validate(document, structural_schema(HudiTableStatus))
    assert HudiTableStatus.model_validate(document).statistics == found


def test_statistics_are_absent_until_a_run_has_measured_the_table() -> None:
    assert shown(snapshot(timeline=STORY)) is None
    assert "statistics" not in status_of(observe(snapshot=snapshot(timeline=STORY))).to_document()


def test_commits_and_rollbacks_after_the_document_are_counted() -> None:
    assert figures(read()).commits_since == 0
    second = sorted(one.completion for one in STORY.completed)[1]
    assert figures(read(as_of=second)).commits_since == 2


def test_figures_that_the_document_lacks_are_absent() -> None:
    bare = FIGURES.copy_with(rows=None, partitions=1, base_bytes=0, log_bytes=0, base_files=0)
    found = figures(read(figures=bare, sizes=()))
    assert (found.rows, found.growth_per_day, found.partition_skew, found.log_ratio) == (None, None, None, None)
    assert (found.size, found.files) == ("0", 0)
    unknown = figures(read(figures=None))
    assert unknown.model_dump(exclude_defaults=True) == {"as_of": document().as_of}


def test_small_files_are_unknown_once_the_limit_has_changed() -> None:
    assert figures(read(), fileSizing={"smallFileLimit": "50Mi"}).small_files is None
    assert figures(read(), clustering={"mode": "Async", "plan": {"smallFileLimit": "100Mi"}}).small_files == 30


def test_shrinking_table_has_a_negative_growth() -> None:
    sizes = (WEEK[0].copy_with(total_bytes=2000 * MIB), WEEK[1])
    assert figures(read(sizes=sizes)).growth_per_day == "-178Mi"


def test_copy_on_write_table_has_no_ratio_of_logs() -> None:
    properties = replace(STORY.properties, table_type=type(STORY.properties.table_type).COPY_ON_WRITE)
    found = replace(read(), timeline=replace(STORY, properties=properties))
    assert figures(found).log_ratio is None


def test_statistics_stay_while_the_store_does_not_answer() -> None:
    before = status_of(observe(table(type="MergeOnRead"), snapshot=read()))
    silent = TimelineSnapshot(trouble=TimelineTrouble.UNREACHABLE, message="The store does not answer.")
    after = status_of(observe(table(type="MergeOnRead", status=before), snapshot=silent))
    assert after.stale_since is not None
    assert after.statistics == before.statistics


def test_statistics_go_with_a_table_that_is_gone() -> None:
    before = status(statistics=StatisticsStatus(as_of=at(NOW)))
    assert status_of(observe(table(status=before), snapshot=TimelineSnapshot())).statistics is None


@pytest.mark.parametrize(
    ("number", "text"),
    [(0, "0"), (999, "999"), (1023, "1020"), (1024, "1Ki"), (1_234_567, "1.18Mi"), (2**53, "8Pi"), (-(2**53), "-8Pi")],
)
def test_sizes_have_three_digits(number: int, text: str) -> None:
    first, last = (number, 0) if number < 0 else (0, number)
    sizes = (
        DaySize(at=NOW - timedelta(days=1), total_bytes=abs(first)),
        DaySize(at=NOW, total_bytes=last),
    )
    assert figures(read(sizes=sizes)).growth_per_day == text


@settings(max_examples=examples(40), deadline=None)
@given(st.data())
def test_no_document_makes_a_status_that_the_api_server_refuses(data: st.DataObject) -> None:
    number = st.integers(0, 2**53)
    numbers = {name: data.draw(number) for name in Figures.model_fields if name not in {"oldest", "newest"}}
    sizes = tuple(DaySize(at=NOW - timedelta(days=day), total_bytes=data.draw(number)) for day in (3, 0))
    found = figures(read(figures=Figures(**numbers, oldest="9" * 32, newest="9" * 32), sizes=sizes))
    written = found.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    jsonschema.validate(
        {key: value for key, value in written.items() if key != "exact"},
        structural_schema(HudiTableStatus)["properties"]["statistics"],
    )
