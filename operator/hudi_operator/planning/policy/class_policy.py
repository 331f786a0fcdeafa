"""The blockers of a table's spec under the policy of its class, with the paths that a class allows.

An allowed path lies below a prefix twice: as the store compares it (`Location.holds`), and as any tool might take it
(`Location.may_hold`).
"""

import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from re import _parser  # type: ignore[attr-defined]  # the standard library parses alone nowhere else

from hudi_jobs.contract import ConcurrencyMode
from hudi_jobs.contract.table.location import Location, canonical_path, covers
from hudi_operator.api.resources import HudiTable, HudiTableClass
from hudi_operator.api.values.names import INNER_FOLDERS
from hudi_operator.catalogs.registry import catalog_refusals
from hudi_operator.jobs.placement import profile_of
from hudi_operator.jobs.settings.hudi_options import lock_of, owned_hudi_keys
from hudi_operator.jobs.settings.known_settings import refused_keys
from hudi_operator.jobs.settings.spark_conf import owned_spark_conf
from hudi_operator.jobs.sizing import exceeded_limits, resolve_sizing
from hudi_operator.planning.model import Blocker, BlockerReason
from hudi_operator.planning.model.times import InvalidSchedule, check_schedule
from hudi_operator.sources.registry import declared_source


def path_hash(canonical: str) -> str:
    """Return a short digest that names a canonical path."""
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


def is_allowed(location: Location | None, prefixes: Iterable[str], *, namespace: str) -> bool:
    """Whether a path lies under a prefix of a class; `{namespace}` stands for the table's namespace.

    Prefixes end at folder boundaries: `s3://lake/team` does not allow `s3://lake/team-b`. None is no location, which no
    class allows.
    """
    if location is None:
        return False
    folders = (Location.parse_or_none(one) for one in _written_out(prefixes, namespace))
    return any(one is not None and one.holds(location) and one.may_hold(location) for one in folders)


def contains_prefix(location: Location, prefixes: Iterable[str], *, namespace: str) -> bool:
    """Whether a path is a prefix of a class or a parent of a prefix: then it is no folder for a table."""
    return any(covers(location.canonical, canonical_path(one)) for one in _written_out(prefixes, namespace))


def path_problem(location: Location | None) -> str | None:
    """Return why a path is refused whatever the class allows, or None.

    The API server refuses the same, but not paths that it stored before it knew these rules. The canonical form ignores
    the case of a bucket, which is right only for the comparison of two tables.
    """
    if location is None:
        return "is not an absolute path in a known store, or contains '..'"
    if location.bucket != location.bucket.lower():
        return "has capital letters in its bucket, so it is not the bucket that the class allows"
    if any(segment.lower() in INNER_FOLDERS for segment in location.canonical.split("/")):
        return f"lies in a folder {' or '.join(INNER_FOLDERS)}"
    return None


def _written_out(prefixes: Iterable[str], namespace: str) -> Iterator[str]:
    return (prefix.replace("{namespace}", namespace) for prefix in prefixes)


def policy_blockers(table: HudiTable, table_class: HudiTableClass) -> tuple[Blocker, ...]:
    """Return everything in a table's spec that its class does not allow."""
    return (
        *_paths(table, table_class),
        *_settings(table, table_class),
        *_source(table, table_class),
        *_catalog(table, table_class),
        *_sizes(table, table_class),
        *_profile(table, table_class),
        *_schedule(table),
        *_lock(table, table_class),
        *_patterns(table),
    )


def allows_base_path(table: HudiTable, table_class: HudiTableClass) -> bool:
    """Whether a class allows the base path of a table, whatever else it refuses."""
    allowed = table_class.spec.allowed_base_paths
    return next(_path(table, table_class, "basePath", table.spec.base_path, allowed), None) is None


def _paths(table: HudiTable, table_class: HudiTableClass) -> Iterator[Blocker]:
    policy, spec = table_class.spec, table.spec
    yield from _path(table, table_class, "basePath", spec.base_path, policy.allowed_base_paths)
    yield from _beside_event_logs(table, table_class)
    source = declared_source(spec)
    if spec.ingestion is None or source is None:
        return
    for name, path in source.paths.items():
        yield from _path(table, table_class, f"{source.field}.{name}", path, policy.allowed_source_paths)
    quarantine = spec.ingestion.bad_records.quarantine_path
    if quarantine is not None:
        field = "ingestion.badRecords.quarantinePath"
        yield from _path(table, table_class, field, quarantine, policy.allowed_quarantine_paths)


def _beside_event_logs(table: HudiTable, table_class: HudiTableClass) -> Iterator[Blocker]:
    """Refuse a table in the folder of event logs, or around it: the files of one would lie among those of the other."""
    logs, namespace = table_class.spec.job.event_log_path, table.metadata.namespace
    location = Location.parse_or_none(table.spec.base_path)
    if logs is None or location is None:
        return
    if is_allowed(location, (logs,), namespace=namespace) or contains_prefix(location, (logs,), namespace=namespace):
        yield Blocker(
            reason=BlockerReason.PATH_NOT_ALLOWED,
            message=f"basePath {table.spec.base_path} and job.eventLogPath {logs} of class "
            f"{table_class.metadata.name} lie inside one another: choose another path, or ask the platform team to "
            "move the event logs.",
            hides=False,
        )


