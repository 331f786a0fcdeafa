"""The keys of the records to erase: their values, their texts in Hudi, and how to recognise them.

Keys stay in the run's memory and in the request. Only their number and a digest are written down.
"""

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sf
from pyspark.sql.types import ByteType, DataType, IntegerType, LongType, ShortType, StringType

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.operations.erase import LONGEST_VALUE, MOST_ERASED, EraseTask
from hudi_jobs.frames import GivenFiles, local_frame
from hudi_jobs.ingestion.rules.columns import NOTHING
from hudi_jobs.operations.erase.selection import matching, unquoted
from hudi_jobs.operations.erase.spellings import spellings
from hudi_jobs.operations.refusal import refused
from hudi_jobs.schemas.types import column_named
from hudi_jobs.spark.failures import stage
from hudi_jobs.spark.filesystem import located
from hudi_jobs.table import HudiTable

RECORD_KEY = "_hoodie_record_key"
PARTITION = "_hoodie_partition_path"
_FILE = "_hoodie_file_name"

SHORTEST_IN_BYTES = 8
"""UTF-8 bytes: shorter texts occur by chance in unrelated bytes."""

LARGEST_FILE = 64 * 1024 * 1024
"""Bytes; the limit of a file of keys."""

_BLANK = r"(?U)^\s*$"
_LOST = "\ufffd"
"""Spark's replacement for bytes that are not UTF-8."""

_RECORD_KEY_FIELDS = "hoodie.table.recordkey.fields"
_PARTITION_FIELDS = "hoodie.table.partition.fields"
_PLAIN = (StringType, ByteType, ShortType, IntegerType, LongType)

Key = tuple[str, ...]
"""Values of the record key fields, in the order of the fields."""


@dataclass(frozen=True, repr=False)
class Keys:
    """The keys of an operation; `records` are the texts of `_hoodie_record_key`, also of deleted records."""

    fields: tuple[str, ...]
    values: frozenset[Key]
    records: frozenset[str]
    digest: str

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def in_bytes(self) -> list[bytes]:
        """The texts to look for in bytes; of a key with several fields only the whole text.

        Includes every spelling of `spellings`.
        """
        return _spelt(self._long)

    @property
    def short(self) -> list[bytes]:
        """The spellings of keys too short for a search in bytes, which messages must not show either."""
        return _spelt(self.texts - self._long)

    @cached_property
    def plain_values(self) -> frozenset[Key]:
        """The values, with an empty text for each missing field: key generators spell a missing value differently."""
        return frozenset(tuple("" if value in NOTHING else value for value in key) for key in self.values)

    @property
    def count_in_bytes(self) -> int:
        """Number of keys to look for in bytes."""
        return min(len(self._long), len(self))

    @property
    def count_short(self) -> int:
        """Number of keys too short to look for in bytes."""
        return min(len(self.texts) - len(self._long), len(self))

    @property
    def are_all_in_bytes(self) -> bool:
        """Whether every key is long enough to look for in bytes."""
        return len(self._long) == len(self.texts)

    @property
    def have_numbers(self) -> bool:
        """Whether a key has only digits, and so may match an unrelated number."""
        return any(text.isascii() and text.isdigit() for text in self.texts)

    @property
    def _long(self) -> set[str]:
        return {text for text in self.texts if len(text.encode()) >= SHORTEST_IN_BYTES}

    @property
    def texts(self) -> set[str]:
        """The texts of the keys; a single field's `field:value` is left out, since searching its value finds both."""
        named = {f"{self.fields[0]}:{key[0]}" for key in self.values} if len(self.fields) == 1 else set()
        return set(self.records - named)


def _spelt(texts: Iterable[str]) -> list[bytes]:
    return sorted({spelt.encode() for text in texts for spelt in spellings(text)})


def key_fields(table: HudiTable) -> tuple[str, ...]:
    """Return the record key fields from the table's properties."""
    named = table.properties.get(_RECORD_KEY_FIELDS, "")
    return tuple(name.strip() for name in named.split(",") if name.strip())


def partition_fields(table: HudiTable) -> frozenset[str]:
    """Return the partition fields, without the type suffix (`field:SIMPLE`)."""
    named = table.properties.get(_PARTITION_FIELDS, "")
    return frozenset(name.partition(":")[0].strip() for name in named.split(",") if name.strip())


