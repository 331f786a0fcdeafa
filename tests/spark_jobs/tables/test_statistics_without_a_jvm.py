"""How file slices are summed up, and what a document of statistics may hold."""

import json
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hudi_jobs.contract import OPERATOR_FILE_LIMIT
from hudi_jobs.contract.statistics import (
    MOST_SIZES,
    DaySize,
    Figures,
    TableStatistics,
    decode_statistics,
    encode_statistics,
    sizes_with,
)
from hudi_jobs.statistics.file_sizes import Slice, Sums, decode_rows, digest, encode_rows, read_rows, read_slices
from hudi_jobs.statistics.renewal import RepeatedRenewal

NOW = datetime(2026, 3, 10, 12, tzinfo=UTC)
DAY = timedelta(days=1)
FIGURES = Figures(
    base_files=4, base_bytes=400, small_files=1, log_files=2, log_bytes=100, partitions=2, largest_partition=400
)


def document(**changes: object) -> TableStatistics:
    fields: dict[str, object] = {
        "as_of": "20260310120000000",
        "table_version": 9,
        "small_file_limit": 100,
        "written_at": NOW,
        "seconds": 0.5,
        "figures": FIGURES,
    }
    return TableStatistics.model_validate(fields | changes)


def base(path: str, size: int, *, instant: str = "2", logs: int = 0) -> Slice:
    return Slice(instant=instant, path=path, base_bytes=size, log_files=logs, log_bytes=10 * logs)


def test_sums_count_small_files_logs_and_the_largest_partition() -> None:
    sums = Sums(small_file_limit=100)
    sums.add([base("a/1", 99), base("a/2", 100, instant="1", logs=2)])
    sums.add([Slice(instant="3", path=None, base_bytes=0, log_files=1, log_bytes=1)])
    sums.add([])
    found = sums.figures({digest("a/1"): 7, digest("a/2"): 5}, "3")
    assert found == Figures(
        base_files=2,
        base_bytes=199,
        small_files=1,
        log_files=3,
        log_bytes=21,
        partitions=2,
        largest_partition=219,
        rows=12,
        oldest="1",
        newest="3",
    )


def test_rows_are_unknown_while_those_of_one_base_file_are() -> None:
    sums = Sums(small_file_limit=0)
    sums.add([base("1", 1, instant="4"), base("2", 1, instant="5")])
    assert sums.figures({digest("1"): 7}, None).rows is None
    assert sums.unknown({digest("1"): 7}) == {"5"}


def test_ratio_and_skew_are_unknown_without_files() -> None:
    empty = Sums(small_file_limit=0).figures({}, None)
    assert (empty.rows, empty.log_ratio, empty.skew) == (0, None, None)
    assert (FIGURES.log_ratio, FIGURES.skew) == (0.25, 1.6)


def test_slices_and_rows_are_read_from_hudis_own_json() -> None:
    group = {"partitionPath": "p=ü/q", "fileId": "f"}
    log = {"fileSize": 5}
    slices = [
        {"fileGroupId": group, "baseInstantTime": "1", "baseFile": {"fileName": "f.parquet", "fileSize": 9}}
        | {"logFiles": [log, log]},
        {"fileGroupId": group, "baseInstantTime": "2", "baseFile": None, "logFiles": [{"fileSize": -1}]},
    ]
    assert read_slices(json.dumps(slices)) == [
        Slice(instant="1", path="p=ü/q/f.parquet", base_bytes=9, log_files=2, log_bytes=10),
        Slice(instant="2", path=None, base_bytes=0, log_files=1, log_bytes=0),
    ]
    written = [{"path": "p=ü/q/f.parquet", "numWrites": 3}, {"path": None, "numWrites": 1}]
    assert read_rows(json.dumps(written)) == {digest("p=ü/q/f.parquet"): 3}


@given(st.dictionaries(st.integers(0, 2**64 - 1), st.integers(0, 2**53), max_size=20))
def test_stored_rows_are_read_as_they_were_written(rows: dict[int, int]) -> None:
    assert decode_rows(encode_rows(rows)) == rows


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"[" * 100_000,
        b"[]",
        b'{"version": 2, "rows": []}',
        b'{"version": 1, "rows": {}}',
        b'{"version": 1, "rows": [1, -1]}',
        b'{"version": 1, "rows": [1, true]}',
        b'{"version": 1, "rows": [1, 1e400]}',
        b'{"version": 1, "rows": [' + b"1" * 5000 + b", 1]}",
        b"\xff",
    ],
)
def test_damaged_rows_count_as_unknown(content: bytes) -> None:
    assert decode_rows(content) == {}


