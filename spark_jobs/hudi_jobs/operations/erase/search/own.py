"""Searches the operator's own documents below a table, only in texts from outside.

The documents' names, fields and enumerated values are the same for every table, and numbers are counts, so none of them
tells anything about a row.
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
from hudi_jobs.contract.operations.told import TOLD_FILE
from hudi_jobs.contract.order import ORDER_FILE, OrderState
from hudi_jobs.contract.progress import PROGRESS_FILE, ProgressState
from hudi_jobs.contract.wording import listed
from hudi_jobs.failures.classification import stage
from hudi_jobs.journal.journal import RECORD_FILE, RECORD_LIMIT
from hudi_jobs.jvm import classes
from hudi_jobs.lease.leases import INGESTION_LEASE, SERVICES_LEASE, State
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.search.scan import META_FOLDER, METADATA_TABLE, File, Search, located_path, search
from hudi_jobs.operations.erase.search.texts import WholeTexts, before_the_name
from hudi_jobs.operations.refusal import refused

_NAMED = 3
_DRAFT = ".draft"
"""Suffix of a document in writing on a local disk (`LocalFiles`): a partial document is damaged for a moment."""

_DOCUMENTS = frozenset({INGESTION_LEASE, ORDER_FILE, OWNER_FILE, PROGRESS_FILE, RECORD_FILE, SERVICES_LEASE, TOLD_FILE})
_CHOICES = (FailureReason, OperationKind, OperationPhase, OrderState, Outcome, ProgressState, RunMode, Service, State)
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
    below = path.removeprefix(f"{base.rstrip('/')}/")
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
            "table, the HudiOperation, the file of its report, or a table that reads this table. So no search could "
            "show that the key is gone. Give the HudiOperation or the folder of reports another name if it is theirs; "
            "otherwise erase the other keys without this key."
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
    return f"{located_path(context, context.task.table.base_path).rstrip('/')}/"


def paths_shown(paths: Collection[str], hidden: Mapping[str, str | None]) -> str:
    """Return the paths for a message, with the printable part from `hidden` where a name holds a key."""
    return listed(sorted({hidden.get(path) or path for path in paths}), _NAMED)
