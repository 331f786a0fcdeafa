"""Checks before any write whether records can be erased.

Looks at the request, the table, its savepoints, the erasures of its upstream table, and what would remain.

A clean keeps a whole file slice when a savepoint lists any of its files. So a log file that joined the slice later and
is in no list stays too (`CleanPlanner`).

An erasure of a derived table follows that of its upstream table. Their keys are the same only when both tables have the
same record key fields: the operator checks this for a cascaded erasure, the driver for any other.
"""

import re
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from itertools import chain
from urllib.parse import unquote

from pyspark.sql import DataFrame

from hudi_jobs.contract import MOST_LISTED, FailureReason, OperationKind, OperationPhase, OperationReport
from hudi_jobs.contract.operations.erase import DIGEST, UID, EraseReport, EraseTask
from hudi_jobs.contract.table.support import COMPLEX, key_generator_of
from hudi_jobs.contract.wording import listed
from hudi_jobs.ingestion.sources.hudi.commits import Erasure
from hudi_jobs.ingestion.sources.hudi.hudi_state import unread_erasures
from hudi_jobs.ingestion.sources.hudi.upstream import looking_at
from hudi_jobs.journal.records import EraseRecord
from hudi_jobs.operations.check import (
    busy,
    in_zone_of_table,
    metadata_options_of,
    require_known_indexes,
    require_no_restore,
    require_same_rows,
)
from hudi_jobs.operations.erase.erase_steps import require_deletable
from hudi_jobs.operations.erase.keys import (
    Keys,
    digests_of,
    key_fields,
    named_digest,
    partition_fields,
    where_found,
    with_key,
)
from hudi_jobs.operations.erase.own_folders import (
    require_no_word_of_metadata,
    require_none_of_ours,
    require_not_written,
    require_unnamed,
)
from hudi_jobs.operations.erase.quarantine_files import count_in
from hudi_jobs.operations.erase.remaining import require_in_no_other_row, strays, strays_refused
from hudi_jobs.operations.erase.requested_keys import asked, keys_asked
from hudi_jobs.operations.erase.scan import (
    File,
    WholeTexts,
    before_the_name,
    files_below,
    group_of,
    is_data,
    is_log,
    located_path,
    search,
    unsearched_logs,
)
from hudi_jobs.operations.erase.spellings import require_few
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import refused, require_nobody_at_work
from hudi_jobs.operations.rows import count_rows, current_rows, summed
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.jvm import JavaObject, iterated
from hudi_jobs.table import HudiTable, names_in, saved_files, with_times
from hudi_jobs.table_services.plans import require_plans_inside
from hudi_jobs.table_services.timeline import Savepoint, Timeline


def holding_savepoints(
    work: OperationRun, savepoints: Collection[Savepoint], paths: Collection[str]
) -> list[Savepoint]:
    """Return the savepoints that make a clean keep any of the files."""
    if not savepoints:
        return []
    holding = {path.rpartition("/")[2] for path in paths} | _beside(work, {path for path in paths if is_log(path)})
    timeline = work.table.meta.getActiveTimeline()
    kept = ((each, saved_files(timeline, each.instant)) for each in savepoints)
    return [each for each, found in kept if holding & {path.rpartition("/")[2] for path in found}]


def _beside(work: OperationRun, logs: Collection[str]) -> set[str]:
    """Return the names of all files in the slices of the log files."""
    if not logs:
        return set()
    base, context = located_path(work.context, work.table.base_path), work.context
    partitions = {path.removeprefix(base).rpartition("/")[0].strip("/") for path in logs}
    names = {path.rpartition("/")[2] for path in logs}
    groups, found = {group_of(name) for name in names}, set[str]()
    with (
        with_times(context.spark, work.table, context.task.hudi_options) as timed,
        closing(timed.listed_view()) as view,
    ):
        for part in chain.from_iterable(_slices(view, partition) for partition in sorted(partitions)):
            if str(part.getFileId()) in groups:
                inside = set(names_in(part))
                found |= inside if inside & names else set()
    return found


def _slices(view: JavaObject, partition: str) -> Iterator[JavaObject]:
    """Yield the file slices of a partition, also those of replaced file groups."""
    yield from iterated(view.getAllFileSlices(partition).iterator())
    for group in iterated(view.getAllReplacedFileGroups(partition).iterator()):
        yield from iterated(group.getAllFileSlices().iterator())


MOST_COMPARED = 1_000
"""Most upstream erasures to recompute digests for; 100,000 keys take some milliseconds each."""