def test_size_of_a_day_is_the_last_one_and_a_week_is_kept() -> None:
    sizes: tuple[DaySize, ...] = ()
    for hour in range(0, 24 * 20, 6):
        sizes = sizes_with(sizes, hour, NOW + timedelta(hours=hour))
    assert len(sizes) == MOST_SIZES
    assert [one.at for one in sizes] == sorted(one.at for one in sizes)
    assert document(sizes=sizes).growth_per_day == 24


def test_growth_is_unknown_before_a_day_and_negative_after_a_loss() -> None:
    first = DaySize(at=NOW, total_bytes=100)
    assert document().growth_per_day is None
    assert document(sizes=(first, DaySize(at=NOW + 0.9 * DAY, total_bytes=9))).growth_per_day is None
    assert document(sizes=(first, DaySize(at=NOW + 2 * DAY, total_bytes=50))).growth_per_day == -25


def test_size_from_the_future_is_dropped() -> None:
    future = DaySize(at=NOW + 3 * DAY, total_bytes=1)
    assert sizes_with((future,), 5, NOW) == (DaySize(at=NOW, total_bytes=5),)


@given(st.data())
def test_document_is_read_as_it_was_written_and_fits(data: st.DataObject) -> None:
    number = st.integers(0, 2**53)
    numbers = {name: data.draw(number) for name in Figures.model_fields if name not in {"oldest", "newest"}}
    shown = Figures(**numbers, oldest="9" * 32, newest="9" * 32)
    sizes = tuple(DaySize(at=NOW, total_bytes=data.draw(number)) for _ in range(MOST_SIZES))
    written = document(figures=shown, sizes=sizes)
    content = encode_statistics(written)
    assert decode_statistics(content) == written
    assert len(content) < OPERATOR_FILE_LIMIT / 4


@pytest.mark.parametrize(
    "changes",
    [
        {"asOf": "x" * 40},
        {"asOf": ""},
        {"version": 2},
        {"seconds": -1},
        {"seconds": "NaN"},
        {"writtenAt": "2026-03-10T12:00:00"},
        {"figures": {"baseFiles": 2**60}},
        {"figures": json.loads(FIGURES.model_dump_json(by_alias=True)) | {"rows": -1}},
        {"sizes": [{"at": "2026-03-10T12:00:00Z", "totalBytes": 1}] * (MOST_SIZES + 1)},
    ],
)
def test_document_of_another_shape_is_none(changes: dict[str, object]) -> None:
    content = json.loads(encode_statistics(document()))
    assert decode_statistics(json.dumps(content).encode()) is not None
    assert decode_statistics(json.dumps(content | changes).encode()) is None


@given(st.binary(max_size=200))
def test_no_content_raises(content: bytes) -> None:
    assert decode_statistics(content) is None
    assert decode_rows(content) == {} or content.startswith(b"{")


class Renewals:
    """A run whose renewals take a second of its time each."""

    def __init__(self, *waits: float | None) -> None:
        self.now = 0.0
        self.number = 0
        self._waits = list(waits)

    def renew(self) -> float | None:
        self.now += 1
        self.number += 1
        return self._waits.pop(0) if self._waits else None

    def repeated(self) -> RepeatedRenewal:
        return RepeatedRenewal(self.renew, clock=lambda: self.now)


def test_renewals_of_a_busy_run_take_a_tenth_of_its_time() -> None:
    run = Renewals()
    repeated = run.repeated()
    while run.now < 1000:
        repeated.committed()
        run.now += 0.5
    assert 0.08 < run.number / run.now < 0.1


def test_last_commit_is_measured_while_the_run_waits() -> None:
    run = Renewals()
    repeated = run.repeated()
    repeated.committed()
    repeated.committed()
    assert run.number == 1
    run.now += 9
    repeated.renew_if_due()
    assert run.number == 1
    run.now += 2
    repeated.renew_if_due()
    repeated.renew_if_due()
    assert run.number == 2
    run.now += 1000
    repeated.renew_if_due()
    assert run.number == 2


def test_statistics_that_are_not_due_are_tried_again_when_they_are() -> None:
    run = Renewals(60.0, None)
    repeated = run.repeated()
    repeated.committed()
    run.now += 59
    repeated.renew_if_due()
    assert run.number == 1
    run.now += 1
    repeated.renew_if_due()
    assert run.number == 2
