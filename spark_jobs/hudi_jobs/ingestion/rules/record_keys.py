"""Finds record keys that are not whole, and texts that would give two rows the same key of several columns.

Hudi 1.2.0 joins the columns without an escape: `k1:a,k2:b,k2:c` is the key of ('a,k2:b', 'c') and of ('a', 'b,k2:c').
"""

from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from operator import and_, or_

from pyspark.sql import Column
from pyspark.sql.types import StringType, StructType

from hudi_jobs.schemas.types import column_named

NOTHING = ("__null__", "__empty__")
"""Hudi's text in a key of several columns for a column without a value (`KeyGenUtils`)."""


def without_key(schema: StructType, keys: Sequence[str]) -> Column:
    """Return the condition that a row's record key is not whole.

    A null part is never whole; Hudi also refuses a key with only empty texts.
    """
    parts = [column_named(name).isNull() for name in keys]
    if all(isinstance(schema[name].dataType, StringType) for name in keys):
        parts.append(reduce(and_, (column_named(name) == "" for name in keys)))
    return reduce(or_, parts)


def ambiguous_keys(schema: StructType, keys: Sequence[str]) -> dict[str, Column]:
    """Return for columns of a record key the condition that another row may have the same key.

    The condition is null if the value is. Only a column before a later text column is ambiguous: after the last text,
    columns are told apart from the right, because no number, date or time holds a comma.
    """
    texts = [name for name in keys if isinstance(schema[name].dataType, StringType)] if len(keys) > 1 else []
    conditions = {name: column_named(name).isin(*NOTHING) for name in texts}
    following = dict(pairwise(keys))
    for name in texts[:-1]:
        conditions[name] |= column_named(name).contains(f",{following[name]}:")
    return conditions
