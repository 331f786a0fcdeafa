"""Selects rows by a SQL predicate over values, columns of the table, and a list of allowed functions.

Refuses predicates that depend on the time of day.

Seen in Spark 3.5.9: a constant text such as `today` or `now` becomes a date or a time (`SpecialDatetimeValues`,
`AstBuilder.visitTypeConstructor`), and a text with hours but no date, also from a column, becomes a time of the current
day (`SparkDateTimeUtils.stringToTimestamp`). So a constant text must begin with a date, and other texts must not become
times.

The check against the list runs on the parsed predicate before any lookup, and again on the resolved predicate. No
message quotes the predicate or Spark's error about it: both may name a person.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.operations.erase import LONGEST_PREDICATE
from hudi_jobs.operations.refusal import refused
from hudi_jobs.query.rules import CATALYST, Node, PlanReader, require_parsable
from hudi_jobs.query.session import bare_session
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import JavaObject, classes, frame_of, parsed_expression, query_execution, without_stand_ins

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


VIEW = "rows"
DEEPEST = 100

_KINDS = """
Add And BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Coalesce Concat Divide EqualNullSafe EqualTo
GreaterThan GreaterThanOrEqual ILike In IntegralDivide IsNotNull IsNotUnknown$$anon$2 IsNull IsUnknown$$anon$1 LessThan
LessThanOrEqual Like LikeAll LikeAny Literal Lower Multiply Not NotLikeAll NotLikeAny Or Overlay RLike Remainder
StringLocate StringTrim StringTrimLeft StringTrimRight Substring Subtract TimestampAdd TimestampDiff UnaryMinus
UnaryPositive
"""
_PARSED = frozenset(f"{CATALYST}expressions.{name}" for name in _KINDS.split()) | frozenset(
    f"{CATALYST}analysis.Unresolved{name}" for name in ("Attribute", "ExtractValue", "Function")
)
_FUNCTION = f"{CATALYST}analysis.UnresolvedFunction"

_FUNCTIONS = """
abs array_contains bigint boolean btrim cast ceil char_length coalesce concat contains date date_add date_format
date_sub date_trunc datediff day decimal double element_at endswith floor from_unixtime greatest hour if ifnull int
isnotnull isnull least left length like lower lpad ltrim md5 minute month nullif nvl regexp_like replace right round
rpad rtrim second sha1 sha2 smallint split_part startswith string substr substring timestamp tinyint to_date
to_timestamp trim trunc upper year
"""

FUNCTIONS = frozenset(_FUNCTIONS.split())
"""Functions that always give the same value for the same row."""

_RESOLVED_KINDS = """
Abs Add And ArrayContains AttributeReference BinaryPad BinaryPredicate BitwiseAnd BitwiseNot BitwiseOr BitwiseXor
CaseWhen Cast Ceil Coalesce Concat Contains DateAdd DateAddInterval DateAddYMInterval DateDiff DateFormatClass DateSub
DatetimeSub DayOfMonth Divide DivideDTInterval DivideInterval DivideYMInterval ElementAt EndsWith EqualNullSafe
EqualTo ExtractANSIIntervalDays Floor FromUnixTime GetArrayItem GetArrayStructFields GetMapValue GetStructField
GreaterThan GreaterThanOrEqual Greatest Hour ILike If In IntegralDivide IsNotNull IsNull Least Left Length LessThan
LessThanOrEqual Like LikeAll LikeAny Literal Lower Md5 Minute Month Multiply MultiplyDTInterval MultiplyInterval
MultiplyYMInterval Not NotLikeAll NotLikeAny NullIf Nvl Or Overlay ParseToDate ParseToTimestamp RLike Remainder Right
Round RoundCeil RoundFloor Second Sha1 Sha2 SplitPart StartsWith StringLPad StringLocate StringRPad StringReplace
StringTrim StringTrimBoth StringTrimLeft StringTrimRight Substring Subtract SubtractDates SubtractTimestamps TimeAdd
TimestampAdd TimestampAddYMInterval TimestampDiff TruncDate TruncTimestamp TypedNullLiteral UnaryMinus UnaryPositive
Upper Year
"""
_RESOLVED = frozenset(f"{CATALYST}expressions.{name}" for name in _RESOLVED_KINDS.split()) | frozenset(
    f"{CATALYST}plans.logical.{name}" for name in ("Filter", "SubqueryAlias", "View")
)
"""Nodes that the analyzer makes of the allowed nodes, functions and types; none reads the clock."""


def matching(spark: SparkSession, rows: DataFrame, predicate: str) -> DataFrame:
    """Return the rows for which the predicate is true; raise `TaskFailed` when it is not allowed."""
    _require_text(predicate)
    reader = PlanReader(spark)
    try:
        parsed = parsed_expression(spark, predicate)
        nodes = reader.read(parsed)
    except Exception:  # noqa: BLE001 - the cause quotes the predicate
        raise refused("The predicate is not a SQL expression, or is too large.") from None
    _require_parsed(nodes)
    require_dated_literals(nodes)
    session = bare_session(spark, VIEW, rows)
    try:
        frame = session.table(VIEW).where(Column(classes(spark).org.apache.spark.sql.Column(parsed)))
        analyzed = query_execution(frame).analyzed()
        resolved, is_stable = reader.read(analyzed), _is_stable(analyzed)
        replaced = reader.read(without_stand_ins(spark, analyzed))
    except Exception as error:  # noqa: BLE001 - the cause quotes the predicate
        kind = getattr(error, "getErrorClass", lambda: None)()
        raise refused(
            f"The predicate does not fit the columns of the table{f' ({kind})' if kind else ''}; it must be true or "
            "false for each row, and use only columns of the table."
        ) from None
    foreign = next((node for node in resolved if node.kind not in _RESOLVED), None)
    if foreign is not None or not is_stable:
        raise refused("The predicate must depend on the row alone, and give the same answer each time.")
    require_dated_casts(replaced)
    return frame_of(spark, analyzed)


@contextmanager
def unquoted() -> Iterator[None]:
    """Replace errors of the evaluation by a failure that does not quote the predicate."""
    try:
        yield
    except (Py4JJavaError, PySparkException):
        raise TaskFailed(FailureReason.HUDI_ERROR, "The predicate cannot be evaluated on the rows.") from None


def _require_text(predicate: str) -> None:
    if len(predicate) > LONGEST_PREDICATE:
        raise refused(f"The predicate has {len(predicate):,} characters; at most {LONGEST_PREDICATE:,} are allowed.")
    try:
        require_parsable(predicate)
    except TaskFailed:
        raise refused("The predicate is nested too deep.") from None


def _require_parsed(nodes: list[Node]) -> None:
    for node in nodes:
        if node.depth > DEEPEST:
            raise refused("The predicate is nested too deep.")
        if node.kind not in _PARSED:
            name = node.kind.rpartition(".")[2].rstrip("$")
            raise refused(
                f"The predicate may only compare columns of the table with values; {name} is not allowed. List keys "
                "instead, or use a simpler predicate."
            )
        if node.kind == _FUNCTION and not _is_known(node):
            raise refused(
                "The predicate calls a function that is not available; the documentation of operations lists the "
                "available functions."
            )


def _is_known(node: Node) -> bool:
    return len(node.names) == 1 and node.names[0].isascii() and node.names[0].lower() in FUNCTIONS


def _is_stable(analyzed: JavaObject) -> bool:
    return all(analyzed.expressions().apply(place).deterministic() for place in range(analyzed.expressions().size()))
