"""Every change of a column's type that the gate accepts, written by the driver and read back by Hudi."""

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from tests.spark_jobs.trials import ALL, sampled

from hudi_jobs.contract import FailureReason, Outcome, RunMode, Service, TaskResult

pytestmark = pytest.mark.spark

PARQUET = {"files": {"format": "parquet", "options": {}}}


@dataclass(frozen=True)
class Change:
    """The type that a column has in the table, the one that comes in, and texts of values of the narrower one."""

    table: str
    incoming: str
    texts: tuple[str, str, str]

    @property
    def widens(self) -> bool:
        """Whether the table's own type changes, which is accepted for whole columns only."""
        return self in WIDER

    def columns(self, name: str, kind: str, text: str | None) -> list[str]:
        value = "NULL" if text is None else f"'{text}'"
        value = f"CAST({value} AS {kind})"
        # Hudi 1.2.0 cannot merge a base file that has an array with a null in it (`write-old-list-structure`).
        array = f"filter(array({value}), each -> each IS NOT NULL) AS a{name}"
        nested = [f"named_struct('f', {value}) AS s{name}", array, f"map('k', {value}) AS m{name}"]
        return [f"{value} AS c{name}", *([] if self.widens else nested)]

    def value(self, text: str | None) -> Any:
        if text is None:
            return None
        kind = {"decimal": Decimal, "float": float, "double": float}.get(self.table.partition("(")[0], int)
        return kind(text)


def decimals(table: tuple[int, int], incoming: tuple[int, int]) -> Change:
    precision, scale = min(table, incoming)
    full = "9" * precision
    texts = (
        (full[: precision - scale] + "." + full[precision - scale :], "-1.2", "0.1") if scale else (full, "-12", "0")
    )
    return Change("decimal({},{})".format(*table), "decimal({},{})".format(*incoming), texts)


INTEGERS = ("2147483647", "-2147483648", "7")
FLOATS = ("1.1", "-0.1", "16777216")
# Parquet and Avro hold decimals of up to 9 and 18 digits, and more, in other ways, and FIXED grows with the digits.
STEPS = range(2, 38) if ALL else (9, 18)
WIDER = [
    Change("int", "bigint", INTEGERS),
    Change("float", "double", FLOATS),
    *(decimals((digits, 2), (digits + 1, 2)) for digits in STEPS if digits > 2),
    decimals((8, 2), (20, 2)),
    decimals((18, 0), (38, 0)),
]
NARROWER = [
    Change("bigint", "int", INTEGERS),
    Change("bigint", "smallint", ("32767", "-32768", "7")),
    Change("double", "float", FLOATS),
    *(decimals((digits + 1, 2), (digits, 2)) for digits in STEPS if digits > 2),
    *(decimals((digits + 1, 3), (digits, 2)) for digits in STEPS if digits > 2),
    decimals((14, 4), (12, 2)),
    decimals((20, 4), (10, 2)),
]


class Rows:
    """Rows of a table with one column for each change, and what the table is to hold."""

    def __init__(self, lake: Any, changes: list[Change]) -> None:
        self._lake = lake
        self._changes = changes
        self._files = 0
        self.expected: dict[int, tuple[Any, ...]] = {}

    def put(self, *ids: int, partition: str, incoming: bool, shift: int = 0) -> TaskResult:
        """Ingest rows of the table's first types, or of those that come in later."""
        frames = []
        for number in ids:
            texts = [(*change.texts, None)[(number + shift) % 4] for change in self._changes]
            columns = [f"{number} AS id", f"'{partition}' AS part"]
            for index, (change, text) in enumerate(zip(self._changes, texts, strict=True)):
                columns += change.columns(str(index), change.incoming if incoming else change.table, text)
            frames.append(self._lake.spark.range(1).selectExpr(*columns))
            values = [change.value(text) for change, text in zip(self._changes, texts, strict=True)]
            self.expected[number] = tuple(values)
        self._files += 1
        for index, frame in enumerate(frames):
            frame.coalesce(1).write.parquet(f"{self._lake.folder}/in/{self._files}-{index}")
        result: TaskResult = self._lake.ingest(**PARQUET)
        assert result.outcome is Outcome.SUCCEEDED, result
        return result

    def require_right(self) -> None:
        """Compare every column of every row, nested ones as well, with what was written."""
        found = self._lake.spark.newSession().read.format("hudi").load(self._lake.base_path).collect()
        assert sorted(row["id"] for row in found) == sorted(self.expected)
        for row in found:
            for index, change in enumerate(self._changes):
                expected = self.expected[row["id"]][index]
                what = f"{change.table} <- {change.incoming} in row {row['id']}"
                assert row[f"c{index}"] == expected, what
                if not change.widens:
                    assert (row[f"s{index}"]["f"], row[f"m{index}"]["k"]) == (expected, expected), what
                    assert row[f"a{index}"] == ([] if expected is None else [expected]), what