def _path(
    table: HudiTable, table_class: HudiTableClass, field: str, path: str, allowed: tuple[str, ...]
) -> Iterator[Blocker]:
    namespace, name = table.metadata.namespace, table_class.metadata.name
    is_base = field == "basePath"
    location = Location.parse_or_none(path)
    problem = path_problem(location)
    if location is None or problem is not None:
        message = f"{problem}: choose another path."
    elif not is_allowed(location, allowed, namespace=namespace):
        message = (
            f"is outside of what class {name} allows ({', '.join(allowed) or 'nothing'}): choose a path inside, or ask "
            "the platform team to allow it."
        )
    elif is_base and contains_prefix(location, allowed, namespace=namespace):
        message = (
            f"is itself a folder below which class {name} allows tables ({', '.join(allowed)}): choose a folder below "
            "it."
        )
    else:
        return
    yield Blocker(reason=BlockerReason.PATH_NOT_ALLOWED, message=f"{field} {path} {message}", hides=is_base)


def _settings(table: HudiTable, table_class: HudiTableClass) -> Iterator[Blocker]:
    policy, spec = table_class.spec, table.spec
    if not spec.spark_conf and not spec.hudi_options:
        return
    sizing = resolve_sizing(spec, policy)
    spark = owned_spark_conf(table_class=policy, sizing=sizing, run="", namespace="", image="")
    refused = [
        *refused_keys(spec.spark_conf, allowed=policy.allowed_spark_conf, prefix="spark.", owned=spark),
        *refused_keys(
            spec.hudi_options,
            allowed=policy.allowed_hudi_options,
            prefix="hoodie.",
            owned=owned_hudi_keys(table, policy),
        ),
    ]
    for sentence in refused:
        yield Blocker(
            reason=BlockerReason.SETTING_NOT_ALLOWED,
            message=f"{sentence}: remove it, or ask the platform team to allow it in class "
            f"{table_class.metadata.name}.",
            hides=False,
        )


def _source(table: HudiTable, table_class: HudiTableClass) -> Iterator[Blocker]:
    source = declared_source(table.spec)
    for one in source.refusals(table_class, table.metadata.namespace) if source is not None else ():
        yield Blocker(reason=BlockerReason(one.reason.value), message=one.message, hides=False)


def _catalog(table: HudiTable, table_class: HudiTableClass) -> Iterator[Blocker]:
    for why in catalog_refusals(table, table_class.spec):
        yield Blocker(
            reason=BlockerReason.CATALOG_NOT_ALLOWED,
            message=f"spec.catalog: class {table_class.metadata.name} {why}. Choose what it allows, remove "
            "spec.catalog, or ask the platform team.",
            hides=False,
        )


def _sizes(table: HudiTable, table_class: HudiTableClass) -> Iterator[Blocker]:
    for sentence in exceeded_limits(resolve_sizing(table.spec, table_class.spec), table_class.spec.limits):
        yield Blocker(reason=BlockerReason.SIZE_NOT_ALLOWED, message=f"{sentence}: ask for less.", hides=False)


def _profile(table: HudiTable, table_class: HudiTableClass) -> Iterator[Blocker]:
    name = profile_of(table.spec, table_class.spec)
    offered = [one.name for one in table_class.spec.profiles]
    if name is None or name in offered:
        return
    choose = "choose one of them" if offered else "remove it"
    yield Blocker(
        reason=BlockerReason.PROFILE_NOT_ALLOWED,
        message=f"execution.profile {name} is not a profile of class {table_class.metadata.name}, which offers "
        f"{', '.join(offered) or 'none'}: {choose}, or ask the platform team to add it.",
        hides=False,
    )


def _schedule(table: HudiTable) -> Iterator[Blocker]:
    ingestion, savepoints = table.spec.ingestion, table.spec.savepoints
    try:
        for one in (ingestion.schedule if ingestion else None, savepoints.schedule if savepoints else None):
            if one is not None:
                check_schedule(one)
    except InvalidSchedule as error:
        yield Blocker(reason=BlockerReason.INVALID_SCHEDULE, message=f"{error}.", hides=False)


def _lock(table: HudiTable, table_class: HudiTableClass) -> Iterator[Blocker]:
    if table.spec.concurrency.mode is ConcurrencyMode.SERIALIZED:
        return
    own = table.spec.concurrency.lock
    if own is not None and "." in own.zookeeper.base_path and not table_class.spec.allow_shared_lock_keys:
        yield Blocker(
            reason=BlockerReason.SETTING_NOT_ALLOWED,
            message=f"concurrency.lock.zookeeper.basePath {own.zookeeper.base_path} contains a dot, as the names of "
            "locks do, so it may lie inside the lock of another table: choose a path without a dot.",
            hides=False,
        )
    if lock_of(table, table_class.spec) is not None:
        return
    yield Blocker(
        reason=BlockerReason.LOCK_MISSING,
        message="concurrency.mode is Optimistic, and neither the table nor class "
        f"{table_class.metadata.name} names a lock: set concurrency.lock to the lock that all writers share.",
        hides=False,
    )


def _patterns(table: HudiTable) -> Iterator[Blocker]:
    """Yield a blocker for each invalid pattern: Java matches the patterns, and Python refuses nearly the same."""
    patterns = {
        "compaction.plan.partitionRegex": table.spec.compaction.plan.partition_regex,
        "clustering.plan.partitions.regex": table.spec.clustering.plan.partitions.regex,
    }
    for field, pattern in patterns.items():
        if pattern is not None and (problem := _problem_of(pattern)):
            yield Blocker(
                reason=BlockerReason.INVALID_PATTERN,
                message=f"{field} is not a regular expression: {problem}; correct it.",
                hides=False,
            )


@lru_cache(maxsize=1024)
def _problem_of(pattern: str) -> str:
    """Return why a text is no pattern, or nothing. The pattern is parsed and not compiled, which can take long."""
    try:
        _parser.parse(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return str(error) or type(error).__name__
    return ""
