"""Refuses predicates that depend on the time of day through Spark's casts of texts.

Seen in Spark 3.5.9: a constant text such as `today` or `now` becomes a date or a time (`SpecialDatetimeValues`,
`AstBuilder.visitTypeConstructor`), and a text with hours but no date, also from a column, becomes a time of the current
day (`SparkDateTimeUtils.stringToTimestamp`). So a constant text must begin with a date, and other texts must not become
times.
"""

import re
from collections.abc import Iterable, Iterator

from hudi_jobs.failures import TaskFailed
from hudi_jobs.operations.refusal import refused
from hudi_jobs.query.kinds import CATALYST
from hudi_jobs.query.plan import Node

_LITERAL, _CAST = f"{CATALYST}expressions.Literal", f"{CATALYST}expressions.Cast"
_ATTRIBUTE = f"{CATALYST}expressions.AttributeReference"
_DATED = r"\s*[+-]?[0-9]{4,7}(-[^'\"\\]*)?\s*"
_DATED_TEXT = re.compile(_DATED)
_DATED_LITERAL = re.compile(rf"\w+\s*('{_DATED}'|\"{_DATED}\")")


def require_dated_literals(parsed: Iterable[Node]) -> None:
    """Refuse date and time literals that the parser may have read from the clock."""
    for node in parsed:
        if node.kind == _LITERAL and _is_time(node.names[0]) and _DATED_LITERAL.fullmatch(node.names[2]) is None:
            raise _by_the_clock()


def require_dated_casts(replaced: Iterable[Node]) -> None:
    """Refuse casts of texts to dates or times that depend on the clock; `replaced` has the resolved casts."""
    for node in replaced:
        if node.kind == _CAST and _is_text(node.names[0]) and _is_time(node.names[1]) and not _is_dated(node):
            raise _by_the_clock()


def _is_dated(cast: Node) -> bool:
    (child,) = cast.parts
    if child.kind == _LITERAL:
        return _DATED_TEXT.fullmatch(child.names[1]) is not None
    return "timestamp" not in cast.names[1] and any(node.kind == _ATTRIBUTE for node in _below(child))


def _below(node: Node) -> Iterator[Node]:
    left = [node]
    while left:
        found = left.pop()
        yield found
        left += found.parts


def _is_text(kind: str) -> bool:
    return "string" in kind


def _is_time(kind: str) -> bool:
    return "date" in kind or "timestamp" in kind


def _by_the_clock() -> TaskFailed:
    return refused(
        "The predicate must give the same answer each time, and a text in it becomes a date or a time by the clock. "
        "Write dates and times as DATE '2026-01-31' and TIMESTAMP '2026-01-31 12:00:00', and give the format of "
        "texts in columns: to_timestamp(column, 'yyyy-MM-dd HH:mm:ss')."
    )
