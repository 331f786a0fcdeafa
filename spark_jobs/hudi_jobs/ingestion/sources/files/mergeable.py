"""Unites the files of a run: each column has the same type in all files, or types with a common type."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.schemas.types import fits
from hudi_jobs.schemas.untyped import has_untyped, with_common_types


def require_mergeable(one: StructType, other: StructType) -> None:
    """Raise `TaskFailed` when a column has types without a common type in two files."""
    types = {field.name: field.dataType for field in one.fields}
    for field in other.fields:
        known = types.get(field.name, field.dataType)
        if not (fits(known, field.dataType) or fits(field.dataType, known)):
            raise TaskFailed(
                FailureReason.SCHEMA_INCOMPATIBLE,
                f"The column {field.name} is {known.simpleString()} in one file and {field.dataType.simpleString()} "
                "in another; write them with the same type, or read fewer files per run.",
            )


def united(frames: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all frames by the names of columns; missing columns are null."""
    if any(has_untyped(frame.schema) for frame in frames):
        frames = with_common_types(frames)
    for frame in frames[1:]:
        require_mergeable(frames[0].schema, frame.schema)
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), frames)
