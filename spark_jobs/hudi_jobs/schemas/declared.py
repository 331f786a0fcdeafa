"""Fits rows to the declared columns of a table: exact casts, nulls for absent columns, and marks of unfit rows.

A value is cast only if the declared type holds the same value. Types that cannot hold each other's values are refused
as a whole: the reader of the source converts texts, and the transform converts everything else.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    MapType,
    StringType,
    StructField,
    StructType,
)

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.table.columns import DeclaredSchema, UndeclaredColumns
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.schemas.columns import parse_ddl
from hudi_jobs.schemas.row_faults import UNFIT, RowFault, fault_of, record_of
from hudi_jobs.schemas.types import column_named, converted, fits, misfits, same, without_bounds
from hudi_jobs.spark.failures import TaskFailed
from hudi_jobs.spark.jvm import tried_cast

_MOST_NAMED = 5
_LONGEST_NAME = 60


@dataclass(frozen=True)
class FittedRows:
    """Rows with the declared columns and `UNFIT`, and a sentence about absent and ignored columns."""

    frame: DataFrame
    remark: str = ""


def declared_struct(spark: SparkSession, declared: DeclaredSchema) -> StructType:
    """Return the declared columns as a row's type, with every part nullable."""
    kind = without_bounds(parse_ddl(spark, declared.ddl))
    assert isinstance(kind, StructType), "a row stays a row"
    return kind


def fitted(
    frame: DataFrame,
    declared: DeclaredSchema,
    *,
    marks: Collection[str],
    checked: Collection[str],
    partitions: Collection[str],
    deleted: str,
) -> FittedRows:
    """Return the rows in the declared columns; raise `TaskFailed` for columns that do not fit.

    `marks` are columns that the driver adds, `checked` are columns whose nulls other rules find, and `partitions` are
    columns whose empty texts come back as null. A row that the column `deleted` marks as a delete may lack values.
    """
    wanted = declared_struct(frame.sparkSession, declared)
    incoming = StructType([one for one in frame.schema.fields if one.name not in marks])
    require_columns(incoming, wanted, declared)
    own = {one.name: one for one in incoming.fields}
    gone = sf.col(deleted).eqNullSafe(sf.expr("true")) if deleted in frame.columns else sf.expr("false")
    faults = [*_faults(own, wanted, declared, checked, gone), *_empty_partitions(own, declared, partitions, gone)]
    columns = [_fitted(own.get(one.name), one) for one in wanted.fields]
    kept = [column_named(name) for name in frame.columns if name in marks]
    said = _remark(incoming, wanted)
    return FittedRows(frame.select(*columns, *kept, fault_of(faults, record_of(list(own), frame.schema))), said)


def _faults(
    own: dict[str, StructField], wanted: StructType, declared: DeclaredSchema, checked: Collection[str], gone: Column
) -> Iterator[RowFault]:
    for one, column in zip(wanted.fields, declared.columns, strict=True):
        value = column_named(one.name)
        if one.name in own and _is_tried(own[one.name].dataType, one.dataType):
            back = tried_cast(tried_cast(value, one.dataType), own[one.name].dataType)
            unlike = value.isNotNull() & ~value.eqNullSafe(back)
            yield RowFault(one.name, f"does not hold the value as {column.type}", unlike)
        if not column.nullable and one.name not in checked:
            yield RowFault(one.name, "has no value and is declared with nullable false", value.isNull() & ~gone)


def _empty_partitions(
    own: Mapping[str, StructField], declared: DeclaredSchema, partitions: Collection[str], gone: Column
) -> Iterator[RowFault]:
    for one in declared.columns:
        is_text = one.name in own and isinstance(own[one.name].dataType, StringType | BinaryType)
        if is_text and one.name in partitions and not one.nullable:
            is_empty = sf.octet_length(column_named(one.name)) == 0
            cause = "is empty, which partitions store as null, and is declared with nullable false"
            yield RowFault(one.name, cause, is_empty & ~gone)


def require_columns(incoming: StructType, wanted: StructType, declared: DeclaredSchema) -> None:
    """Raise `TaskFailed` for undeclared columns, absent columns that need values, and types that do not fit."""
    lacking = [one.name for one in declared.columns if not one.nullable and one.name not in set(incoming.fieldNames())]
    if lacking:
        raise TaskFailed(
            FailureReason.COLUMN_MISSING,
            f"schema.columns declares {_named(lacking)} with nullable false, and the input has no such "
            f"column; add it to the source or in the transform. Nothing was written.",
        )
    others = list(undeclared(incoming, wanted))
    if declared.undeclared is UndeclaredColumns.REFUSE:
        require_declared_only(others)
    absent = {name.lower() for name in undeclared(wanted, incoming)}
    spelt = [name for name in others if name.lower() in absent]
    if spelt:
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The input has {_named(spelt)}, which schema.columns declares with other letters in upper or lower case; "
            "declare the name of the input, or rename the column in the transform. Nothing was written.",
        )
    refused = list(_refused(incoming, wanted))
    if refused:
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"{' '.join(refused[:_MOST_NAMED])} Nothing was written.",
        )


