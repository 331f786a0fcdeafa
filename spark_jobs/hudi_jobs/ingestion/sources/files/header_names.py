"""Compares the columns in files: present, missing and ambiguous names."""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.failures import TaskFailed

_MOST_NAMED = 12
_LONGEST_NAME = 60
_WORD = re.compile(r"[\w.-]+")

Header = tuple[str, ...]
"""The names in a header, or of the columns in a footer, in the order of the file."""


@dataclass(frozen=True)
class HeaderGroup:
    """Files with the same header."""

    header: Header
    paths: tuple[str, ...]


def grouped(paths: Sequence[str], headers: Sequence[Header | None]) -> list[HeaderGroup]:
    """Return the files by header, in the order of the files; a file without a header has no rows."""
    groups: dict[Header, list[str]] = {}
    for path, header in zip(paths, headers, strict=True):
        if header is not None:
            groups.setdefault(header, []).append(path)
    return [HeaderGroup(header, tuple(members)) for header, members in groups.items()]


def quoted_name(name: str) -> str:
    """Return a name from a file as messages show it: bounded, and quoted unless it is a plain word."""
    cut = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
    return cut if _WORD.fullmatch(cut) else repr(cut)


def quoted_names(names: Collection[str]) -> str:
    """Return names from a file as a list for messages."""
    return listed([quoted_name(name) for name in names], _MOST_NAMED) or "none"


def require_telling(path: str, header: Header) -> None:
    """Raise `TaskFailed` for a column without a name, or two with the same name, even in another case of letters.

    Spark makes up names for such columns (`CSVUtils.makeSafeHeader`), which change with the order of the columns.
    """
    nameless = next((place for place, name in enumerate(header, start=1) if not name.strip()), None)
    if nameless is not None:
        raise _refused(path, f"column {nameless} of its header has no name ({quoted_names(header)})")
    seen: dict[str, str] = {}
    for name in header:
        other = seen.get(name.lower())
        if other == name:
            raise _refused(path, f"its header names the column {quoted_name(name)} twice")
        if other is not None:
            both = f"{quoted_name(other)} and {quoted_name(name)}"
            raise _refused(path, f"the columns {both} of its header differ only in the case of letters")
        seen[name.lower()] = name


def positions(header: Header, declared: Sequence[str]) -> dict[str, int]:
    """Return the positions of the declared columns in a header, in any case of letters; missing columns have none."""
    places = {name.lower(): place for place, name in enumerate(header)}
    return {name: places[name.lower()] for name in declared if name.lower() in places}


def require_declared(groups: Sequence[HeaderGroup], declared: Sequence[str]) -> None:
    """Raise `TaskFailed` for the first header that lacks a declared column."""
    lacking = [group for group in groups if len(positions(group.header, declared)) < len(declared)]
    if lacking:
        missing = [name for name in declared if name not in positions(lacking[0].header, declared)]
        raise _missing(lacking, missing, declared, "Correct the files, or the declared columns.")


def require_same(groups: Sequence[HeaderGroup]) -> None:
    """Raise `TaskFailed` for the first header that lacks a column of another file of the run."""
    wanted = {name.lower(): name for group in groups for name in group.header}
    lacking = [group for group in groups if len(group.header) < len(wanted)]
    if lacking:
        present = {name.lower() for name in lacking[0].header}
        missing = [name for key, name in wanted.items() if key not in present]
        advice = "Correct the files, declare the columns, or set the evolution of the schema to AddColumns."
        raise _missing(lacking, missing, list(wanted.values()), advice)


def lacking_some(groups: Sequence[HeaderGroup]) -> str:
    """Return a sentence about files without columns that other files of the run have, or an empty text."""
    wanted = {name.lower(): name for group in groups for name in group.header}
    without = {name: _paths_without(groups, key) for key, name in wanted.items()}
    absent = [f"{quoted_name(name)} ({_some_of(paths)})" for name, paths in without.items() if paths]
    return f"Columns that files lack are null in their rows: {listed(absent, _MOST_NAMED)}." if absent else ""


def left_out(groups: Sequence[HeaderGroup], declared: Sequence[str]) -> str:
    """Return a sentence about columns of the files that are not declared, or an empty text."""
    known = {name.lower() for name in declared}
    names = dict.fromkeys(name for group in groups for name in group.header if name.lower() not in known)
    if not names:
        return ""
    return f"Left out {counted(len(names), 'column')} that are not declared: {quoted_names(names)}."


def _missing(lacking: Sequence[HeaderGroup], missing: list[str], wanted: Sequence[str], advice: str) -> TaskFailed:
    paths = [path for group in lacking for path in group.paths]
    found = lacking[0].header
    separator = " If these are several columns, set the option sep of the source." if len(found) == 1 else ""
    return TaskFailed(
        FailureReason.COLUMN_MISSING,
        f"{_some(paths)} {_lack(paths)} {'a column' if len(missing) == 1 else 'columns'}: {quoted_names(missing)}. "
        f"Expected: {quoted_names(wanted)}. Found: {quoted_names(found)}.{separator} {advice}",
    )


def _paths_without(groups: Sequence[HeaderGroup], key: str) -> list[str]:
    return [path for group in groups if key not in map(str.lower, group.header) for path in group.paths]


def _some_of(paths: Sequence[str]) -> str:
    return f"{counted(len(paths), 'file')}, such as {paths[0]}" if len(paths) > 1 else paths[0]


def _some(paths: Sequence[str]) -> str:
    more = f" and {counted(len(paths) - 1, 'more file')}" if len(paths) > 1 else ""
    return f"The file {paths[0]}{more}"


def _lack(paths: Sequence[str]) -> str:
    return "lack" if len(paths) > 1 else "lacks"


def _refused(path: str, what: str) -> TaskFailed:
    return TaskFailed(
        FailureReason.SOURCE_UNREADABLE,
        f"The file {path} cannot be read by the names of its columns: {what}. Give each column of the file a name of "
        "its own, or set the option header to false and declare the columns.",
    )
