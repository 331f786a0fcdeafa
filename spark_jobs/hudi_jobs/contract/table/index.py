"""The index of a table: its note in commits, and which index types find each other's rows.

Hudi 1.2.0 stores none of this with the table and compares nothing. With another kind of index, or another number of
buckets, it misses existing keys and writes them once more.
"""

import re

from hudi_jobs.contract.table.support import Unsupported
from hudi_jobs.contract.vocabulary import METADATA_PREFIX

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