def followed_by(work: OperationRun, erase: EraseTask, keys: Keys) -> tuple[str, ...]:
    """Return the digests of the upstream erasures that this erasure follows.

    When an operation replaces an operation that failed midway, the rows are already gone upstream, and the commit of
    the first operation is still to be read. An unreadable upstream table does not stop the erasure.
    """
    found: list[Erasure] = []
    if erase.upstream is not None:
        try:
            if erase.cascaded_from is not None or _has_same_fields(work, erase.upstream, keys):
                found = unread_erasures(work.context, work.table, erase.upstream)
        except TaskFailed as error:
            work.context.log("the erasures of the upstream table are not known", reason=error.reason)
    return matching(keys, erase.cascaded_from, found)


def _has_same_fields(work: OperationRun, upstream: str, keys: Keys) -> bool:
    with looking_at(upstream):  # `HudiTable.open` would remove leftovers of killed writers, maybe of another team
        return set(key_fields(HudiTable.at(work.context.spark, upstream))) == {*keys.fields}


def matching(keys: Keys, cascaded_from: str | None, found: Iterable[Erasure]) -> tuple[str, ...]:
    """Return the digest of the erasure that cascaded to this erasure, and of others with the same keys."""
    told = [one for one in found if re.fullmatch(DIGEST, one.digest) and re.fullmatch(UID, one.uid)]
    first = () if cascaded_from is None else (cascaded_from,)
    uids = list(dict.fromkeys((*first, *(one.uid for one in told))))[: MOST_COMPARED + 1]
    made = digests_of(keys.fields, keys.values, uids)
    digests = {*(one.digest for one in told), *made[: len(first)]}
    return tuple(each for each in made if each in digests)


_NAMED = 5
_COMPLEX_KEYS_ARE_CERTAIN_FROM = 9


def checked(work: OperationRun) -> tuple[EraseRecord, Keys]:
    """Return the record and keys of an erasure that passed its checks; raise `TaskFailed` when it is refused."""
    context, table, erase, each = work.context, work.table, asked(work), work.obstacles.each
    timeline, latest = _at_rest(work)
    keys = keys_asked(work, erase)
    require_few(keys.texts)
    with stage("The operation cannot be checked", otherwise=FailureReason.HUDI_ERROR):
        rows = current_rows(context)
        with each():
            _require_told_apart(work, rows, keys)
        with each():
            require_deletable(work, rows, keys)
        files = files_below(context, table.base_path)
        with each():
            _require_no_strays(work, files, keys)
        data = [file for file in files if is_data(file.path)]
        holding = _holding(work, data, keys)
        with each():
            require_in_no_other_row(context, with_key(rows, keys, without=True), data, holding, keys)
        kept = holding_savepoints(work, timeline.savepoints(), holding | unsearched_logs(data, keys))
        _require_unnamed(work, files, keys, kept)
        report = EraseReport(
            keys=len(keys),
            digest=keys.digest,
            keys_digest=named_digest(keys.fields, keys.values) if erase.keys_from is not None else None,
            holding_files=len(holding),
            read_by=erase.read_by,
            read_by_count=erase.read_by_count,
            read_elsewhere=erase.read_elsewhere,
        )
        savepoints = tuple(sorted((each.instant for each in kept), reverse=True))
        work.report(OperationReport(phase=OperationPhase.CHECKING, savepoints=savepoints[:MOST_LISTED], erased=report))
        if savepoints and not erase.release_savepoints:
            with each():
                raise refused(_savepoints(kept))
        work.obstacles.require_none()
        report = report.copy_with(quarantined=count_in(context, erase.quarantines, keys))
        before, expected = count_rows(context), summed(with_key(rows, keys, without=True))
    followed = followed_by(work, erase, keys)
    record = EraseRecord(
        uid=work.operation.uid,
        resource=work.operation.resource,
        kind=OperationKind.ERASE,
        phase=OperationPhase.RUNNING,
        newest=timeline.newest_instant(),
        latest=latest,
        savepoints=savepoints,
        rows_before=before,
        expected=expected,
        metadata_options=metadata_options_of(table),
        erased=report.copy_with(rows=before - expected.rows),
        upstream_digest=next(iter(followed), None),
        followed=followed[1:],
    )
    return record, keys


