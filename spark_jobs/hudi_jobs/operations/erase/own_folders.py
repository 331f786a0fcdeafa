"""Refuses keys in the operator's own documents and in Hudi's own folder, where an erasure cannot remove them.

The documents' names, fields and enumerated values are the same for every table, and numbers are counts, so none of them
tells anything about a row.

Commits name input files in their checkpoints. Up to Hudi 0.15, commits with log files also have statistics of all
columns, with the least and the greatest record key (`HoodieDeltaWriteStat.recordsStats`). Hudi 1.2.0 writes none, and
drops them when it archives a commit or upgrades the table.
"""

import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import (
    OPERATOR_FOLDER,
    OWNER_FILE,
    FailureReason,
    OperationKind,
    OperationPhase,
    Outcome,
    RunMode,
    Service,
)
from hudi_jobs.contract.catalogs.catalog import CATALOG_FILE, SyncTrouble
from hudi_jobs.contract.operator_folder import ORDER_FILE, PROGRESS_FILE, TOLD_FILE, OrderState, ProgressState
from hudi_jobs.contract.run_progress import INGESTION_LEASE, SERVICES_LEASE, ProgressUnit, RunPhase
from hudi_jobs.contract.statistics import STATISTICS_FILE
from hudi_jobs.contract.table.location import beginning_of
from hudi_jobs.contract.wording import listed
from hudi_jobs.journal.journal import RECORD_FILE, RECORD_LIMIT
from hudi_jobs.lease.leases import State
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.scan import (
    META_FOLDER,
    METADATA_TABLE,
    File,
    Search,
    WholeTexts,
    before_the_name,
    is_data,
    located_path,
    search,
)
from hudi_jobs.operations.refusal import refused
from hudi_jobs.spark.failures import stage
from hudi_jobs.spark.filesystem import located, read_bytes
from hudi_jobs.spark.jvm import classes
from hudi_jobs.statistics.renewal import ROWS_FILE
from hudi_jobs.table_services.timeline import Savepoint

_NAMED = 3
_DRAFT = ".draft"
"""Suffix of a document in writing on a local disk (`LocalFiles`): a partial document is damaged for a moment."""

_DOCUMENTS = frozenset(
    {
        CATALOG_FILE,
        INGESTION_LEASE,
        ORDER_FILE,
        OWNER_FILE,
        PROGRESS_FILE,
        RECORD_FILE,
        ROWS_FILE,
        SERVICES_LEASE,
        STATISTICS_FILE,
        TOLD_FILE,
    }
)
_CHOICES = (
    FailureReason,
    OperationKind,
    OperationPhase,
    OrderState,
    Outcome,
    ProgressState,
    ProgressUnit,
    RunMode,
    RunPhase,
    Service,
    State,
    SyncTrouble,
)
_WORDS = frozenset(str(word.value) for words in _CHOICES for word in words)

_FIXED_NAMES = frozenset(
    {
        ".bucket_index",
        ".heartbeat",
        ".index_defs",
        ".schema",
        "archived",
        "deletes",
        "files",
        "history",
        "hoodie.properties",
        "hoodie.properties.backup",
        "removed",
        "timeline",
    }
)
_FIXED_FORMS = re.compile(r"manifest_[0-9]+|[0-9]{14,17}(_[0-9]{14,17})?(_[0-9]+)?(\.[a-z]+){0,2}")
"""Names of Hudi's instants (`InstantFileNameGenerator`): time, action, state; and of its archive (`LSMTimeline`).
"""


def search_below(context: TaskContext, files: Iterable[File], keys: Keys) -> Search:
    """Search every byte of files below the table, and the texts of the operator's documents."""
    root = _root(context)
    documents: list[File] = []
    others: list[File] = []
    for file in files:
        (documents if _is_document(file.path.removeprefix(root)) else others).append(file)
    seen, texts = search(context, others, keys), WholeTexts(keys)
    stored = open_table_files(context.spark, context.task.table.base_path, limit=RECORD_LIMIT)
    for file in documents:
        with stage("The operator's own folder cannot be read", otherwise=FailureReason.HUDI_ERROR):
            found = stored.read(file.name)
        seen.files, seen.size = seen.files + 1, seen.size + file.size
        told = [] if found is None else texts_from_outside(found[0])
        if any(texts.are_in(text, names_files=True) for text in told or ()):
            seen.found.add(file.path)
        elif told is None and not file.name.endswith(_DRAFT):
            seen.unread.add(file.path)
    return seen