def keys_named(context: TaskContext, erase: EraseTask, table: HudiTable, uid: str) -> Keys:
    """Return the keys listed in the request or its file; raise `TaskFailed` for an invalid key."""
    fields = key_fields(table)
    given: Iterable[object] = _read(context, erase.keys_from) if erase.keys_from is not None else erase.keys
    values = frozenset(_key(each, fields) for each in given)
    if not values:
        raise refused("The file of keys holds none.")
    if erase.keys_digest not in {None, named_digest(fields, values)}:
        raise refused(
            "The file holds other keys than those of keysFrom.digest. Restore the file, or find out with a dry run "
            "what would be erased now, and create the operation again with the digest that it reports."
        )
    return keys_of(fields, values, uid)


def keys_where(context: TaskContext, rows: DataFrame, table: HudiTable, predicate: str, uid: str) -> tuple[Keys, int]:
    """Return the keys of the rows that the predicate selects, and the number of unselected rows with these keys."""
    fields = key_fields(table)
    wanted = (*(_text(name, rows).alias(f"_{place}") for place, name in enumerate(fields)), sf.col(RECORD_KEY))
    with unquoted():
        selected = matching(context.spark, rows, predicate)
        found = selected.select(*wanted).distinct().limit(MOST_ERASED + 1).collect()
        _require_few(len(found))
        records = frozenset(str(row[-1]) for row in found)
        others = _with_record(rows, records).count() - selected.count() if records else 0
    values = frozenset(tuple("" if value is None else str(value) for value in row[:-1]) for row in found)
    return keys_of(fields, values, uid, records=records), others


def keys_of(
    fields: tuple[str, ...], values: frozenset[Key], uid: str, *, records: frozenset[str] = frozenset()
) -> Keys:
    """Return keys by their values, with all texts that Hudi's key generators make of them, and `records`."""
    named = {",".join(f"{field}:{value}" for field, value in zip(fields, key, strict=True)) for key in values}
    plain = {key[0] for key in values} if len(fields) == 1 else set()
    return Keys(fields=fields, values=values, records=records | named | plain, digest=digest_of(fields, values, uid))


def digest_of(fields: Sequence[str], values: Iterable[Key], uid: str) -> str:
    """Return a digest of the operation's keys that does not depend on the order of the fields."""
    return digests_of(fields, values, [uid])[0]


def digests_of(fields: Sequence[str], values: Iterable[Key], uids: Iterable[str]) -> list[str]:
    """Return the digests of the keys for several operations."""
    order = sorted(range(len(fields)), key=fields.__getitem__)
    ordered = sorted(tuple(key[place] for place in order) for key in values)
    content = json.dumps(ordered).encode()
    return [hashlib.sha256(uid.encode() + b"\0" + content).hexdigest() for uid in uids]


def named_digest(fields: Collection[str], values: Iterable[Key]) -> str:
    """Return a digest of the keys in any order, equal for every table and operation."""
    named = (json.dumps(dict(zip(fields, key, strict=True)), sort_keys=True) for key in values)
    return hashlib.sha256("\n".join(sorted(named)).encode()).hexdigest()


def file_group() -> Column:
    """Return the column with a row's file group id, the first part of its base and log file names."""
    return sf.substring_index(_FILE, "_", 1)


def with_key(rows: DataFrame, keys: Keys, *, without: bool = False) -> DataFrame:
    """Return the rows with one of the keys, or with `without` all other rows."""
    return _with_record(rows, keys.records, without=without)


def _with_record(rows: DataFrame, records: Iterable[str], *, without: bool = False) -> DataFrame:
    wanted = local_frame(rows.sparkSession, ([record] for record in records), "erased STRING")
    is_wanted = rows[RECORD_KEY] == wanted["erased"]  # the table may have a column `erased`
    return rows.join(sf.broadcast(wanted), is_wanted, "left_anti" if without else "left_semi")


