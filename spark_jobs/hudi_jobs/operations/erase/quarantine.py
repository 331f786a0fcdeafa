"""Records of a quarantine that have a key which is erased: they go, and every other record stays.

What stays of a file is written under a new name before the file is deleted, so a run may be killed in between: then
records are there twice until the next run, and none is lost.
"""

import json
import re

from pyspark.sql import functions as sf

from hudi_jobs.classification import stage
from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.filesystem import located
from hudi_jobs.jvm import JavaObject
from hudi_jobs.operations.erase.keys import Keys
from hudi_jobs.operations.erase.scan import File, among, files_below, search

LARGEST = 256 * 1024 * 1024
"""Bytes of a file that is written anew."""

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*:(?=/)")
_KEPT = "kept-"
_RECORD = "record"


def erase_from(context: TaskContext, folders: tuple[str, ...], keys: Keys) -> int:
    """Remove the records with a key from the files of some folders; return how many there were."""
    removed = 0
    for folder in folders:
        files = _plain(_own(context, folder))
        with stage("The quarantine cannot be searched", otherwise=FailureReason.HUDI_ERROR):
            holding = search(context, files, keys).found | _by_value(context, files, keys)
        for file in files:
            if file.path in holding:
                removed += _rewrite(context, file, keys)
    return removed


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
    lines = context.spark.newSession().read.text([file.path for file in files])
    record = sf.get_json_object("value", f"$.{_RECORD}")
    places = [f"_{place}" for place in range(len(keys.fields))]
    values = {
        place: sf.get_json_object(record, f"$['{field}']") for place, field in zip(places, keys.fields, strict=True)
    }
    schema = ", ".join(f"{place} STRING" for place in places)
    wanted = sf.broadcast(lines.sparkSession.createDataFrame(sorted(keys.values), schema))
    found = (
        lines.withColumn("file", sf.col("_metadata.file_name")).withColumns(values).join(wanted, places, "left_semi")
    )
    return among([file.path for file in files], found)


def _rewrite(context: TaskContext, file: File, keys: Keys) -> int:
    if file.size > LARGEST:
        raise TaskFailed(
            FailureReason.NOT_ERASED,
            f"The quarantine {file.path} has more than {LARGEST:,} bytes, so it is not written anew; delete it.",
        )
    texts = WholeTexts(keys)
    with stage("The quarantine cannot be written anew", otherwise=FailureReason.HUDI_ERROR):
        filesystem, path = located(context.spark, file.path)
        lines = [str(row[0]) for row in context.spark.read.text(file.path).collect()]
        kept = [line for line in lines if not _is_about(line, keys, texts)]
        if kept:
            folder, _, name = file.path.rpartition("/")
            _, new = located(context.spark, f"{folder}/{_KEPT}{name.removeprefix(_KEPT)}")
            _write(filesystem, new, "".join(f"{line}\n" for line in kept).encode())
        if not kept or not file.name.startswith(_KEPT):
            filesystem.delete(path, False)  # noqa: FBT003 - Java's own
    return len(lines) - len(kept)


class WholeTexts:
    """Finds a key in a text where it stands as a whole, as `KeyScanner` does: of very many keys as fast as of one."""

    def __init__(self, keys: Keys) -> None:
        texts = [text.decode() for text in keys.in_bytes]
        self._length = min(map(len, texts), default=0)
        self._by_beginning: dict[str, list[str]] = {}
        for text in texts:
            self._by_beginning.setdefault(text[: self._length], []).append(text)

    def are_in(self, line: str) -> bool:
        """Tell whether one of them is in a line."""
        if not self._by_beginning:
            return False
        length, known = self._length, self._by_beginning
        return any(
            line.startswith(text, start) and _stands_alone(line, start, start + len(text))
            for start in range(len(line) - length + 1)
            for text in known.get(line[start : start + length], ())
        )


def _stands_alone(line: str, start: int, end: int) -> bool:
    follows = _is_word(line[end : end + 1]) or (line[end : end + 1] == "." and _is_word(line[end + 1 : end + 2]))
    return not follows and not _is_word(line[max(start - 1, 0) : start])


def _is_word(character: str) -> bool:
    return character.isalnum() or (character != "" and character in "_-@")


def _is_about(line: str, keys: Keys, texts: WholeTexts) -> bool:
    """Tell whether a record has a key: by its key fields, else by its text."""
    try:
        record = json.loads(json.loads(line)[_RECORD])
        values = tuple(_text(record[field]) for field in keys.fields)
    except (ValueError, KeyError, TypeError, RecursionError):
        return texts.are_in(line)
    return values in keys.values or texts.are_in(line)


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _write(filesystem: JavaObject, path: JavaObject, content: bytes) -> None:
    stream = filesystem.create(path, True)  # noqa: FBT003 - Java's own
    try:
        stream.write(bytearray(content))
    finally:
        stream.close()
