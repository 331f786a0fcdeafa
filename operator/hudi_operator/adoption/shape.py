"""Drafts the index and file sizes from a table's files. Pure."""

from collections.abc import Iterator

from hudi_jobs.contract import BUCKET_FILE
from hudi_jobs.contract.table.properties import partition_columns_of, record_key_of
from hudi_operator.adoption.evidence import Evidence
from hudi_operator.adoption.text import Entry
from hudi_operator.api.spec.index import IndexType
from hudi_operator.timeline.rules.file_sizes import summarise_files

_MOST_BUCKETS = 100_000
_MIB = 2**20


def index_entry(found: Evidence) -> Entry:
    """Return the index entry, as far as the table shows its index."""
    raw = dict(found.timeline.properties.raw)
    buckets = raw.get("hoodie.bucket.index.num.buckets", "")
    is_number = buckets.isascii() and buckets.isdigit() and len(buckets) < 7
    if raw.get("hoodie.index.type", "").upper() == "BUCKET" and is_number and 1 <= int(buckets) <= _MOST_BUCKETS:
        entries = (Entry("type", IndexType.BUCKET), Entry("buckets", int(buckets)))
        return Entry("index", entries, tuple(_bucket_doubts(raw)))
    if raw.get("hoodie.populate.meta.fields", "true").lower() == "false":
        comment = "Its files hold no keys, so only Simple and GlobalSimple find them."
        return Entry("index", (Entry("type", IndexType.SIMPLE),), (comment,))
    return Entry("index", (Entry("type", IndexType.BLOOM),), tuple(_index_doubts(found, raw)))


def file_comments(found: Evidence) -> Iterator[str]:
    """Yield comments on the file sizes of the newest commits."""
    complete = [(instant, metadata) for instant, metadata in found.commits if metadata.complete]
    summary = summarise_files(complete)
    if not summary.base_files:
        return
    sizes = [
        stat.file_size
        for _, metadata in complete
        for stat in metadata.write_stats
        if not stat.path.rpartition("/")[2].startswith(".")
    ]
    yield (
        f"Base files that the newest {summary.commits} commits left: {summary.base_files}, on average "
        f"{_mib(summary.average_base_bytes or 0)}, the largest {_mib(max(sizes, default=0))}, "
        f"{summary.small_base_files} below 100Mi. decide: fileSizing.maxFileSize (120Mi) and smallFileLimit (100Mi)."
    )


def _bucket_doubts(raw: dict[str, str]) -> Iterator[str]:
    fields = raw.get("hoodie.bucket.index.hash.field")
    if fields and tuple(fields.split(",")) != record_key_of(raw):
        yield "decide: the buckets are made from other columns than the record key, which this operator does not do."
    if raw.get("hoodie.index.bucket.engine", "SIMPLE").upper() != "SIMPLE":
        yield "decide: the buckets are not those of the simple engine, and this operator has no other engine."


def _index_doubts(found: Evidence, raw: dict[str, str]) -> Iterator[str]:
    newest = next((metadata.write_stats for _, metadata in found.commits if metadata.write_stats), ())
    if newest and all(BUCKET_FILE.match(stat.file_id) for stat in newest):
        least = max(int(stat.file_id[:8]) for stat in newest) + 1
        yield (
            f"decide: its file groups are named like buckets. If the old tool has a bucket index, declare type Bucket "
            f"with its number of buckets ({least} or more): no other index finds the keys."
        )
        return
    if "record_index" in raw.get("hoodie.table.metadata.partitions", ""):
        yield "The metadata table holds a record index: GlobalRecordLevel can be declared before the first commit."
    if partition_columns_of(raw):
        yield "decide: if keys are unique across partitions and move between them, declare GlobalBloom or GlobalSimple."


def _mib(size: int) -> str:
    return f"{size / _MIB:,.1f}Mi"
