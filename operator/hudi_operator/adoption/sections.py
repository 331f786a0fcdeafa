"""Drafts the sections of a spec: index and file sizes from the table's files, services from their past runs. Pure.

Each section comments on the evidence, and asks for a decision if there is none.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median_low

from hudi_jobs.contract import BUCKET_FILE, ConcurrencyMode
from hudi_jobs.contract.instants import wall_time
from hudi_jobs.contract.table.properties import partition_columns_of, record_key_of
from hudi_jobs.contract.wording import counted
from hudi_operator.adoption.evidence import Evidence, several, writers_of
from hudi_operator.adoption.text import Entry
from hudi_operator.api.spec.table_services import ArchivalSpec, CleaningPolicy, CleaningSpec, ServiceMode
from hudi_operator.api.spec.table_writing import IndexType
from hudi_operator.diagnosis.checks.writers import overlapping
from hudi_operator.timeline import Action
from hudi_operator.timeline.rules.counters import COMMITS
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


_POLICIES = {
    "KEEP_LATEST_COMMITS": CleaningPolicy.KEEP_LATEST_COMMITS,
    "KEEP_LATEST_FILE_VERSIONS": CleaningPolicy.KEEP_LATEST_FILE_VERSIONS,
    "KEEP_LATEST_BY_HOURS": CleaningPolicy.KEEP_LATEST_BY_HOURS,
}
_HOUR = 3600
_LARGEST = 1_000_000


def service_entries(evidence: Evidence) -> Iterator[Entry]:
    """Yield the spec's entries for concurrency and each service."""
    yield _concurrency(evidence)
    if evidence.timeline.properties.is_merge_on_read:
        yield from _compaction(evidence)
    yield from _clustering(evidence)
    retained, cleaning = _cleaning(evidence)
    yield cleaning
    yield from _archival(evidence, retained)


def _concurrency(evidence: Evidence) -> Entry:
    properties = evidence.timeline.properties
    writers, beside = writers_of(evidence.commits, properties), overlapping(evidence.commits, properties)
    if not several(writers) and beside is None:
        one = ("Only one kind of writer was seen. decide: is there another kind?",) if writers else ()
        return Entry("concurrency", (Entry("mode", ConcurrencyMode.SERIALIZED),), one)
    why = "several programs wrote to it" if beside is None else f"{beside.action} {beside.time} began beside another"
    comment = (
        f"decide: {why}. Optimistic needs the lock that all of them share (concurrency.lock, or the class's); "
        "choose Serialized if this operator is to be the only writer."
    )
    return Entry("concurrency", (Entry("mode", ConcurrencyMode.OPTIMISTIC),), (comment,))


def _compaction(evidence: Evidence) -> Iterator[Entry]:
    completed, operations = evidence.timeline.completed, _operations(evidence)
    inserts = {time for time, operation in operations.items() if operation not in {None, "UNKNOWN", "COMPACT"}}
    compactions = [one.time for one in completed if one.action is Action.COMMIT and one.time not in inserts]
    usual = _usual([one.time for one in completed if one.action is Action.DELTA_COMMIT], compactions)
    if usual is None:
        seen = "no compaction was seen" if not compactions else "the trigger of compactions cannot be seen"
        comment = f"decide: {seen}; it is Async by default, and due after 5 delta commits."
        yield Entry("compaction", (Entry("mode", ServiceMode.ASYNC),), (comment,))
        return
    comment = f"{counted(len(compactions), 'compaction')} in the active timeline, usually {usual} delta commits apart."
    yield Entry("compaction", (Entry("trigger", (Entry("deltaCommits", usual),)),), (comment,))


def _clustering(evidence: Evidence) -> Iterator[Entry]:
    operations = _operations(evidence)
    commits = [one.time for one in evidence.timeline.completed if one.action in COMMITS]
    clusterings = sorted(time for time, operation in operations.items() if operation == "CLUSTER")
    last = evidence.timeline.counters.last_clustering
    if not clusterings and last is None:
        return
    usual = _usual([time for time in commits if time not in clusterings], clusterings)
    trigger = (Entry("trigger", (Entry("commits", usual),)),) if usual else ()
    seen = counted(max(len(clusterings), 1), "clustering")
    comment = (
        f"{seen} in the active timeline, the last at {last or clusterings[-1]}. "
        "decide: plan.smallFileLimit, plan.targetFileSize and execution.sortColumns as the old tool had them."
    )
    yield Entry("clustering", (Entry("mode", ServiceMode.ASYNC), *trigger), (comment,))


