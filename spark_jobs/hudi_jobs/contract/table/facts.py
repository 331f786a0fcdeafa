"""The facts of a table outside of `hoodie.properties`, and the services that cannot start because of them: pure values.

Commits hold the schema that rows were written with, and the history of columns by number. The files of the timeline
show the zone of its instants. The operator fills `TableFacts` from the timeline that it reads, the driver from the same
files. Both call `consequences`, as do `adopt` and the decision on an observed table.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hudi_jobs.contract.table.index import varying_buckets
from hudi_jobs.contract.table.layout import SLICES_CURE, half_moved
from hudi_jobs.contract.table.schema_history import (
    HISTORY_FOLDER,
    UNCHANGED,
    ColumnType,
    Evolution,
    evolution_of,
    foreign_types,
)
from hudi_jobs.contract.table.support import EVERY_SERVICE, Unsupported
from hudi_jobs.contract.table.zone import ShownZone, offset_at, zone_problem
from hudi_jobs.contract.vocabulary import Service

COMMITS_ASKED = 10
"""The number of newest commits whose schema and mark are read."""

ZONE_FIELD = "timelineTimeZone"
"""The field of the spec that names the zone; the consequence of an unknown zone has this name."""

SLICES_FIELD = "fileSlices"
"""The name of the consequence of a compaction that completed before it was requested."""

REWRITING = frozenset({Service.INGESTION, Service.COMPACTION, Service.CLUSTERING, Service.OPERATION})
"""Services that read values and write them again; other services delete files, or only list them."""

_OPERATION = "_hoodie_operation"
_SCHEMA_ON_READ = "hoodie.schema.on.read.enable"
_COPY = "write its rows to another table at another base path"
_TELL = "leave the table in Observe, or " + _COPY


@dataclass(frozen=True, kw_only=True)
class TableFacts:
    """The facts that commits and files of a table show.

    `keeps_operations` says that rows name the change that made them. `types` are the columns of types that Spark writes
    differently. `zone` is None for a table in UTC, and for a table without an instant. `early_compaction` is the newest
    compaction that, by the time of its file, completed before it was requested, if no clean has left one slice of each
    file group since; the driver reads the names of all log files instead (`preflight/slice_gate.py`). The operator
    lists files for `has_varying_buckets` and `moved`, an instant file in the folder of the other layout; the driver
    uses `preflight/index_gate.py` and `preflight/slice_gate.py` instead. `newest_schema` is the schema of the newest
    commit that has one, as the commit holds it.
    """

    keeps_operations: bool = False
    evolution: Evolution = UNCHANGED
    types: tuple[ColumnType, ...] = ()
    zone: ShownZone | None = None
    early_compaction: str | None = None
    has_varying_buckets: bool = False
    moved: str | None = None
    newest_schema: str | None = None


NO_FACTS = TableFacts()
"""The facts of a table before its first commit."""


def facts_of(
    *,
    schemas: Iterable[str],
    is_marked: bool,
    history: str | None,
    zone: ShownZone | None = None,
    early_compaction: str | None = None,
    has_varying_buckets: bool = False,
    moved: str | None = None,
) -> TableFacts:
    """Return the facts: `schemas` are the schemas of the newest commits, newest first, as the commits hold them.

    `is_marked` says that one of these commits numbers its columns, and `history` is the newest file of
    `.hoodie/.schema`, None if there is none.
    """
    texts = list(schemas)
    return TableFacts(
        keeps_operations=any(names_operations(one) for one in texts),
        evolution=evolution_of(is_marked=is_marked, history=history),
        types=foreign_types(texts),
        zone=zone,
        early_compaction=early_compaction,
        has_varying_buckets=has_varying_buckets,
        moved=moved,
        newest_schema=next(iter(texts), None),
    )


def names_operations(schema: str) -> bool:
    """Tell whether a schema has the column in which Flink's changelog mode names the change of a row."""
    return f'"{_OPERATION}"' in schema


def consequences(facts: TableFacts, *, declared_zone: str | None, ingests: bool) -> Iterator[Unsupported]:
    """Yield everything that the operator cannot honour, with the services that do not start.

    Restore and erasure count as `Service.OPERATION`. A table without an ingestion gets no consequences that concern
    only ingestion.
    """
    if facts.keeps_operations:
        yield _operations()
    yield from _evolution(facts.evolution)
    for one in facts.types:
        if ingests or not one.is_rewritten:
            yield _type(one)
    yield from _zone(facts.zone, declared_zone)
    if facts.early_compaction is not None:
        yield _early(facts.early_compaction)
    if facts.has_varying_buckets:
        yield varying_buckets()
    if facts.moved is not None:
        yield half_moved(facts.moved)


def _operations() -> Unsupported:
    return Unsupported(
        key=_OPERATION,
        possible="a table without this column",
        found="it, as changelog.enabled of Flink adds it",
        advice="deleted rows stay in its files with a marker that compactions by Spark ignore, so they would come "
        f"back: {_TELL}",
    )


def _evolution(found: Evolution) -> Iterator[Unsupported]:
    """Yield that files need to be read by the numbers of their columns.

    Hudi 1.2.0 reads and rewrites files by names if a run does not set the option, and a later commit may drop the
    option of an earlier commit (apache/hudi#7040, #11803).
    """
    if found.changes:
        yield Unsupported(
            key=_SCHEMA_ON_READ,
            possible="columns that were added",
            found="a history in which " + "; ".join(found.changes),
            advice=f"{HISTORY_FOLDER} and the commits number the columns, and runs of this operator read files by "
            "names, so values of renamed columns would become null and values of dropped columns would come back: "
            f"continue with the tool that writes the table now, and {_TELL}",
        )


def _early(compaction: str) -> Unsupported:
    return Unsupported(
        key=SLICES_FIELD,
        possible="log files in the slices that their names say",
        found=f"the compaction {compaction}, which completed before it was requested, by the time of its file",
        advice=f"Hudi 1.2.0 counts log files of its slices to older ones, misses their updates, and would clean them "
        f"away. {SLICES_CURE}",
        refuses=EVERY_SERVICE,
    )


def _type(found: ColumnType) -> Unsupported:
    key, possible = f"column {found.column}", "types that Spark writes as they are, such as timestamp-micros"
    if found.is_rewritten:
        return Unsupported(
            key=key,
            possible=possible,
            found=found.kind,
            advice="Hudi refuses rows of Spark in such a column, and no cast in a transform helps: declare no "
            "ingestion, and let the tool that writes the table go on beside its services under a shared lock "
            "(concurrency.mode Optimistic), or " + _COPY,
            refuses=frozenset({Service.INGESTION}),
        )
    why = "Spark does not read such a column as its writer does, so its values could change"
    if found.unit_changed:
        why = "some releases of Hudi renamed the unit and left the values (apache/hudi#13233), so no run knows them"
    return Unsupported(
        key=key,
        possible=possible,
        found=f"{found.kind}, and another unit in earlier commits" if found.unit_changed else found.kind,
        advice=f"{why}: {_TELL}",
        refuses=REWRITING,
    )


def _zone(shown: ShownZone | None, declared: str | None) -> Iterator[Unsupported]:
    offset = offset_at(declared, shown.newest_ms) if declared and shown else None
    problem = zone_problem(shown, declared, offset)
    if problem is not None:
        yield Unsupported(
            key=ZONE_FIELD,
            possible="instants in a zone that is known",
            found=problem.found,
            advice=problem.advice,
            refuses=EVERY_SERVICE,
        )
