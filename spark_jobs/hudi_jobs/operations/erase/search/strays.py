"""Finds files below a table that do not belong to it: nothing can show that they hold no key.

A search in bytes does not find short keys, and a foreign file may hold a key as a number, in another encoding, or
compressed in an unknown way.

A table's own files are, in its partitions, base files (record keys are compared), log files (none is left), and
partition markers. The metadata table is rebuilt, and the rest of Hudi's folder is searched before any write
(`timeline.py`).
"""

import re
from collections.abc import Collection, Iterable

from hudi_jobs.contract import OPERATOR_FOLDER
from hudi_jobs.contract.wording import listed
from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.search.scan import META_FOLDER, File, is_base
from hudi_jobs.operations.erase.search.texts import WholeTexts, before_the_name

_NAMED = 3
_OWN_FOLDERS = (f"{META_FOLDER}/", f"{OPERATOR_FOLDER}/")
_OF_HUDI = (
    re.compile(r"\.[^._/]+_[^./]*\.log\.[0-9]+(_[0-9]+-[0-9]+-[0-9]+(\.cdc)?)?"),
    re.compile(r"\.hoodie_partition_metadata(_[0-9A-Za-z-]+)?(\.parquet|\.orc)?"),
)
"""Names of log files (`FSUtils.LOG_FILE_PATTERN`) and of `HoodiePartitionMetadata`, also half-written files."""


def strays(files: Iterable[File], base: str) -> set[str]:
    """Return the files below a table that do not belong to it."""
    root = f"{base.rstrip('/')}/"
    return {file.path for file in files if file.size and not _is_own(file.path.removeprefix(root))}


def strays_shown(paths: Collection[str], base: str, keys: Keys) -> dict[str, str]:
    """Return the printable part of each path: a name that holds a key, also a short key, is cut off."""
    if not paths:
        return {}
    texts = WholeTexts(keys, also_short=True)
    return {path: before_the_name(path, base, texts) or path for path in paths}


def strays_refused(paths: Collection[str], base: str, keys: Keys) -> str:
    """Return the refusal for foreign files, with advice."""
    shown = strays_shown(sorted(paths)[:_NAMED], base, keys)
    named = sorted(set(shown.values()))
    names = listed(named, _NAMED, count=len(named) + len(paths) - len(shown))
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
