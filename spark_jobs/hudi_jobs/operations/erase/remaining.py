"""Finds what would still hold a key after the rows are deleted: other rows, and files of nobody.

A search in bytes does not find short keys, and a foreign file may hold a key as a number, in another encoding, or
compressed in an unknown way.

A table's own files are, in its partitions, base files (record keys are compared), log files (none is left), and
partition markers. The metadata table is rebuilt, and the rest of Hudi's folder is searched before any write
(`own_folders.py`).
"""

import re
from collections.abc import Collection, Iterable, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ArrayType, BinaryType, DataType, MapType, StringType, StructType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import OPERATOR_FOLDER
from hudi_jobs.contract.table.location import beginning_of
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.frames import local_frame
from hudi_jobs.operations.erase.keys import Keys, file_group
from hudi_jobs.operations.erase.scan import (
    META_FOLDER,
    File,
    Scanner,
    WholeTexts,
    before_the_name,
    group_of,
    is_base,
    is_data,
    is_log,
)
from hudi_jobs.operations.refusal import refused
from hudi_jobs.schemas.types import column_named, has_type

_NAMED_COLUMNS = 5
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
        named = listed([WholeTexts(keys).masked(name) for name in columns], _NAMED_COLUMNS)
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


_NAMED_FILES = 3
_OWN_FOLDERS = (f"{META_FOLDER}/", f"{OPERATOR_FOLDER}/")
_OF_HUDI = (
    re.compile(r"\.[^._/]+_[^./]*\.log\.[0-9]+(_[0-9]+-[0-9]+-[0-9]+(\.cdc)?)?"),
    re.compile(r"\.hoodie_partition_metadata(_[0-9A-Za-z-]+)?(\.parquet|\.orc)?"),
)
"""Names of log files (`FSUtils.LOG_FILE_PATTERN`) and of `HoodiePartitionMetadata`, also half-written files."""


def strays(files: Iterable[File], base: str) -> set[str]:
    """Return the files below a table that do not belong to it."""
    root = beginning_of(base)
    return {file.path for file in files if file.size and not _is_own(file.path.removeprefix(root))}


def strays_shown(paths: Collection[str], base: str, keys: Keys) -> dict[str, str]:
    """Return the printable part of each path: a name that holds a key, also a short key, is cut off."""
    if not paths:
        return {}
    texts = WholeTexts(keys, also_short=True)
    return {path: before_the_name(path, base, texts) or path for path in paths}


def strays_refused(paths: Collection[str], base: str, keys: Keys) -> str:
    """Return the refusal for foreign files, with advice."""
    shown = strays_shown(sorted(paths)[:_NAMED_FILES], base, keys)
    named = sorted(set(shown.values()))
    names = listed(named, _NAMED_FILES, count=len(named) + len(paths) - len(shown))
    hidden = "" if all(path == said for path, said in shown.items()) else " (... is a name with a key in it)"
    return (
        "Below the table are files that are not its own, and nothing can show that they hold none of the keys: "
        f"{names}{hidden}. Move them out of the table's folder, or remove them, and erase again."
    )


def _is_own(below: str) -> bool:
    return below.startswith(_OWN_FOLDERS) or is_of_table(below)


def is_of_table(path: str) -> bool:
    """Tell whether a file has the name of a data file or a partition marker."""
    name = path.rpartition("/")[2]
    return is_base(name) or any(each.fullmatch(name) for each in _OF_HUDI)


_NAMED = 3
_OF_OPERATOR = f"/{OPERATOR_FOLDER}/"


def left_said(left: Mapping[str, str], *, by_predicate: bool) -> str:
    """Return the message for the files, with the printable part of each path.

    The predicate selects no rows any more, so the same erasure would find nothing to do.
    """
    kept = {path for path in left if not is_data(path) or _OF_OPERATOR in path}
    of_table = {path for path in left.keys() - kept if is_of_table(path)}
    strange = left.keys() - kept - of_table
    count = len(printable_names(left, left))
    hold = "holds" if count == 1 else "hold"
    said = [f"The rows are deleted, but {counted(count, 'file')} still {hold} a key, or cannot be searched."]
    if of_table:
        said.append(
            f"Leave the table's own files as they are: {_listed(left, of_table)}. A dry run that erases the same keys "
            "says which savepoints keep them and which columns of other rows hold a key; files of no commit are for "
            "repair.removeOrphanFiles."
        )
    if kept:
        said.append(
            f"Do not remove files in {META_FOLDER} or {OPERATOR_FOLDER} by hand: {_listed(left, kept)}. "
            "The table needs its commits, even those that name a key."
        )
    if strange:
        said.append(f"Inspect other files, and remove them: {_listed(left, strange)}.")
    again = ", listed as keys: the predicate (where) selects none of them any more" if by_predicate else ""
    return f"{' '.join(said)} Then erase the same keys again{again}."


def printable_names(left: Mapping[str, str], paths: Iterable[str]) -> list[str]:
    """Return the printable names of the files, without duplicates."""
    return sorted({left[path] for path in paths})


def _listed(left: Mapping[str, str], paths: Iterable[str]) -> str:
    return listed(printable_names(left, paths), _NAMED)