def texts_from_outside(content: bytes) -> list[str] | None:
    """Return the texts of a document without enumerated values, or None when it is no document."""
    try:
        return [text for text in _texts(json.loads(content)) if text not in _WORDS]
    except (ValueError, RecursionError):
        return None


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def shown_name(path: str, base: str, texts: WholeTexts) -> str | None:
    """Return the printable part of a path with a key in a name below the table; None without such a name.

    Hudi's and the operator's own names are the same for every table, and are not searched.
    """
    shown = before_the_name(path, base, texts)
    if shown is None:
        return None
    below = path.removeprefix(beginning_of(base))
    if not below.startswith((f"{META_FOLDER}/", f"{OPERATOR_FOLDER}/")):
        return shown
    if below.startswith(f"{METADATA_TABLE}/") or _is_document(below):
        return None
    free = [name for name in below.split("/")[1:] if name not in _FIXED_NAMES and not _FIXED_FORMS.fullmatch(name)]
    return shown if before_the_name("/".join(free), "", texts) is not None else None


def require_not_written(keys: Keys, written: Iterable[str]) -> None:
    """Refuse keys that the operation itself would write."""
    if any(map(WholeTexts(keys).are_in, written)):
        raise refused(
            "One of the keys is also a name that the operator writes below the table: that of the namespace, the "
            "table, the HudiOperation, the file of its report, the entry in the catalog, or a table that reads this "
            "table. So no search could show that the key is gone. Give the HudiOperation or the folder of reports "
            "another name if it is theirs; otherwise erase the other keys without this key."
        )


def require_none_of_ours(context: TaskContext, files: Iterable[File], keys: Keys) -> None:
    """Refuse keys that appear in the operator's folder."""
    texts = WholeTexts(keys)
    base = located_path(context, context.task.table.base_path)
    ours = [file for file in files if file.path.startswith(f"{_root(context)}{OPERATOR_FOLDER}/")]
    seen = search_below(context, ours, keys)
    hidden = {file.path: shown_name(file.path, base, texts) for file in ours}
    naming = seen.found | {path for path, shown in hidden.items() if shown is not None}
    if naming:
        raise refused(
            f"The operator's own folder names a key: {paths_shown(naming, hidden)}. Ingestion and operations need "
            "these files, so leave them where they are; only copies that a repair has made (removed) may be deleted. "
            f"The records in {RECORD_FILE} are those of the newest operations. If another file names the key, write "
            "the other rows to a new table, and remove this table as a whole."
        )
    if seen.unread:
        raise refused(
            f"Files in the operator's own folder cannot be read as a whole: {paths_shown(seen.unread, hidden)}. Find "
            "out what they are, and move away those that no run has written."
        )


def require_no_word_of_metadata(context: TaskContext, keys: Keys) -> None:
    """Refuse keys that are words of the metadata table's schema: each of its files contains the schema."""
    avro = classes(context.spark).org.apache.hudi.avro.model
    if WholeTexts(keys).are_in(str(avro.HoodieMetadataRecord.getClassSchema().toString())):
        raise refused(
            "One of the keys is also a word of the schema of Hudi's metadata table, which is in each file of that. So "
            "no search could show that the key is gone. Erase the other keys without this key."
        )


def _is_document(below: str) -> bool:
    folder, _, name = below.partition("/")
    return folder == OPERATOR_FOLDER and name.removeprefix(".").removesuffix(_DRAFT) in _DOCUMENTS


def _root(context: TaskContext) -> str:
    return beginning_of(located_path(context, context.task.table.base_path))


def paths_shown(paths: Collection[str], hidden: Mapping[str, str | None]) -> str:
    """Return the paths for a message, with the printable part from `hidden` where a name holds a key."""
    return listed(sorted({hidden.get(path) or path for path in paths}), _NAMED)


LARGEST = 64 * 1024 * 1024
"""Bytes; the largest commit to look into."""

_STATISTICS = "recordsStats"
_VALUE = "val"
"""Jackson's field for the content of an `Option`."""


def require_unnamed(context: TaskContext, files: Collection[File], keys: Keys, released: Collection[Savepoint]) -> None:
    """Refuse keys in Hudi's folder, except in the metadata table and released savepoints: the erasure removes those.

    Statistics may hold a short key, or a key of digits, without a trace: offsets and sizes have digits too.
    """
    base = located_path(context, context.task.table.base_path)
    staying = [file for file in files if _stays(file, beginning_of(base), {each.instant for each in released})]
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
