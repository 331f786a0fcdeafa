"""Refuses keys that also appear in other rows: the files of these rows would still contain the key."""

from collections.abc import Collection, Iterable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.local_frame import local_frame
from hudi_jobs.operations.erase.keys import Keys, file_group
from hudi_jobs.operations.erase.search.scan import File, Scanner, group_of, is_log
from hudi_jobs.operations.erase.search.texts import WholeTexts
from hudi_jobs.operations.refusal import refused
from hudi_jobs.schemas.types import column_named, has_type

_NAMED = 5
_KINDS: tuple[type[DataType], ...] = (StringType, BinaryType)
_BETWEEN = "\u2028"
"""Separator between a value's texts; it extends no word, and its bytes are no length prefix."""


def require_in_no_other_row(
    context: TaskContext, others: DataFrame, data: Iterable[File], holding: Collection[str], keys: Keys
) -> None:
    """Refuse keys that remaining rows hold in other columns; `holding` are the table's files with a key."""
    if not keys.in_bytes:
        return
    rows, columns = mentions(context, _in_files(others, data, holding), keys)
    if rows:
        named = listed([WholeTexts(keys).masked(name) for name in columns], _NAMED)
        raise refused(
            f"{counted(rows, 'row')} with other keys {'holds' if rows == 1 else 'hold'} one of these keys in another "
            f"column ({named}), and the key would stay in the files of these rows. Change these values first, or erase "
            "these rows as well."
        )


def mentions(context: TaskContext, rows: DataFrame, keys: Keys) -> tuple[int, list[str]]:
    """Return the number of rows with a key in a text, nested texts included, and the columns of these texts."""
    fields = [(field, kind) for field in rows.schema.fields for kind in _KINDS if has_type(field.dataType, kind)]
    values = [_joined(column_named(field.name), field.dataType, kind) for field, kind in fields]
    texts = rows.select(*(value.alias(f"_{place}") for place, value in enumerate(values)))
    count, *counts = Scanner(context, keys.in_bytes).count(texts)
    return count, list(dict.fromkeys(field.name for (field, _), found in zip(fields, counts, strict=False) if found))


def _in_files(rows: DataFrame, data: Iterable[File], holding: Collection[str]) -> DataFrame:
    """Return the rows without those of file groups that hold no key.

    The search does not see where every value of a log file ends, so groups with a log file are kept.
    """
    groups: dict[str, bool] = {}
    for file in data:
        group = group_of(file.name)
        groups[group] = groups.get(group, False) or file.path in holding or is_log(file.path)
    without = local_frame(
        rows.sparkSession, ([group] for group, looked in groups.items() if not looked), "group STRING"
    )
    return rows.join(sf.broadcast(without), file_group() == without["group"], "left_anti")


def _joined(value: Column, kind: DataType, wanted: type[DataType]) -> Column:
    """Return all texts of a value as a single text, or all bytes as a byte string with length prefixes."""
    joined = sf.array_join(_all_in(value, kind, wanted), _BETWEEN)
    return joined.cast("binary") if wanted is BinaryType else joined


def _all_in(value: Column, kind: DataType, wanted: type[DataType]) -> Column:
    """Return all texts or bytes in a value, as an array of texts."""
    none = sf.array().cast("array<string>")
    match kind:
        case StructType():
            fields = [field for field in kind.fields if has_type(field.dataType, wanted)]
            inner = [_all_in(value.getField(field.name), field.dataType, wanted) for field in fields]
            return sf.concat(none, *inner)
        case ArrayType() if has_type(kind.elementType, wanted):
            element = kind.elementType
            return sf.coalesce(sf.flatten(sf.transform(value, lambda each: _all_in(each, element, wanted))), none)
        case MapType():
            keys = _all_in(sf.map_keys(value), ArrayType(kind.keyType), wanted)
            return sf.concat(keys, _all_in(sf.map_values(value), ArrayType(kind.valueType), wanted))
        case _ if isinstance(kind, wanted):
            return sf.array(value.cast("string"))
        case _:
            return none
