"""Tables of other tools, taken over: every row is right for every reader, or a reason is told and nothing starts."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hudi import HudiTableBuilder
from pyspark.sql import SparkSession
from tests.matrix.cases import MatrixCase, chosen
from tests.matrix.foreign import COLUMNS, Foreign
from tests.matrix.managed import Managed, busy
from tests.planning.operations.deciding import decision

from hudi_jobs.contract import Location
from hudi_operator.adoption.draft import draft_of
from hudi_operator.adoption.evidence import read_evidence
from hudi_operator.adoption.text import document
from hudi_operator.storage.local import LocalFileSystem
from toolkit.writers import Writer

pytestmark = [pytest.mark.spark, pytest.mark.matrix]


@pytest.mark.parametrize("case", chosen(), ids=str)
def test_a_table_of_another_tool_keeps_every_row(
    case: MatrixCase, writer_of: Callable[[str, str], Writer], spark: SparkSession, tmp_path: Path
) -> None:
    with recorded(case) as outcome:
        foreign = Foreign(case, writer_of(case.version, case.zone), tmp_path / "lake" / "flights")
        foreign.make()
        managed = manage(foreign, spark, tmp_path / "in")
        before, late = foreign.read(), foreign.late_rows()
        expect(foreign, before, late)
        # It does not read every table; where it read this one before, it reads it afterwards.
        native = natively(foreign.path) == before
        if case.state == "live-write":
            live_through(managed, foreign)

        kept, told = dict(foreign.rows), ""
        put(managed, foreign, tmp_path / "in", "first.csv", "k0", "k10")
        if refusal := managed.run_until_settled():
            told = f"refused: {refusal}"
            foreign.rows = kept
            managed.stop_ingesting()
            if managed.run_until_settled():
                outcome["outcome"] = told
                return
        else:
            put(managed, foreign, tmp_path / "in", "second.csv", "k1", "k11")
            assert not managed.run_until_settled()
        everyone_reads(foreign, spark, late, native=native)

        foreign.work_again()
        # Records of a metadata table that two releases have written may differ by a field: hudi-rs refuses those.
        still = native and natively(foreign.path) is not None
        everyone_reads(foreign, spark, late, native=still)
        told = f"exact without ingestion: {told}" if told else "exact"
        outcome["outcome"] = told if still else f"{told}; {'in the end ' if native else ''}without hudi-rs"


def manage(foreign: Foreign, spark: SparkSession, source: Path) -> Managed:
    """Manage the table by the resource that `hudi-operator adopt` writes, but with services that find work."""
    source.mkdir()
    base_path = f"file://{foreign.path}"
    draft = draft_of(read_evidence(LocalFileSystem(), Location.parse(str(foreign.path)), base_path=base_path), taken=())
    spec = {**document(draft.entries)["spec"], **busy(source, kind=foreign.case.kind, columns=COLUMNS)}
    return Managed(spark, spec)


def put(managed: Managed, foreign: Foreign, source: Path, name: str, *keys: str) -> None:
    (source / name).write_text(foreign.ingested(*keys))
    managed.wait(hours=25)


def live_through(managed: Managed, foreign: Foreign) -> None:
    """A write that lives is left alone for as long as the operator cannot know better, and then commits.

    Where the operator takes that commit for one of a writer that continues, a person says that it was the last.
    """
    for _ in range(5):
        managed.step()
        managed.wait(seconds=20)
    assert not managed.ran
    foreign.finish()
    newest = foreign.writer.completed(foreign.path, "commit", "deltacommit")[-1]
    managed.decisions.append(decision(acceptCommits={"upTo": newest}))


def everyone_reads(foreign: Foreign, spark: SparkSession, late: list[tuple[Any, ...]], *, native: bool) -> None:
    """Every reader finds the rows, and for the key of the late row what the writing release found before."""
    expect(foreign, foreign.read(), late)
    expect(foreign, foreign.writer.rows(foreign.path, "id", "word", metadata_table=False), late)
    for metadata_table in (True, False):
        expect(foreign, newest(spark, foreign.path, metadata_table=metadata_table), late)
    if native:
        rows = natively(foreign.path)
        assert rows is not None
        expect(foreign, rows, late)


def natively(path: Path) -> list[tuple[Any, ...]] | None:
    """Read as hudi-rs does, which shares no code with the other readers; None where it does not read the table."""
    try:
        batches = HudiTableBuilder.from_base_uri(str(path)).build().read()
        rows = pa.Table.from_batches(batches).select(["id", "word"]).to_pylist()
    except Exception:  # noqa: BLE001 - its exceptions have no class of their own
        return None
    return sorted((row["id"], row["word"]) for row in rows)


def newest(spark: SparkSession, path: Path, *, metadata_table: bool) -> list[tuple[Any, ...]]:
    reader = spark.newSession().read.format("hudi").option("hoodie.metadata.enable", str(metadata_table).lower())
    return sorted(tuple(row) for row in reader.load(str(path)).select("id", "word").collect())


def expect(foreign: Foreign, found: list[tuple[Any, ...]], late: list[tuple[Any, ...]]) -> None:
    expected = {**foreign.rows, **dict(late)}
    assert found == sorted(expected.items())


@contextmanager
def recorded(case: MatrixCase) -> Iterator[dict[str, str]]:
    """Add what came of a case to the file that MATRIX_RESULTS names, from which the table in the docs is made."""
    began, outcome = time.monotonic(), {"outcome": "failed"}
    try:
        yield outcome
    except BaseException as error:
        outcome["outcome"] = f"failed: {type(error).__name__}: {str(error)[:2000]}"
        raise
    finally:
        if results := os.environ.get("MATRIX_RESULTS"):
            with Path(results).open("a") as file:
                line = {"case": str(case), **outcome, "seconds": round(time.monotonic() - began)}
                print(json.dumps(line), file=file)