def _at_rest(work: OperationRun) -> tuple[Timeline, str]:
    """Return the timeline of a searchable table without other writers, and its newest commit.

    A dry run collects the obstacles instead of stopping at the first.
    """
    context, table, each = work.context, work.table, work.obstacles.each
    with stage("The operation cannot be checked", otherwise=FailureReason.HUDI_ERROR):
        with each():
            _require_known(table)
        timeline = Timeline(context.spark, table)
        require_plans_inside(context)
        with each():
            require_no_restore(context, work.journal, ours=None)
        with each():
            require_nobody_at_work(busy(context, timeline))
        latest = timeline.newest_commit()
        if latest is None:
            raise refused("Nothing has been committed to the table.")
        with each():
            require_same_rows(work, "The erasure")
        with in_zone_of_table(context):
            context.log("checking whether the keys can be erased")
    return timeline, latest


def _require_no_strays(work: OperationRun, files: list[File], keys: Keys) -> None:
    base = located_path(work.context, work.table.base_path)
    found = strays(files, base)
    if found:
        raise refused(strays_refused(found, base, keys))


def _require_unnamed(work: OperationRun, files: list[File], keys: Keys, kept: list[Savepoint]) -> None:
    """Refuse keys that remain in other texts below the table, such as file names or the operator's documents."""
    context, erase, each = work.context, asked(work), work.obstacles.each
    catalog = context.task.catalog
    entry = "" if catalog is None else catalog.entry
    written = (context.task.id, work.operation.resource, erase.report_file or "", entry, *erase.read_by)
    with each():
        require_not_written(keys, written)
    with each():
        require_none_of_ours(context, files, keys)
    with each():
        if metadata_options_of(work.table):
            require_no_word_of_metadata(context, keys)
    with each():
        require_unnamed(context, files, keys, kept)


def _holding(work: OperationRun, data: list[File], keys: Keys) -> set[str]:
    """Return the table's files that hold a key; refuse a file that cannot be read completely."""
    found = search(work.context, data, keys)
    if found.unread:
        path = min(found.unread)
        shown = before_the_name(path, located_path(work.context, work.table.base_path), WholeTexts(keys)) or path
        advice = "compact the table (runService: Compaction), then clean it" if is_log(path) else "find out what it is"
        with work.obstacles.each():
            raise refused(f"The file {shown} cannot be read as a whole; {advice}.")
    return found.found


def _require_known(table: HudiTable) -> None:
    """Refuse tables with files that cannot be searched, or with rows outside their own files."""
    properties = table.properties
    if properties.get("hoodie.populate.meta.fields", "true").lower() == "false":
        raise refused("The table has no meta fields, so its files do not tell which keys they hold.")
    if properties.get("hoodie.table.base.file.format", "PARQUET").upper() != "PARQUET":
        raise refused("The base files of the table are not Parquet, and only Parquet files can be searched.")
    if table.meta.getTableConfig().getBootstrapBasePath().isPresent():
        raise refused("The table was bootstrapped: its rows lie in files outside of it.")
    if properties.get("hoodie.table.cdc.enabled", "false").lower() == "true":
        raise refused("The table keeps a log of its changes (CDC), which holds earlier versions of its rows.")
    require_known_indexes(table)


def _require_told_apart(work: OperationRun, rows: DataFrame, keys: Keys) -> None:
    """Refuse keys that other records share, keys that name partitions, and keys that Hudi does not delete."""
    table = work.table
    paths, has_others = where_found(rows, keys)
    if has_others:
        raise refused(
            "Another record has the same key as one of these: Hudi writes keys as text such as "
            "field:value,field:value, and values that contain these characters can make the same text. That record "
            "would be erased as well; list the keys of all of these records."
        )
    if are_named_after(paths, keys, partition_fields(table)):
        raise refused("A partition is named after a key, so every commit that wrote to it names the key too.")
    is_single = key_generator_of(table.properties) == COMPLEX and len(keys.fields) == 1
    if paths and is_single and table.version < _COMPLEX_KEYS_ARE_CERTAIN_FROM:
        raise refused(
            f"The table makes its keys of the column {keys.fields[0]} alone with a Complex key generator. Hudi "
            "releases write such keys in two ways, so Hudi refuses to write to the table; write its rows to another "
            "table."
        )


def are_named_after(paths: Collection[str], keys: Keys, fields: Collection[str]) -> bool:
    """Tell whether one of the partition paths is named after a key.

    Short keys appear in paths by chance, and count only when a partition field is the only record key field.
    """
    texts = WholeTexts(keys, also_short=len(keys.fields) == 1 and keys.fields[0] in fields)
    return any(texts.are_in(path) or texts.are_in(unquote(path)) for path in paths)


def _savepoints(kept: list[Savepoint]) -> str:
    named = [f"{each.instant} of {each.user!r}" for each in kept]
    return (
        f"Savepoints keep files that hold the keys, or may hold them: {listed(named, _NAMED)}. Delete these "
        "savepoints, or set releaseSavepoints: true."
    )