def _cleaning(evidence: Evidence) -> tuple[int | None, Entry]:
    """Return the retained commits, if the policy counts commits, and the cleaning entry."""
    completed, counters = evidence.timeline.completed, evidence.timeline.counters
    cleans = [one.time for one in completed if one.action is Action.CLEAN]
    if counters.last_clean is None:
        comment = "decide: no clean was seen, so old files are still there for readers; Async removes them."
        return None, Entry("cleaning", (Entry("mode", ServiceMode.DISABLED),), (comment,))
    usual = _usual([one.time for one in completed if one.action in COMMITS], cleans)
    trigger = (Entry("trigger", (Entry("commits", usual),)),) if usual and usual > 1 else ()
    named = evidence.clean.policy if evidence.clean else None
    policy, default = _POLICIES.get(named or ""), CleaningSpec().retain_commits
    if policy is None:
        comment = f"decide: the policy of the clean at {counters.last_clean} cannot be read."
        return default, Entry("cleaning", (Entry("mode", ServiceMode.ASYNC), *trigger), (comment,))
    comment = f"{counted(len(cleans), 'clean')} in the active timeline, the last at {counters.last_clean}."
    kept = _kept(evidence, policy)
    if kept is None:
        return default, Entry(
            "cleaning",
            (Entry("policy", policy), *trigger),
            (f"{comment} decide: how much they kept cannot be seen.",),
        )
    name, number = kept
    entries = (Entry("policy", policy), Entry(name, number), *trigger)
    return (number if policy is CleaningPolicy.KEEP_LATEST_COMMITS else None), Entry("cleaning", entries, (comment,))


def _kept(evidence: Evidence, policy: CleaningPolicy) -> tuple[str, int] | None:
    """Return a retention field and value, counted from the oldest commit with files that the newest clean kept."""
    clean, last = evidence.timeline.counters.clean, evidence.timeline.counters.last_clean
    if clean is None or last is None or not clean.earliest_retained:
        return None
    if policy is CleaningPolicy.KEEP_LATEST_BY_HOURS:
        first, then = wall_time(clean.earliest_retained), wall_time(last)
        hours = round((then - first).total_seconds() / _HOUR) if first and then else 0
        return ("retainHours", hours) if 1 <= hours <= _LARGEST else None
    if policy is not CleaningPolicy.KEEP_LATEST_COMMITS:
        return None
    commits = [one.time for one in evidence.timeline.completed if one.action in COMMITS]
    if clean.earliest_retained not in commits:
        return None
    newest = clean.last_completed_commit or last
    kept = sum(clean.earliest_retained <= time <= newest for time in commits)
    return ("retainCommits", kept) if kept else None


def _archival(evidence: Evidence, retained: int | None) -> Iterator[Entry]:
    number, default = evidence.timeline.counters.completed_commits, ArchivalSpec()
    if not evidence.has_archive:
        comment = f"decide: nothing was archived so far; {counted(number, 'commit')} in the active timeline."
        yield Entry("archival", (Entry("mode", ServiceMode.DISABLED),), (comment,))
        return
    least = max(default.min_commits, (retained or 0) + 10 if (retained or 0) >= default.min_commits else 0)
    most = max(least + default.max_commits - default.min_commits, number)
    comment = f"{counted(number, 'commit')} in the active timeline, and older commits in the archive."
    yield Entry("archival", (Entry("minCommits", least), Entry("maxCommits", most)), (comment,))


def _operations(evidence: Evidence) -> dict[str, str | None]:
    return {instant.time: metadata.operation for instant, metadata in evidence.commits}


def _usual(commits: Sequence[str], services: Sequence[str]) -> int | None:
    """Return the usual number of commits between two runs of a service, or before its only run."""
    if not services:
        return None
    edges = services if len(services) > 1 else ("", *services)
    counts = [sum(before < time < after for time in commits) for before, after in pairwise(edges)]
    positive = [one for one in counts if one]
    return min(median_low(positive), _LARGEST) if positive else None
