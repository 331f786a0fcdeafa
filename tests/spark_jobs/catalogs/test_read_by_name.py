"""Readers find every row of a table before and after each service: Spark by name, hudi-rs and Daft by path."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.docs.pages import read
from tests.spark_jobs.catalogs.conftest import DATABASE, CatalogTrial
from tests.spark_jobs.readers import Reader, Rows, daft_by_path, hudi_rs_rows, spark_by_name
from tests.spark_jobs.trials import ALL, sampled

from hudi_jobs.contract import Outcome, RunMode, Service
from toolkit.streams.metastore import HiveMetastore

pytestmark = [pytest.mark.spark, pytest.mark.slow]

REFUSALS = {
    ("CopyOnWrite", 6): "'hoodie.table.keygenerator.class'",
    ("CopyOnWrite", 9): "Only support table version 5 and 6",
    ("MergeOnRead", 6): "Only support COPY_ON_WRITE table",
    ("MergeOnRead", 9): "Only support COPY_ON_WRITE table",
}
"""The errors of `daft.read_hudi`, which reads no table that Hudi 1 creates."""


def test_page_names_each_error_of_daft() -> None:
    assert [error for error in REFUSALS.values() if error not in read("start/read-it.md")] == []


@pytest.fixture(scope="module")
def reader(
    started_metastore: HiveMetastore, installed_spark: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Reader]:
    """Spark in a session of its own, by the names of entries."""
    with spark_by_name(started_metastore.uri, installed_spark, tmp_path_factory.mktemp("reader")) as started:
        yield started


@pytest.fixture(scope="module")
def daft(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader | None]:
    """Daft by the path of a table; None outside of long trials, because its packages are large."""
    if not ALL:
        yield None
        return
    with daft_by_path(tmp_path_factory.mktemp("daft")) as started:
        yield started


def declare(trial: CatalogTrial, kind: str, version: int) -> Sequence[Service]:
    """Declare a table with services that are always due, and return them in the order of their runs."""
    trial.lake.owner = trial.owner
    trial.lake.table |= {"type": kind, "version": version}
    trial.lake.spec = {
        "tableVersion": version,
        "compaction": {"trigger": {"deltaCommits": 1}},
        "clustering": {"mode": "Async", "trigger": {"commits": 1}, "execution": {"sortColumns": ["id"]}},
        "cleaning": {"retainCommits": 1},
        "archival": {"minCommits": 2, "maxCommits": 3},
    }
    services = (Service.CLUSTERING, Service.CLEANING, Service.ARCHIVAL)
    return (Service.COMPACTION, *services) if kind == "MergeOnRead" else services


@pytest.mark.parametrize(
    ("kind", "version"), sampled(("MergeOnRead", 9), ("CopyOnWrite", 6), ("MergeOnRead", 6), ("CopyOnWrite", 9))
)
def test_every_reader_finds_every_row_before_and_after_each_service(
    trial: CatalogTrial, reader: Reader, daft: Reader | None, kind: str, version: int
) -> None:
    services = declare(trial, kind, version)
    trial.ingest({"id": "1", "v": "a", "day": "mon"})
    trial.ingest({"id": "1", "v": "b", "day": "mon"}, {"id": "2", "v": "c", "day": "tue"})
    entry, merged = f"{DATABASE}.{trial.table}", kind == "MergeOnRead"
    every = [("1", "b", "mon"), ("2", "c", "tue")]
    of_base_files = [("1", "a", "mon"), ("2", "c", "tue")]

    def shows(moment: object, of_base_files: Rows) -> None:
        expected = {"": every, "_rt": every, "_ro": of_base_files} if merged else {"": every}
        assert {suffix: reader.answer(f"{entry}{suffix}") for suffix in expected} == expected, moment
        assert hudi_rs_rows(trial.lake.base_path) == every, moment
        assert hudi_rs_rows(trial.lake.base_path, read_optimized=True) == (of_base_files if merged else every), moment
        if daft is not None:
            rows, refusal = daft.answer(trial.lake.base_path)
            assert rows == every, moment
            assert refusal == REFUSALS[kind, version], moment

    shows("after two commits", of_base_files)
    for service in services:
        planned = service in {Service.COMPACTION, Service.CLUSTERING}
        result = trial.lake.serve(service, **({"mode": RunMode.SCHEDULE_AND_EXECUTE} if planned else {}))
        assert result.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, result
        assert not planned or result.outcome is Outcome.SUCCEEDED, result
        shows(service, every)
    trial.ingest({"id": "3", "v": "d", "day": "wed"})
    every.append(("3", "d", "wed"))
    shows("after a commit of a new partition", every)
