"""Which columns a batch has by its own schemas alone, and which refusal counts: values, without a JVM."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql.types import (
    ArrayType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from hudi_jobs.contract import FailureReason
from hudi_jobs.ingestion import row_checks
from hudi_jobs.ingestion.row_checks import RowChecks
from hudi_jobs.ingestion.sources.kafka.formats.shapes import as_written, left_out, possible
from hudi_jobs.spark.failures import TaskFailed

INT, LONG, TEXT = IntegerType(), LongType(), StringType()


def row(**kinds: DataType) -> StructType:
    return StructType([StructField(name, kind) for name, kind in kinds.items()])


@pytest.mark.parametrize(
    ("newest", "batch", "table", "expected"),
    [
        # What messages have keeps the type that they were written with, also where the newest one is wider.
        (row(id=LONG), row(id=INT), row(id=INT), row(id=INT)),
        (row(id=TEXT), row(id=INT), row(id=TEXT), row(id=INT)),
        # Of the newest schema's further columns those stay that the table has, as it has them.
        (row(id=INT, flag=TEXT), row(id=INT), row(id=INT, flag=INT), row(id=INT, flag=INT)),
        (row(id=INT, flag=TEXT), row(id=INT), row(id=INT), row(id=INT)),
        (row(id=INT, flag=TEXT), row(id=INT), row(), row(id=INT)),
        # A column that neither schema has stays missing, and is refused as ever.
        (row(id=INT), row(id=INT), row(id=INT, flag=INT), row(id=INT)),
        (row(id=INT), row(id=INT, old=TEXT), row(id=INT, old=TEXT), row(id=INT, old=TEXT)),
        (row(flag=TEXT, id=INT), row(id=INT, flag=INT), row(), row(flag=INT, id=INT)),
        # So it is in parts of columns.
        (
            row(a=row(x=LONG, y=TEXT, z=TEXT)),
            row(a=row(x=INT)),
            row(a=row(x=INT, y=INT)),
            row(a=row(x=INT, y=INT)),
        ),
        (row(a=row(y=TEXT)), row(a=row(x=INT)), row(a=INT), row(a=row(x=INT))),
        (
            row(a=ArrayType(row(x=LONG, y=TEXT))),
            row(a=ArrayType(row(x=INT))),
            row(a=ArrayType(row(x=INT, y=INT))),
            row(a=ArrayType(row(y=INT, x=INT))),
        ),
        (
            row(a=MapType(TEXT, row(x=LONG, y=TEXT))),
            row(a=MapType(TEXT, row(x=INT))),
            row(),
            row(a=MapType(TEXT, row(x=INT))),
        ),
    ],
)
def test_a_batch_has_the_columns_of_its_own_schemas_and_those_that_the_table_has_too(
    newest: StructType, batch: StructType, table: StructType, expected: StructType
) -> None:
    found = as_written(newest, batch, table)
    assert _unordered(found) == _unordered(expected)


def _unordered(kind: DataType) -> Any:
    if isinstance(kind, StructType):
        return {field.name: _unordered(field.dataType) for field in kind.fields}
    if isinstance(kind, ArrayType):
        return [_unordered(kind.elementType)]
    if isinstance(kind, MapType):
        return (_unordered(kind.keyType), _unordered(kind.valueType))
    return kind.simpleString()


@pytest.mark.parametrize(
    ("newest", "batch", "expected"),
    [
        (["id", "more"], ["id"], ["id", "more"]),
        # For Spark they are one column, and messages have the other spelling.
        (["Id", "more"], ["id"], ["more"]),
        (["id", "more", "More"], ["id"], ["id", "more"]),
        # The driver's own names, and those of columns of the message.
        (["id", "_hoodie_is_deleted", "OFFSET"], ["id"], ["id"]),
        # What messages have is refused elsewhere, and not passed over.
        (["id", "offset", "Id"], ["id", "offset", "Id"], ["id", "offset", "Id"]),
        (["id", "offset"], [], ["id", "offset"]),
    ],
)
def test_names_that_only_a_registered_schema_has_and_no_table_can_have_are_left_out(
    newest: list[str], batch: list[str], expected: list[str]
) -> None:
    registered = row(**dict.fromkeys(newest, INT))
    kept = possible(registered, row(**dict.fromkeys(batch, INT)), {"_hoodie_is_deleted", "offset"})
    assert kept.fieldNames() == expected
    said = left_out(registered, kept)
    assert all(name in said for name in newest if name not in expected)
    assert bool(said) == (newest != expected)
    assert len(left_out(row(**{f"{n}{'x' * 9000}": INT for n in range(9)}), kept)) < 600


def failed(reason: FailureReason, message: str) -> TaskFailed:
    return TaskFailed(reason, message)


INCOMPATIBLE, INVALID = FailureReason.SCHEMA_INCOMPATIBLE, FailureReason.TRANSFORM_INVALID
MISSING = FailureReason.COLUMN_MISSING


@pytest.mark.parametrize(
    ("first", "others", "expected"),
    [
        (None, [], ""),
        # It fits without the schema that no message was written with.
        (failed(INCOMPATIBLE, "newest"), [None], "newest"),
        (failed(INVALID, "newest"), [failed(INVALID, "with"), None], "newest"),
        # The messages do not fit themselves.
        (failed(INCOMPATIBLE, "newest"), [failed(INCOMPATIBLE, "messages")], failed(INCOMPATIBLE, "messages")),
        # Without the newest schema it is worse.
        (failed(INVALID, "newest"), [failed(INVALID, "with"), failed(MISSING, "without")], failed(INVALID, "newest")),
        # No schema is the cause.
        (failed(MISSING, "lacks"), [None], failed(MISSING, "lacks")),
        (failed(FailureReason.BAD_RECORDS, "bad"), [None], failed(FailureReason.BAD_RECORDS, "bad")),
    ],
)
def test_a_schema_that_no_message_was_written_with_is_left_out_where_that_helps(
    monkeypatch: pytest.MonkeyPatch, first: TaskFailed | None, others: list[TaskFailed | None], expected: Any
) -> None:
    answers, known = iter([first, *others]), list[StructType]()

    def conformed(_: RowChecks, rows: Any) -> Any:
        answer = next(answers)
        if answer is not None:
            raise answer
        return row_checks._Fitted(rows, rows, frozenset())

    def again(columns: StructType) -> Any:
        known.append(columns)
        return SimpleNamespace(as_written=None)

    monkeypatch.setattr(RowChecks, "_conformed", conformed)
    context: Any = SimpleNamespace(log=lambda *_, **__: None)
    nothing: Any = None
    checks = RowChecks(context, nothing, nothing, nothing, row(id=INT), must_be_kept=False)
    rows: Any = SimpleNamespace(as_written=again)
    if isinstance(expected, TaskFailed):
        with pytest.raises(TaskFailed) as caught:
            checks._fit(rows)
        assert (caught.value.reason, caught.value.message) == (expected.reason, expected.message)
    else:
        remark = checks._fit(rows).remark
        assert remark.endswith(expected)
        assert bool(remark) == bool(expected)
    assert known == [row(id=INT), StructType()][: len(known)]
