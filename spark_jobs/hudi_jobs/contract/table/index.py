"""The index of a table, and whether its rows can be compared by their keys and written again as they are.

Hudi 1.2.0 stores nothing of the index with the table and compares nothing. With another kind of index, or another
number of buckets, it misses existing keys and writes them once more.
"""

import re
from collections.abc import Iterator, Mapping

from hudi_jobs.contract.table.merging import (
    COMMIT_TIME_STRATEGY,
    EVENT_TIME_STRATEGY,
    columns_of,
    payload_of,
    strategy_of,
)
from hudi_jobs.contract.table.support import COMPLEX, NON_PARTITIONED, SIMPLE, Unsupported, key_generator_of
from hudi_jobs.contract.vocabulary import METADATA_PREFIX

_MODEL = "org.apache.hudi.common.model."
_PAYLOADS = frozenset(
    {
        None,
        *(f"{_MODEL}{name}" for name in ("DefaultHoodieRecordPayload", "EventTimeAvroPayload")),
        f"{_MODEL}OverwriteWithLatestAvroPayload",
    }
)
"""Payload classes that choose one of two rows as a whole."""

_STRATEGIES = frozenset({None, EVENT_TIME_STRATEGY, COMMIT_TIME_STRATEGY})
_MODES = frozenset({"", "EVENT_TIME_ORDERING", "COMMIT_TIME_ORDERING"})
_GENERATORS = frozenset({SIMPLE, COMPLEX, NON_PARTITIONED})
_MERGE_PROPERTY, _LEGACY = "hoodie.record.merge.property.", "hoodie.table.legacy.payload.class"


def obstacles(properties: Mapping[str, str]) -> Iterator[str]:
    """Yield why rows cannot be compared or rewritten, a sentence for each reason."""
    keys, kind = columns_of(properties.get("hoodie.table.recordkey.fields")), key_generator_of(properties)
    if not keys:
        yield "The table has no record key, so no two rows can share a key."
    elif kind not in _GENERATORS or (kind == COMPLEX and len(keys) == 1):
        yield "The key generator of the table may give a row another key or partition when the row is rewritten."
    if properties.get("hoodie.populate.meta.fields", "true").lower() == "false":
        yield "The table has no meta fields, so its files do not hold keys."
    if properties.get("hoodie.table.cdc.enabled", "false").lower() == "true":
        yield "The table keeps a log of its changes (CDC), which would not record rows that are removed this way."
    if properties.get("hoodie.bootstrap.base.path"):
        yield "The table was bootstrapped: its rows lie in files outside of it."
    yield from _merging(properties)


def _merging(properties: Mapping[str, str]) -> Iterator[str]:
    mode, legacy = properties.get("hoodie.record.merge.mode", "").upper(), properties.get(_LEGACY)
    if not {payload_of(properties), legacy} <= _PAYLOADS or mode not in _MODES:
        yield "The table merges rows with a custom class, so their columns do not tell which row wins."
    elif strategy_of(properties) not in _STRATEGIES:
        yield "The table merges rows with a custom strategy, so their columns do not tell which row wins."
    is_partial = properties.get("hoodie.table.partial.update.mode", "NONE").upper() != "NONE"
    if is_partial or any(key.startswith(_MERGE_PROPERTY) for key in properties):
        yield "The table merges rows column by column, so no single row is the newest."


INDEX_KEY = f"{METADATA_PREFIX}index"
"""The index of the table, as `Bloom` or `Bucket/8`; carried on in every commit."""

BUCKET = "Bucket"

BUCKET_FILE = re.compile(r"000\d{5}-")
"""The beginning of a file group's name from a bucket index: at most 100,000 buckets can be declared.

A random name looks like this once in 40,000.
"""

VARYING_BUCKETS_FOLDER = ".hoodie/.bucket_index"
"""Where Hudi keeps the bucket layout of consistent hashing and of buckets by partition.

From `HoodieTableMetaClient.BUCKET_INDEX_METAFOLDER_NAME`; the simple engine, with one number for the table, has no such
folder.
"""

_VARYING_BUCKETS = Unsupported(
    key="index",
    possible="buckets of one fixed number",
    found=f"buckets whose number grows or differs between partitions ({VARYING_BUCKETS_FOLDER}), as with consistent "
    "hashing",
    advice="a write would not find existing keys, and other tools would not find the keys that it writes: leave the "
    "table to its tool, or write its rows to another table at another base path",
)

_ALIKE = (frozenset({"Bloom", "Simple"}), frozenset({"GlobalBloom", "GlobalSimple"}))
"""Types that look a key up in the base files in the same scope, so that each finds the rows that the other placed."""


def varying_buckets() -> Unsupported:
    """Return the refusal of a table with files in `VARYING_BUCKETS_FOLDER`."""
    return _VARYING_BUCKETS


def index_note(kind: str, buckets: int | None) -> str:
    """Return the note of an index."""
    return kind if buckets is None else f"{kind}/{buckets}"


def may_follow(found: str, declared: str) -> bool:
    """Tell whether the declared index can write to a table that the found index has written."""
    return found == declared or any({found, declared} <= alike for alike in _ALIKE)