def require_declared_only(others: list[str]) -> None:
    """Raise `TaskFailed` if there are columns that the table does not declare."""
    if others:
        raise TaskFailed(
            FailureReason.SCHEMA_INCOMPATIBLE,
            f"The input has {counted(len(others), 'column')} that schema.columns does not declare: {_named(others)}. "
            "Declare them, leave them out in the transform, or set schema.undeclared to Ignore. Nothing was written.",
        )


def _named(names: Collection[str]) -> str:
    return listed([repr(name[:_LONGEST_NAME]) for name in names], _MOST_NAMED, count=len(names))


def undeclared(incoming: DataType, wanted: DataType, at: str = "") -> Iterator[str]:
    """Yield the columns, and fields of structs, that the declared type does not have; nested names have dots."""
    if isinstance(incoming, StructType) and isinstance(wanted, StructType):
        known = {one.name: one.dataType for one in wanted.fields}
        for one in incoming.fields:
            if one.name not in known:
                yield f"{at}{one.name}"
            else:
                yield from undeclared(one.dataType, known[one.name], f"{at}{one.name}.")
    elif isinstance(incoming, ArrayType) and isinstance(wanted, ArrayType):
        yield from undeclared(incoming.elementType, wanted.elementType, f"{at}element.")
    elif isinstance(incoming, MapType) and isinstance(wanted, MapType):
        yield from undeclared(incoming.valueType, wanted.valueType, f"{at}value.")


def _refused(incoming: StructType, wanted: StructType) -> Iterator[str]:
    """Yield a sentence for each type that does not fit the declared type."""
    own = {one.name: one.dataType for one in incoming.fields}
    for one in wanted.fields:
        if one.name in own and not _is_tried(own[one.name], one.dataType):
            for at, has, wants in misfits(own[one.name], one.dataType, one.name):
                yield (
                    f"The column {at} is {has.simpleString()} in the input, and schema.columns declares "
                    f"{wants.simpleString()}; cast it in the transform{_or_declare(has)}."
                )


def _or_declare(has: DataType) -> str:
    return ", or declare the columns of the source" if isinstance(has, StringType) else ""


def _is_tried(has: DataType, wants: DataType) -> bool:
    """Tell whether single values decide: numbers of a kind, of which only some fit the declared type."""
    exact = (IntegralType, DecimalType)
    if isinstance(has, exact) and isinstance(wants, exact):
        return not fits(wants, has)
    return isinstance(has, DoubleType) and isinstance(wants, FloatType)


def _fitted(own: StructField | None, wanted: StructField) -> Column:
    if own is None:
        return _null(wanted.dataType).alias(wanted.name)
    value = column_named(own.name)
    if _is_tried(own.dataType, wanted.dataType):
        return tried_cast(value, wanted.dataType).alias(wanted.name)
    return _exact(value, own.dataType, wanted.dataType).alias(wanted.name)


def _exact(value: Column, has: DataType, wants: DataType) -> Column:
    """Return a value in a type that holds it, with fields by name; an absent field is null."""
    if same(has, wants):
        return value
    if isinstance(has, StructType) and isinstance(wants, StructType):
        known = {one.name: one.dataType for one in has.fields}
        parts = [
            (
                _exact(value[one.name], known[one.name], one.dataType) if one.name in known else _null(one.dataType)
            ).alias(one.name)
            for one in wants.fields
        ]
        return sf.when(value.isNotNull(), sf.struct(*parts))
    if isinstance(has, ArrayType) and isinstance(wants, ArrayType):
        return sf.transform(value, lambda one: _exact(one, has.elementType, wants.elementType))
    if isinstance(has, MapType) and isinstance(wants, MapType):
        return sf.transform_values(value, lambda _, one: _exact(one, has.valueType, wants.valueType))
    return converted(value, has, wants)


def _null(kind: DataType) -> Column:
    return sf.lit(None).cast(kind)


def _remark(incoming: StructType, wanted: StructType) -> str:
    absent, others = list(undeclared(wanted, incoming)), list(undeclared(incoming, wanted))
    said = [f"Null for lack of a column in the input: {_named(absent)}."] if absent else []
    said += [f"Ignored columns that schema.columns does not declare: {_named(others)}."] if others else []
    return " ".join(said)


def with_comments(frame: DataFrame, declared: DeclaredSchema | None) -> DataFrame:
    """Return the rows without `UNFIT`, with the declared comments on their columns."""
    if declared is None:
        return frame.drop(UNFIT)
    comments = {one.name: one.comment for one in declared.columns if one.comment is not None}
    return frame.select(
        *(
            column_named(name).alias(name, metadata={"comment": comments[name]})
            if name in comments
            else column_named(name)
            for name in frame.columns
            if name != UNFIT
        )
    )