def where_found(rows: DataFrame, keys: Keys) -> tuple[frozenset[str], bool]:
    """Return the partitions of the rows with one of the keys, and whether such a row is another record.

    The text of a key does not tell the values of its fields: `a:1,b:2` comes from a Complex key generator for `a` alone
    with the value `1,b:2`, and from a Simple key generator for just this value.
    """
    places = [f"field_{place}" for place in range(len(keys.fields))]
    values = sorted((*key, True) for key in keys.plain_values)
    schema = ", ".join((*(f"{place} STRING" for place in places), "asked BOOLEAN"))
    asked = sf.broadcast(local_frame(rows.sparkSession, values, schema))
    texts = (_comparable(_text(name, rows)).alias(place) for place, name in zip(places, keys.fields, strict=True))
    found = with_key(rows, keys).select(PARTITION, *texts).join(asked, places, "left")
    seen = found.select(PARTITION, sf.col("asked").isNull()).distinct().collect()
    return frozenset(str(row[0]) for row in seen), any(row[1] for row in seen)


def _comparable(text: Column) -> Column:
    return sf.when(text.isNull() | text.isin(*NOTHING), "").otherwise(text)


def require_comparable(rows: DataFrame, fields: Collection[str]) -> None:
    """Refuse key fields of types that have no exact text, such as decimals and times."""
    for name in fields:
        kind = rows.select(_column(name, rows)).schema.fields[0].dataType
        if not _is_plain(kind):
            raise refused(
                f"The record key field {name} is a {kind.simpleString()}, but only texts and whole numbers can be "
                "listed as keys; select the rows by a predicate (where)."
            )


def _is_plain(kind: DataType) -> bool:
    return isinstance(kind, _PLAIN)


def _column(name: str, rows: DataFrame) -> Column:
    return column_named(name) if name in rows.columns else sf.col(name)


def _text(name: str, rows: DataFrame) -> Column:
    return _column(name, rows).cast("string")


def _key(given: object, fields: tuple[str, ...]) -> Key:
    if isinstance(given, str | int) and not isinstance(given, bool) and len(fields) == 1:
        given = {fields[0]: given}
    if not isinstance(given, dict) or set(given) != set(fields):
        raise refused(f"A key must have exactly the fields {', '.join(fields)}.")
    values = [given[name] for name in fields]
    if not all(isinstance(value, str | int) and not isinstance(value, bool) for value in values):
        raise refused("The values of a key must be texts or whole numbers.")
    key = tuple(map(str, values))
    if not all(value.encode(errors="replace").decode() == value for value in key):
        raise refused("The values of a key must be valid Unicode.")
    if not all(0 < len(value) <= LONGEST_VALUE for value in key):
        raise refused(f"The values of a key must have 1 to {LONGEST_VALUE:,} characters.")
    return key


def _read(context: TaskContext, path: str) -> list[object]:
    """Return the keys in the lines of a file; messages never quote a line."""
    with stage("The file of keys cannot be read", otherwise=FailureReason.SOURCE_UNREADABLE):
        files, place = located(context.spark, path)
        if not (files.exists(place) and files.getFileStatus(place).isFile()):
            raise refused(f"There is no file of keys at {path}.")
        if int(files.getFileStatus(place).getLen()) > LARGEST_FILE:
            raise refused(f"The file of keys has more than {LARGEST_FILE:,} bytes.")
        lines = (
            GivenFiles(context.spark, [path]).frame("text", schema="value STRING").where(~sf.col("value").rlike(_BLANK))
        )
        found = [str(line[0]) for line in lines.limit(MOST_ERASED + 1).collect()]
    return parsed(found)


def parsed(lines: Sequence[str]) -> list[object]:
    """Return the keys in the lines; raise `TaskFailed` for an ambiguous line.

    Bytes that are no UTF-8 appear as U+FFFD; a key with this character can be written with a JSON escape.
    """
    _require_few(len(lines))
    if any(_LOST in line for line in lines):
        raise refused("A line of the file of keys is not UTF-8; write the file as UTF-8.")
    try:
        return [json.loads(line, object_pairs_hook=_with_each_name_once) for line in lines]
    except (ValueError, RecursionError):
        raise refused(
            "A line of the file of keys is not JSON, or names a field twice; each line must be a key as in "
            "spec.erase.keys."
        ) from None


def _with_each_name_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError
    return found


def _require_few(count: int) -> None:
    if count > MOST_ERASED:
        raise refused(f"More than {MOST_ERASED:,} records would be erased; erase them in several operations.")
