"""Which texts of a predicate are dates whatever the time of day is."""

from contextlib import AbstractContextManager, nullcontext

import pytest

from hudi_jobs.operations.erase.selection import require_dated_casts, require_dated_literals
from hudi_jobs.query.rules import CATALYST, tree
from hudi_jobs.spark.failures import TaskFailed

LITERAL, CAST = f"{CATALYST}expressions.Literal", f"{CATALYST}expressions.Cast"
COLUMN = f"{CATALYST}expressions.AttributeReference"


def outcome(refused: bool) -> AbstractContextManager[object]:
    return pytest.raises(TaskFailed, match="the same answer each time") if refused else nullcontext()


@pytest.mark.parametrize(
    ("written", "kind", "refused"),
    [
        ("DATE '2026-01-31'", "date", False),
        ("date\n'2026'", "date", False),
        ('TIMESTAMP"2026-01-31 12:00:00 Europe/Berlin"', "timestamp", False),
        ("TIMESTAMP_NTZ '-12026-01-31T12:00:00.123Z'", "timestamp_ntz", False),
        ("DATE 'today'", "date", True),
        ("TIMESTAMP '12:30:00'", "timestamp", True),
        ("TIMESTAMP 'T12:30'", "timestamp", True),
        (r"DATE '2026\u002d01-01'", "date", True),
        ("DATE /* '2026-01-01' */ 'today'", "date", True),
        ("", "date", True),
        ("'today'", "string", False),
    ],
)
def test_a_date_in_a_predicate_is_written_as_one(written: str, kind: str, refused: bool) -> None:
    with outcome(refused):
        require_dated_literals(tree([(0, LITERAL, kind, "1", written)]))


@pytest.mark.parametrize(
    ("from_kind", "to_kind", "child", "refused"),
    [
        ("string", "date", [(1, LITERAL, "string", "2026-01-31", "")], False),
        ("string", "timestamp", [(1, LITERAL, "string", " 2026-01-31 12:00 ", "")], False),
        ("string", "date", [(1, LITERAL, "string", "today", "")], True),
        ("string", "timestamp", [(1, LITERAL, "string", "12:30", "")], True),
        ("string", "date", [(1, COLUMN)], False),
        ("string", "date", [(1, f"{CATALYST}expressions.Lower"), (2, COLUMN)], False),
        ("string", "date", [(1, f"{CATALYST}expressions.Lower"), (2, LITERAL, "string", "2026-01-31", "")], True),
        ("string", "timestamp", [(1, COLUMN)], True),
        ("array<string>", "array<timestamp>", [(1, COLUMN)], True),
        ("timestamp", "date", [(1, COLUMN)], False),
        ("string", "int", [(1, LITERAL, "string", "today", "")], False),
    ],
)
def test_a_text_becomes_a_date_only_where_no_clock_is_asked(
    from_kind: str, to_kind: str, child: list[tuple[int | str, ...]], refused: bool
) -> None:
    with outcome(refused):
        require_dated_casts(tree([(0, CAST, from_kind, to_kind), *child]))
