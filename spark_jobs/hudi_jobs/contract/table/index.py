"""The index of a table: what its writers note of it, and which other index finds the rows that one has placed.

Hudi 1.2.0 stores none of this with the table and compares nothing: with another kind of index, or another number of
buckets, keys that are there are not found and are written once more.
"""

import re

from hudi_jobs.contract.table.support import Unsupported
from hudi_jobs.contract.vocabulary import METADATA_PREFIX

INDEX_KEY = f"{METADATA_PREFIX}index"
"""The index that a table was written with, as `Bloom` or `Bucket/8`; carried on in every commit."""

BUCKET = "Bucket"

BUCKET_FILE = re.compile(r"000\d{5}-")
"""How names of file groups begin that a bucket index made: at most 100,000 buckets can be declared.

A random name looks like this once in 40,000.
"""

VARYING_BUCKETS_FOLDER = ".hoodie/.bucket_index"
"""Where Hudi keeps what a key's bucket depends on besides the key, for consistent hashing and for buckets by partition.

From `HoodieTableMetaClient.BUCKET_INDEX_METAFOLDER_NAME`; the simple engine, with one number for the table, has none.
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
"""Types that look a key up in the base files in the same scope, so that each finds what the other has placed."""


def varying_buckets() -> Unsupported:
    """Return the refusal of a table with files in `VARYING_BUCKETS_FOLDER`."""
    return _VARYING_BUCKETS


def index_note(kind: str, buckets: int | None) -> str:
    """Return the note on an index."""
    return kind if buckets is None else f"{kind}/{buckets}"


def may_follow(found: str, declared: str) -> bool:
    """Tell whether a table written with the found index may be written to with the declared one."""
    return found == declared or any({found, declared} <= alike for alike in _ALIKE)
