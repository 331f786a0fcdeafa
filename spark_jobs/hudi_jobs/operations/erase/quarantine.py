"""Records of a quarantine that have a key which is erased: they go, and every other record stays.

What stays of a file is written under a new name before the file is deleted, so a run may be killed in between: then
records are there twice until the next run, and none is lost.
"""

import json
import re

from pyspark.sql import Column
from pyspark.sql import functions as sf

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import exact, located
from hudi_jobs.jvm import JavaObject
from hudi_jobs.local_frame import local_frame
from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.search.scan import File, among, files_below, search
from hudi_jobs.operations.erase.search.texts import WholeTexts
from hudi_jobs.operations.refusal import refused

LARGEST = 256 * 1024 * 1024
"""Bytes of a file that is written anew."""

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?=/)")
_KEPT, _KEPT_AGAIN = "kept-", "kept2-"
_RECORD = "record"


def count_in(context: TaskContext, folders: tuple[str, ...], keys: Keys) -> int:
    """Return how many records of some folders have a key; refuse files of which none could be removed."""
    texts, count = WholeTexts(keys), 0
    for folder in folders:
        files = _own(context, folder)
        with stage("The quarantine cannot be searched", otherwise=FailureReason.HUDI_ERROR):
            seen = search(context, files, keys)
        records = _plain(files)
        odd = seen.unread | (seen.found - {file.path for file in records})
        odd |= {file.path for file in records if file.path in seen.found and file.size > LARGEST}
        if odd:
            raise refused(
                f"The file {min(odd)} of the quarantine cannot be read as a whole, has more than {LARGEST:,} bytes, "
                "or holds a key although no run wrote it; inspect the file, and delete it."
            )
        holding = seen.found | _by_value(context, records, keys)
        count += sum(len(_lines(context, file, keys, texts)[1]) for file in records if file.path in holding)
    return count


def erase_from(context: TaskContext, folders: tuple[str, ...], keys: Keys) -> None:
    """Remove the records with a key from the files of some folders."""
    texts = WholeTexts(keys)
    for folder in folders:
        files = _plain(_own(context, folder))
        with stage("The quarantine cannot be searched", otherwise=FailureReason.HUDI_ERROR):
            holding = search(context, files, keys).found | _by_value(context, files, keys)
        for file in (file for file in files if file.path in holding):
            _rewrite(context, file, *_lines(context, file, keys, texts))


def holding_in(context: TaskContext, folders: tuple[str, ...], keys: Keys) -> set[str]:
    """Return the files of some folders that hold a key, or cannot be searched."""
    found: set[str] = set()
    for folder in folders:
        files = _own(context, folder)
        with stage("The quarantine cannot be searched", otherwise=FailureReason.HUDI_ERROR):
            searched = search(context, files, keys)
            found |= searched.found | searched.unread | _by_value(context, _plain(files), keys)
    return found


def _own(context: TaskContext, folder: str) -> list[File]:
    """Return the files of this table: other tables may have the same folder, and the same value as another key.

    Below the folder of a run is that of its task, which is named by the namespace and name of the table.
    """
    task = context.task.id
    table = (task.rpartition("/")[0] or task).split("/")
    root = _segments(str(located(context.spark, folder)[1].toString()))
    found = []
    for file in files_below(context, folder):
        below = _segments(file.path)[len(root) + 1 :]
        if below[: len(table)] == table:
            found.append(file)
    return found


def _segments(path: str) -> list[str]:
    """Return the folders of a path, whatever its scheme is written like."""
    return [name for name in _SCHEME.sub("", path).split("/") if name]


def _plain(files: list[File]) -> list[File]:
    return [file for file in files if file.name.endswith(".json")]


def _by_value(context: TaskContext, files: list[File], keys: Keys) -> set[str]:
    """Return the files with a record whose key fields have the values of a key."""
    if not files:
        return set()
    lines = context.spark.newSession().read.text([exact(file.path) for file in files])
    record = sf.get_json_object("value", f"$.{_RECORD}")
    places = [f"_{place}" for place in range(len(keys.fields))]
    values = {place: _in_json(record, field) for place, field in zip(places, keys.fields, strict=True)}
    schema = ", ".join(f"{place} STRING" for place in places)
    wanted = sf.broadcast(local_frame(lines.sparkSession, sorted(keys.plain_values), schema))
    found = (
        lines.withColumn("file", sf.col("_metadata.file_name")).withColumns(values).join(wanted, places, "left_semi")
    )
    return among([file.path for file in files], found)


def _in_json(record: Column, field: str) -> Column:
    """Return the text of a field of a record that is JSON, also of one inside another; empty where there is none."""
    inside = "".join(f"['{name}']" for name in field.split("."))
    paths = dict.fromkeys((f"$['{field}']", f"${inside}"))
    return sf.coalesce(*(sf.get_json_object(record, path) for path in paths), sf.lit(""))


def _lines(context: TaskContext, file: File, keys: Keys, texts: WholeTexts) -> tuple[list[str], list[str]]:
    """Return the records of a file that stay, and those that go."""
    if file.size > LARGEST:
        raise TaskFailed(
            FailureReason.NOT_ERASED,
            f"The quarantine {file.path} has more than {LARGEST:,} bytes, so it is not rewritten; delete it.",
        )
    kept: list[str] = []
    gone: list[str] = []
    with stage("The quarantine cannot be read", otherwise=FailureReason.HUDI_ERROR):
        for row in context.spark.read.text(exact(file.path)).collect():
            line = str(row[0])
            (gone if _is_about(line, keys, texts) else kept).append(line)
    return kept, gone


def _rewrite(context: TaskContext, file: File, kept: list[str], gone: list[str]) -> None:
    if not gone:
        return
    with stage("The quarantine cannot be rewritten", otherwise=FailureReason.HUDI_ERROR):
        filesystem, path = located(context.spark, file.path)
        if kept:
            _, new = located(context.spark, f"{file.path.rpartition('/')[0]}/{_new_name(file.name)}")
            _write(filesystem, new, "".join(f"{line}\n" for line in kept).encode())
        filesystem.delete(path, False)  # noqa: FBT003 - Java's own


def _new_name(name: str) -> str:
    """Return the name of what stays of a file: not its own, for a run may be killed while it writes."""
    bare = name.removeprefix(_KEPT).removeprefix(_KEPT_AGAIN)
    return f"{_KEPT_AGAIN if name.startswith(_KEPT) else _KEPT}{bare}"


def _is_about(line: str, keys: Keys, texts: WholeTexts) -> bool:
    """Tell whether a record has a key: by its key fields, else by its text."""
    if texts.are_in(line):
        return True
    try:
        record = json.loads(json.loads(line)[_RECORD])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False
    return tuple(_text(_value(record, field)) for field in keys.fields) in keys.plain_values


def _value(record: object, field: str) -> object:
    """Return the value of a field, also of one inside of another; None where there is none."""
    if isinstance(record, dict) and field in record:
        return record[field]
    name, _, inside = field.partition(".")
    return _value(record.get(name), inside) if inside and isinstance(record, dict) else None


def _text(value: object) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else json.dumps(value)


def _write(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    stream = filesystem.create(path, True)  # noqa: FBT003 - Java's own
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()
