"""Writes the message on files that still hold a key after the rows are deleted."""

from collections.abc import Iterable, Mapping

from hudi_jobs.contract import OPERATOR_FOLDER
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.operations.erase.search.scan import META_FOLDER, is_data
from hudi_jobs.operations.erase.search.strays import is_of_table

_NAMED = 3
_OF_OPERATOR = f"/{OPERATOR_FOLDER}/"


def left_said(left: Mapping[str, str], *, by_predicate: bool) -> str:
    """Return the message for the files, with the printable part of each path.

    The predicate selects no rows any more, so the same erasure would find nothing to do.
    """
    kept = {path for path in left if not is_data(path) or _OF_OPERATOR in path}
    of_table = {path for path in left.keys() - kept if is_of_table(path)}
    strange = left.keys() - kept - of_table
    count = len(shown(left, left))
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


def shown(left: Mapping[str, str], paths: Iterable[str]) -> list[str]:
    """Return the printable names of the files, without duplicates."""
    return sorted({left[path] for path in paths})


def _listed(left: Mapping[str, str], paths: Iterable[str]) -> str:
    return listed(shown(left, paths), _NAMED)
