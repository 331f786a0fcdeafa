"""The plan nodes allowed in a query, as parsed and as resolved by Spark.

The lists come from what Spark 3.5.9 makes of the examples of every allowed function and of the statements in
tests/spark_jobs/transform/harmless_queries.py. Unlisted nodes are refused: a new Spark may refuse a query, but opens no
hole.
"""

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