@pytest.mark.parametrize("table_type", sampled("CopyOnWrite", "MergeOnRead"))
@pytest.mark.parametrize("changes", [WIDER, NARROWER])
def test_every_accepted_change_of_type_keeps_every_value(lake: Any, changes: list[Change], table_type: str) -> None:
    lake.table = {"type": table_type, "partitionBy": ["part"]}
    rows = Rows(lake, changes)
    rows.put(1, 2, 3, partition="x", incoming=False)
    rows.put(5, 6, partition="y", incoming=False)
    rows.put(2, partition="x", incoming=False, shift=1)
    rows.put(3, 4, partition="x", incoming=True, shift=1)
    rows.require_right()
    if table_type == "MergeOnRead":
        compacted = lake.serve(Service.COMPACTION, mode=RunMode.SCHEDULE_AND_EXECUTE)
        assert compacted.outcome in {Outcome.SUCCEEDED, Outcome.NOTHING_TO_DO}, compacted
        rows.require_right()
    rows.put(6, 7, partition="y", incoming=True, shift=2)
    rows.put(1, 8, partition="x", incoming=False, shift=2)
    rows.require_right()


def test_a_decimal_of_another_scale_is_refused_and_writes_nothing(lake: Any) -> None:
    source = lake.spark.range(1).selectExpr("1 AS id", "CAST('123.45' AS decimal(12,2)) AS v")
    source.coalesce(1).write.parquet(f"{lake.folder}/in/a")
    assert lake.ingest(**PARQUET).outcome is Outcome.SUCCEEDED
    before = lake.instants()
    source = lake.spark.range(1).selectExpr("2 AS id", "CAST('1.2345' AS decimal(14,4)) AS v")
    source.coalesce(1).write.parquet(f"{lake.folder}/in/b")

    refused = lake.ingest(**PARQUET)

    assert refused.reason is FailureReason.SCHEMA_INCOMPATIBLE
    assert "v is decimal(12,2) in the table and decimal(14,4) in the input" in refused.message
    assert lake.instants() == before
    assert lake.rows() == [(1, Decimal("123.45"))]


@pytest.mark.parametrize("operation", ["Upsert", "Delete"])
def test_a_key_of_another_type_is_refused_and_writes_nothing(lake: Any, operation: str) -> None:
    source = lake.spark.range(1).selectExpr("CAST('1.1' AS float) AS id", "1 AS v")
    source.coalesce(1).write.parquet(f"{lake.folder}/in/a")
    assert lake.ingest(**PARQUET).outcome is Outcome.SUCCEEDED
    before = lake.instants()
    source = lake.spark.range(1).selectExpr("CAST('1.1' AS double) AS id", "2 AS v")
    source.coalesce(1).write.parquet(f"{lake.folder}/in/b")

    refused = lake.ingest(**PARQUET, operation=operation)

    assert refused.reason is FailureReason.SCHEMA_INCOMPATIBLE
    assert "id is float in the table and double in the input" in refused.message
    assert lake.instants() == before


def test_a_narrower_integer_key_is_the_same_key(lake: Any) -> None:
    for name, kind, value in (("a", "bigint", 1), ("b", "int", 2)):
        source = lake.spark.range(1).selectExpr(f"CAST(7 AS {kind}) AS id", f"CAST(3 AS {kind}) AS p", f"{value} AS v")
        source.coalesce(1).write.parquet(f"{lake.folder}/in/{name}")
        lake.table = {"partitionBy": ["p"]}
        assert lake.ingest(**PARQUET).outcome is Outcome.SUCCEEDED
    assert lake.rows("id", "p", "v") == [(7, 3, 2)]


def test_a_delete_leaves_the_types_of_the_table_alone(lake: Any) -> None:
    for name, value, operation in (("a", "1.5", "Upsert"), ("b", "'x'", "Delete")):
        source = lake.spark.range(2 if name == "a" else 1).selectExpr("id", f"{value} AS v", "'extra' AS w")
        source = source if name == "b" else source.drop("w")
        source.coalesce(1).write.parquet(f"{lake.folder}/in/{name}")
        assert lake.ingest(**PARQUET, operation=operation).outcome is Outcome.SUCCEEDED
    assert lake.rows() == [(1, Decimal("1.5"))]
    source = lake.spark.range(3, 4).selectExpr("id", "2.5 AS v")
    source.coalesce(1).write.parquet(f"{lake.folder}/in/c")
    assert lake.ingest(**PARQUET).outcome is Outcome.SUCCEEDED
    assert lake.rows() == [(1, Decimal("1.5")), (3, Decimal("2.5"))]
