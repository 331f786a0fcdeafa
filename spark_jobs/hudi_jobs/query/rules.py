"""The rules for a query, on plain values: allowlists of nodes, relations, functions and hints.

The lists come from what Spark 3.5.9 makes of the examples of every allowed function and of the statements in
tests/spark_jobs/transform/harmless_queries.py. Unlisted nodes are refused: a new Spark may refuse a query, but opens no
hole.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.wording import escaped
from hudi_jobs.query.session import FUNCTIONS, HINTS, TABLE_FUNCTIONS
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import JavaObject
from hudi_jobs.spark.session import java_class

CATALYST = "org.apache.spark.sql.catalyst."
"""Package of every allowed node; the lists omit it."""

_PARSED_PLANS = """
Aggregate Distinct Except Filter Generate GlobalLimit Intersect Join LateralJoin LocalLimit Offset OneRowRelation
Pivot Project RepartitionByExpression Sample Sort SubqueryAlias Union Unpivot UnresolvedHint UnresolvedWith
WithWindowDefinition
"""

_UNRESOLVED = """
MultiAlias UnresolvedAlias UnresolvedAttribute UnresolvedExtractValue UnresolvedFunction UnresolvedGenerator
UnresolvedHaving UnresolvedInlineTable UnresolvedRegex UnresolvedRelation UnresolvedStar
UnresolvedSubqueryColumnAliases UnresolvedTVFAliases UnresolvedTableValuedFunction
"""

_PARSED_EXPRESSIONS = """
Add Alias And BitwiseAnd BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Coalesce Concat CreateNamedStruct Cube
CurrentDate CurrentRow$ CurrentTimestamp Divide EqualNullSafe EqualTo Exists GreaterThan GreaterThanOrEqual
GroupingSets ILike In InSubquery IntegralDivide IsNotNull IsNotUnknown$$anon$2 IsNull IsUnknown$$anon$1
LambdaFunction LateralSubquery LessThan LessThanOrEqual Like LikeAll LikeAny ListQuery Literal Lower Multiply
NamePlaceholder$ NamedArgumentExpression Not NotLikeAll NotLikeAny Or Overlay RLike Remainder Rollup ScalarSubquery
SortOrder SpecifiedWindowFrame StringLocate StringTrim StringTrimLeft StringTrimRight Substring Subtract
TimestampAdd TimestampDiff UnaryMinus UnaryPositive UnboundedFollowing$ UnboundedPreceding$
UnresolvedNamedLambdaVariable UnresolvedWindowExpression UnspecifiedFrame$ WindowExpression WindowSpecDefinition
"""

_PARSED_AGGREGATES = """
AggregateExpression AnyValue First Last PercentileCont PercentileDisc
"""

_RESOLVED_PLANS = """
Aggregate CTERelationDef CTERelationRef Distinct Except Expand Filter Generate GlobalLimit Intersect Join
LateralJoin LocalLimit LocalRelation Offset OneRowRelation Project Range RebalancePartitions Repartition
RepartitionByExpression ResolvedHint Sample Sort SubqueryAlias Union View Window WithCTE
"""

_RESOLVED_EXPRESSIONS = """
Abs Acos Acosh Add AddMonths AesDecrypt AesEncrypt Alias And ArrayAggregate ArrayAppend ArrayCompact ArrayContains
ArrayDistinct ArrayExcept ArrayExists ArrayFilter ArrayForAll ArrayInsert ArrayIntersect ArrayJoin ArrayMax ArrayMin
ArrayPosition ArrayPrepend ArrayRemove ArrayRepeat ArraySize ArraySort ArrayTransform ArrayUnion ArraysOverlap
ArraysZip Ascii Asin Asinh AssertTrue Atan Atan2 Atanh AttributeReference BRound Base64 Bin BinaryPad
BinaryPredicate BitLength BitmapBitPosition BitmapBucketNumber BitmapConstructAgg BitmapCount BitmapOrAgg BitwiseAnd
BitwiseCount BitwiseGet BitwiseNot BitwiseOr BitwiseXor CaseWhen Cast Cbrt Ceil Chr Coalesce Concat ConcatWs
Contains Conv ConvertTimezone Cos Cosh Cot Crc32 CreateArray CreateMap CreateNamedStruct Csc CsvToStructs CumeDist
CurrentDate CurrentRow$ CurrentTimeZone CurrentTimestamp DateAdd DateAddInterval DateAddYMInterval DateDiff
DateFormatClass DateFromUnixDate DateSub DatetimeSub DayOfMonth DayOfWeek DayOfYear Decode DenseRank Divide
DivideDTInterval DivideInterval DivideYMInterval ElementAt Elt Encode EndsWith EqualNull EqualNullSafe EqualTo
EulerNumber Exists Exp Explode Expm1 Extract ExtractANSIIntervalDays ExtractANSIIntervalHours
ExtractANSIIntervalMinutes ExtractANSIIntervalMonths ExtractANSIIntervalSeconds ExtractANSIIntervalYears
ExtractIntervalDays ExtractIntervalHours ExtractIntervalMinutes ExtractIntervalMonths ExtractIntervalSeconds
ExtractIntervalYears Factorial FindInSet Flatten Floor FormatNumber FormatString FromUTCTimestamp FromUnixTime
GeneratorOuter Get GetArrayItem GetArrayStructFields GetJsonObject GetMapValue GetStructField GetTimestamp
GreaterThan GreaterThanOrEqual Greatest Grouping GroupingID Hex HllSketchEstimate HllUnion Hour Hypot ILike If In
InSubquery InitCap Inline IntegralDivide IsNaN IsNotNull IsNull JsonObjectKeys JsonToStructs JsonTuple KnownNotNull
KnownNullable Lag LambdaFunction LastDay LateralSubquery Lead Least Left Length LengthOfJsonArray LessThan
LessThanOrEqual Levenshtein Like LikeAll LikeAny ListQuery Literal LocalTimestamp Log Log10 Log1p Log2 Logarithm
Lower Luhncheck MakeDTInterval MakeDate MakeInterval MakeTimestamp MakeYMInterval MapConcat MapContainsKey
MapEntries MapFilter MapFromArrays MapFromEntries MapKeys MapValues MapZipWith Mask Md5 MicrosToTimestamp
MillisToTimestamp Minute MonotonicallyIncreasingID Month MonthsBetween Multiply MultiplyDTInterval MultiplyInterval
MultiplyYMInterval Murmur3Hash NTile NaNvl NamedLambdaVariable NextDay Not NotLikeAll NotLikeAny Now NthValue NullIf
Nvl Nvl2 OctetLength Or OuterReference Overlay ParseToDate ParseToTimestamp ParseUrl PercentRank Pi Pmod PosExplode
Pow PreciseTimestampConversion Quarter RLike RaiseError Rand Randn Rank RegExpCount RegExpExtract RegExpExtractAll
RegExpInStr RegExpReplace RegExpSubStr Remainder Reverse Right Rint Round RoundCeil RoundFloor RowNumber
ScalarSubquery SchemaOfCsv SchemaOfJson Sec Second SecondWithFraction SecondsToTimestamp Sentences Sequence Sha1
Sha2 ShiftLeft ShiftRight ShiftRightUnsigned Shuffle Signum Sin Sinh Size Slice SortArray SortOrder SoundEx
SparkPartitionID SpecifiedWindowFrame SplitPart Sqrt Stack StartsWith StringDecode StringInstr StringLPad
StringLocate StringRPad StringRepeat StringReplace StringSpace StringSplit StringSplitSQL StringToMap
StringTranslate StringTrim StringTrimBoth StringTrimLeft StringTrimRight StructsToCsv StructsToJson Substring
SubstringIndex Subtract SubtractDates SubtractTimestamps Tan Tanh TimeAdd TimestampAdd TimestampAddYMInterval
TimestampDiff ToBinary ToCharacter ToDegrees ToNumber ToRadians ToUTCTimestamp ToUnixTimestamp TransformKeys
TransformValues TruncDate TruncTimestamp TryAdd TryAesDecrypt TryDivide TryElementAt TryEval TryMultiply TrySubtract
TryToBinary TryToNumber TypeOf TypedNullLiteral UnBase64 UnaryMinus UnaryPositive UnboundedFollowing$
UnboundedPreceding$ Unhex UnixDate UnixMicros UnixMillis UnixSeconds UnixTimestamp Upper UrlDecode UrlEncode Uuid
WeekDay WeekOfYear WidthBucket WindowExpression WindowSpecDefinition XxHash64 Year YearOfWeek ZipWith
"""

_RESOLVED_AGGREGATES = """
AggregateExpression AnyValue ApproximatePercentile Average BitAndAgg BitOrAgg BitXorAgg BoolAnd BoolOr CollectList
CollectSet Corr Count CountIf CountMinSketchAgg CovPopulation CovSample First HistogramNumeric HllSketchAgg
HllUnionAgg HyperLogLogPlusPlus Kurtosis Last Max MaxBy Median Min MinBy Mode Percentile PercentileCont
PercentileDisc PivotFirst RegrAvgX RegrAvgY RegrCount RegrIntercept RegrR2 RegrReplacement RegrSXX RegrSXY RegrSYY
RegrSlope Skewness StddevPop StddevSamp Sum VariancePop VarianceSamp
"""


def _in(package: str, names: str) -> frozenset[str]:
    return frozenset(f"{CATALYST}{package}.{name}" for name in names.split())


PARSED = (
    _in("plans.logical", _PARSED_PLANS)
    | _in("analysis", _UNRESOLVED)
    | _in("expressions", _PARSED_EXPRESSIONS)
    | _in("expressions.aggregate", _PARSED_AGGREGATES)
)
"""Node classes that Spark's parser may produce for a query."""

