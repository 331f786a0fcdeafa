"""Names of columns that a table's definition may use: Hudi, Avro, Spark and paths all read them alike.

A dot would name a field of a struct, which Hudi's key generators accept and its readers, indexes and sort columns do
not.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from hudi_operator.api.values.base import rules

_PLAIN = "^[A-Za-z_][A-Za-z0-9_]*$"
_TAKEN = "^(?i:_hoodie_|_corrupt_record$|_corrupt_fault$)"

PLAIN_COLUMNS = (
    f"self.all(column, column.matches('{_PLAIN}') && !column.matches('{_TAKEN}'))",
    "a column name may contain only letters, digits and underscores, must not begin with a digit, and must not be one "
    "of Hudi's own (_hoodie_...); give anything else, such as a field of a struct, its own column in "
    "ingestion.transform",
)

NO_COLUMN_TWICE = (
    "self.all(one, self.exists_one(other, other.lowerAscii() == one.lowerAscii()))",
    "a column must not be named twice; names that differ only in case are the same to Spark",
)
# The order of the columns matters, so these lists are not of list type `set`, because its equality ignores the order.


def _checked(name: str) -> str:
    if re.match(_PLAIN, name) is None or re.match(_TAKEN, name) is not None:
        raise ValueError(f"{name!r} cannot be used: {PLAIN_COLUMNS[1]}")
    return name


AnyColumn = Annotated[str, Field(max_length=256)]
"""A name that the API server refuses unless it is plain; a name that an earlier release stored is still read."""

ColumnName = Annotated[AnyColumn, AfterValidator(_checked)]
"""A plain name. A table that was stored with another name has never had a successful run."""

PlainColumn = Annotated[
    str,
    AfterValidator(_checked),
    Field(
        max_length=256,
        json_schema_extra=rules(
            (
                f"self.matches('{_PLAIN}') && !self.matches('{_TAKEN}')",
                "a column name may contain only letters, digits and underscores, must not begin with a digit, and "
                "must not be one of Hudi's own (_hoodie_...)",
            )
        ),
    ),
]
"""The plain name of a column."""
