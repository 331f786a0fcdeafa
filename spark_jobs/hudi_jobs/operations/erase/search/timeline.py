"""Refuses keys in Hudi's own folder and in names, because an erasure cannot remove them there.

Commits name input files in their checkpoints. Up to Hudi 0.15, commits with log files also have statistics of all
columns, with the least and the greatest record key (`HoodieDeltaWriteStat.recordsStats`). Hudi 1.2.0 writes none, and
drops them when it archives a commit or upgrades the table.
"""

import json
from collections.abc import Collection, Iterable

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.wording import listed
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import located, read_bytes
from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.search.own import paths_shown, shown_name
from hudi_jobs.operations.erase.search.scan import (
    META_FOLDER,
    METADATA_TABLE,
    File,
    Search,
    is_data,
    located_path,
    search,
)
from hudi_jobs.operations.erase.search.texts import WholeTexts
from hudi_jobs.operations.refusal import refused
from hudi_jobs.services.timeline import Savepoint

LARGEST = 64 * 1024 * 1024
"""Bytes; the largest commit to look into."""

_NAMED = 3
_STATISTICS = "recordsStats"
_VALUE = "val"
"""Jackson's field for the content of an `Option`."""


def require_unnamed(context: TaskContext, files: Collection[File], keys: Keys, released: Collection[Savepoint]) -> None:
    """Refuse keys in Hudi's folder, except in the metadata table and released savepoints: the erasure removes those.

    Statistics may hold a short key, or a key of digits, without a trace: offsets and sizes have digits too.
    """
    base = located_path(context, context.task.table.base_path)
    staying = [file for file in files if _stays(file, f"{base.rstrip('/')}/", {each.instant for each in released})]
    texts = WholeTexts(keys)
    _require_unnamed_folders((file.path for file in files if is_data(file.path)), base, texts)
    hidden = {file.path: shown_name(file.path, base, texts) for file in staying}
    seen = search(context, staying, keys)
    naming = seen.found | {path for path, shown in hidden.items() if shown is not None}
    are_told = keys.are_all_in_bytes and not keys.have_numbers
    suspects = [file for file in staying if file.path in naming or not are_told]
    with_statistics = _with_statistics(context, suspects)
    if with_statistics:
        raise refused(
            f"Commits of Hudi 0.15 or older have statistics of record keys: {paths_shown(with_statistics, hidden)}. "
            "Upgrade the table with a HudiOperation, which writes its commits without them, or wait until they are "
            "archived, and erase again."
        )
    if naming:
        raise refused(
            f"Hudi's own folder names a key, as a commit names its input files: {paths_shown(naming, hidden)}. Hudi "
            "needs its commits, so leave these files where they are: write the other rows to a new table, and remove "
            "this table as a whole."
        )
    if seen.unread:
        raise refused(
            f"Files in Hudi's own folder cannot be read as a whole: {paths_shown(seen.unread, hidden)}. Find out "
            "what they are, and move away those that are not Hudi's."
        )


def _require_unnamed_folders(paths: Iterable[str], base: str, texts: WholeTexts) -> None:
    named = {shown for shown in (shown_name(path, base, texts) for path in paths) if shown is not None}
    if named:
        raise refused(
            f"Folders or files of the table are named by a key: {listed(sorted(named), _NAMED)}. They stay with the "
            "rows in them, so write the other rows to a new table that is not partitioned so, and remove this table "
            "as a whole."
        )


def has_statistics(content: str) -> bool:
    """Tell whether a commit has column statistics of log files, or cannot be parsed."""
    found = []

    def look(document: dict[str, object]) -> dict[str, object]:
        told = document.get(_STATISTICS)
        found.append(told.get(_VALUE) if isinstance(told, dict) and told.keys() == {_VALUE} else told)
        return document

    try:
        json.loads(content, object_hook=look)
    except (ValueError, RecursionError):
        return True
    return any(found)


def _stays(file: File, root: str, released: Collection[str]) -> bool:
    below = file.path.removeprefix(root)
    is_released = (
        file.name.endswith(".savepoint") and file.name.removesuffix(".savepoint").partition("_")[0] in released
    )
    return below.startswith(f"{META_FOLDER}/") and not below.startswith(f"{METADATA_TABLE}/") and not is_released


def _with_statistics(context: TaskContext, files: list[File]) -> set[str]:
    named = Keys(fields=(), values=frozenset(), records=frozenset({_STATISTICS}), digest="")
    seen: Search = search(context, files, named)
    sizes = {file.path: file.size for file in files}
    return {path for path in seen.found if sizes[path] > LARGEST or has_statistics(_read(context, path))}


def _read(context: TaskContext, path: str) -> str:
    with stage("The timeline cannot be read", otherwise=FailureReason.HUDI_ERROR):
        return read_bytes(context.spark, *located(context.spark, path)).decode(errors="replace")