RESOLVED = (
    _in("plans.logical", _RESOLVED_PLANS)
    | _in("expressions", _RESOLVED_EXPRESSIONS)
    | _in("expressions.aggregate", _RESOLVED_AGGREGATES)
)
"""Node classes that the analyzer may produce for a query, including the allowed functions."""


@dataclass
class Node:
    """A node of a plan or expression, with its texts and parts."""

    kind: str
    """Full name of its Java class."""

    names: tuple[str, ...] = ()
    """The node's texts: the name of a relation, of a function, and so on (`PlanReader.java`)."""

    parts: list["Node"] = field(default_factory=list)
    """Children, inner children, and the plans inside its expressions."""

    depth: int = 0


class PlanReader:
    """Reads plans inside the JVM, so that a plan costs a single call instead of ten per node."""

    def __init__(self, spark: SparkSession) -> None:
        self._reader: JavaObject = java_class(spark, "query.PlanReader")()

    def read(self, plan: JavaObject) -> list[Node]:
        """Return the nodes of a plan, topmost first."""
        return tree(json.loads(self._reader.apply(plan)))


def tree(entries: Iterable[Sequence[int | str]]) -> list[Node]:
    """Return the nodes from (depth, class, names...) tuples, linked to their parts."""
    nodes: list[Node] = []
    above: list[Node] = []
    for depth, kind, *names in entries:
        node = Node(str(kind), tuple(map(str, names)), depth=int(depth))
        del above[node.depth :]
        if above:
            above[-1].parts.append(node)
        above.append(node)
        nodes.append(node)
    return nodes


LONGEST = 32_768
"""The most characters of a query."""

DEEPEST = 250
"""The most levels of a parsed plan. Spark's own stack ends somewhere between 500 and 1,000."""

MOST_COPIES = 1_000
"""The most times a query may repeat its source; a short query can double it with every subquery."""

MOST_BRACKETS = 200
"""The most levels of round brackets."""

_SHOWN = 100
_BRACKET = re.compile(r"[()]")
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`[^`]*`""")

_WITH = f"{CATALYST}plans.logical.UnresolvedWith"
_HINT = f"{CATALYST}plans.logical.UnresolvedHint"
_VIEW = f"{CATALYST}plans.logical.View"
_RELATION = f"{CATALYST}analysis.UnresolvedRelation"
_PLANS = f"{CATALYST}plans."
_UNRESOLVED_PLANS = frozenset(
    f"{CATALYST}analysis.Unresolved{name}"
    for name in ("Having", "InlineTable", "Relation", "SubqueryColumnAliases", "TVFAliases", "TableValuedFunction")
)
_STAR = f"{CATALYST}analysis.UnresolvedStar"
_FUNCTION_KINDS: dict[str, frozenset[str]] = {
    f"{CATALYST}analysis.UnresolvedFunction": FUNCTIONS,
    f"{CATALYST}analysis.UnresolvedGenerator": FUNCTIONS,
    f"{CATALYST}analysis.UnresolvedTableValuedFunction": TABLE_FUNCTIONS,
}

_SAID = {
    "ScriptTransformation": "a script (TRANSFORM, MAP or REDUCE with USING)",
    "InsertIntoDir": "INSERT OVERWRITE DIRECTORY",
    "InsertIntoStatement": "INSERT",
    "RelationTimeTravel": "TIMESTAMP AS OF or VERSION AS OF",
    "PlanWithUnresolvedIdentifier": "IDENTIFIER(...)",
    "ExpressionWithUnresolvedIdentifier": "IDENTIFIER(...)",
    "NamedParameter": "a parameter",
    "PosParameter": "a parameter",
    "FunctionTableSubqueryArgumentExpression": "TABLE(...) as an argument",
}


class QueryRules:
    """The rules of queries over a view."""

    def __init__(self, view: str, *, case_sensitive: bool) -> None:
        self._view = view
        self._case_sensitive = case_sensitive

    def require_parsed(self, nodes: Sequence[Node]) -> None:
        """Raise `TaskFailed` unless the parsed plan only computes rows from the view."""
        for node in nodes:
            if node.depth > DEEPEST:
                raise too_large()
            self._require_kind(node, PARSED)
            _require_names(node)
        self._copies(nodes[0], {self._folded(self._view): 1})

    def require_resolved(self, nodes: Sequence[Node]) -> None:
        """Raise `TaskFailed` unless the analyzed plan reads only the view and uses only allowed nodes."""
        for node in nodes:
            self._require_kind(node, RESOLVED)
            if node.kind == _VIEW and node.names != (self._view,):
                raise self._foreign(node.names)

    def _require_kind(self, node: Node, allowed: frozenset[str]) -> None:
        if node.kind not in allowed:
            name = node.kind.rpartition(".")[2].rstrip("$")
            raise _refusal(
                f"The transform must be one SELECT query over the view {self._view}; {_SAID.get(name, name)} is not "
                "allowed, so remove it."
            )

    def _folded(self, name: str) -> str:
        return name if self._case_sensitive else name.lower()

    def _foreign(self, names: Sequence[str]) -> TaskFailed:
        return _refusal(
            f"The transform reads {_shown(names)}, but it may read only the view {self._view} and its own WITH "
            "queries; include those rows in the files of the source."
        )

    def _copies(self, node: Node, known: Mapping[str, int]) -> int:
        """Return how often a node contains the source; `known` are the names it may read."""
        if node.kind == _RELATION:
            if len(node.names) != 1 or self._folded(node.names[0]) not in known:
                raise self._foreign(node.names)
            return known[self._folded(node.names[0])]
        if node.kind == _WITH:
            body, *queries = node.parts
            for name, query in zip(node.names, queries, strict=True):
                known = {**known, self._folded(name): self._copies(query, known)}
            return self._copies(body, known)
        copies = 0
        for part in node.parts:
            copies += self._copies(part, known)
        if _is_plan(node):
            copies = max(1, copies) * _repeated(node)
        if copies > MOST_COPIES:
            raise _refusal(
                f"The transform repeats what it reads more than {MOST_COPIES:,} times, through *, CUBE, joins or WITH "
                "queries that use each other; name the columns that are needed, or use fewer of these."
            )
        return copies


def require_parsable(sql: str) -> None:
    """Raise `TaskFailed` for a text too slow for Spark's parser: 15,000 brackets take it a minute."""
    if len(sql) > LONGEST:
        raise _refusal(f"The transform has {len(sql):,} characters; at most {LONGEST:,} are allowed, so shorten it.")
    depth = 0
    for bracket in _BRACKET.findall(_QUOTED.sub("", sql)):
        depth += 1 if bracket == "(" else -1
        if depth > MOST_BRACKETS:
            raise too_large()


def too_large() -> TaskFailed:
    """Return the failure of a query too deep or too large to plan."""
    return _refusal(
        "The transform is nested too deep, or has too many parts, to be planned; long chains of operators, CASE or set "
        "operations count as well. Shorten it, or use functions of many arguments, such as concat and coalesce."
    )


def _require_names(node: Node) -> None:
    if node.kind in _FUNCTION_KINDS and not _is_one_of(node.names, _FUNCTION_KINDS[node.kind]):
        raise _refusal(
            f"The transform calls the function {_shown(node.names)}, which is not available; use those of Spark's own "
            "functions that compute values from their arguments."
        )
    if node.kind == _HINT and not _is_one_of(node.names[:1], HINTS):
        raise _refusal(f"The transform has the hint {_shown(node.names[:1])}, which is not available; leave it out.")


def _is_one_of(names: Sequence[str], allowed: frozenset[str]) -> bool:
    return len(names) == 1 and names[0].isascii() and names[0].lower() in allowed


def _is_plan(node: Node) -> bool:
    return node.kind.startswith(_PLANS) or node.kind in _UNRESOLVED_PLANS


def _repeated(node: Node) -> int:
    """Return how often a plan repeats its input: by each `*`, and by each grouping set."""
    stars: Counter[tuple[str, ...]] = Counter()
    sets = 1
    for part in node.parts:
        _count_stars(part, stars)
        sets *= _grouping_sets(part)
    everything = stars.pop((), 0)
    return max(1, everything + max(stars.values(), default=0)) * sets


def _count_stars(node: Node, stars: Counter[tuple[str, ...]]) -> None:
    if _is_plan(node):
        return
    if node.kind == _STAR:
        stars[node.names] += 1
    for part in node.parts:
        _count_stars(part, stars)


def _grouping_sets(node: Node) -> int:
    match node.kind.removeprefix(CATALYST):
        case "expressions.Cube":
            return 1 << min(len(node.parts), 20)
        case "expressions.Rollup" | "expressions.GroupingSets":
            return len(node.parts) + 1
        case _:
            return 1


def _shown(names: Sequence[str]) -> str:
    text = ".".join(names)
    return escaped(text[:_SHOWN])


def _refusal(message: str) -> TaskFailed:
    return TaskFailed(FailureReason.TRANSFORM_INVALID, message)
