"""Drafts the resource for observing an existing table. Pure.

The draft is free of drift by construction: every value comes from the rules that later check the table, and values
that these refuse are written as comments with the reason.
"""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from datetime import timedelta

from pydantic import ValidationError

from hudi_jobs.contract import Difference, Service, differences
from hudi_jobs.contract.table.merging import ordering_of
from hudi_jobs.contract.table.properties import (
    NONE,
    has_metadata_table,
    late_changes_remark,
    partition_columns_of,
    printable,
    record_key_of,
)
from hudi_jobs.contract.table.support import EVERY_SERVICE, unsupported
from hudi_jobs.contract.wording import counted
from hudi_operator.adoption.evidence import Evidence, Unreadable, writers_of
from hudi_operator.adoption.search import folders_of, name_for
from hudi_operator.adoption.sections import file_comments, index_entry, service_entries
from hudi_operator.adoption.text import Entry, Plain, comment_lines, document, yaml_lines
from hudi_operator.api.resources import HudiTable
from hudi_operator.api.spec.table import ManagementPolicy
from hudi_operator.api.values.base import GROUP, VERSION
from hudi_operator.api.values.names import INNER_FOLDERS, prefix_problem
from hudi_operator.jobs.requests.request import definition_of
from hudi_operator.timeline import TableProperties, TimelineZone

_ALL_SERVICES = EVERY_SERVICE - {Service.OPERATION}
_PENDING_SHOWN = 5
_PROBLEMS_SHOWN = 5
_HOUR = timedelta(hours=1)
# Zones with a fixed offset that is not in whole hours.
_ODD_ZONES = {
    timedelta(hours=3, minutes=30): "Asia/Tehran",
    timedelta(hours=4, minutes=30): "Asia/Kabul",
    timedelta(hours=5, minutes=30): "Asia/Kolkata",
    timedelta(hours=5, minutes=45): "Asia/Kathmandu",
    timedelta(hours=6, minutes=30): "Asia/Yangon",
    timedelta(hours=8, minutes=45): "Australia/Eucla",
    timedelta(hours=9, minutes=30): "Australia/Darwin",
    timedelta(hours=-9, minutes=-30): "Pacific/Marquesas",
}


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A resource with its comments; `reasons` say why the table cannot be managed, then all of it is a comment."""

    name: str
    entries: tuple[Entry, ...]
    comments: tuple[str, ...]
    reasons: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The resource as a YAML document, or as comments if the table cannot be managed."""
        lines = [*comment_lines(self.comments), *yaml_lines(self.entries)]
        if not self.reasons:
            return "\n".join(["---", *lines, ""])
        commented = (line if line.startswith("#") else f"# {line}" for line in lines)
        return "\n".join(["", *comment_lines(self.reasons), *commented, ""])


def draft_of(
    found: Evidence | Unreadable,
    *,
    taken: Collection[str],
    namespace: str | None = None,
    table_class: str | None = None,
) -> Draft:
    """Return the resource of a table, under an unused name."""
    name = name_for(found.base_path, taken=taken)
    if isinstance(found, Unreadable):
        reason = f"{found.base_path} cannot be managed, because it cannot be read. {found.reason}"
        return Draft(name=name, entries=(), comments=(), reasons=(reason,))
    metadata = (Entry("name", name), *((Entry("namespace", namespace),) if namespace else ()))
    entries = (
        Entry("apiVersion", Plain(f"{GROUP}/{VERSION}")),
        Entry("kind", Plain("HudiTable")),
        Entry("metadata", metadata),
        Entry("spec", tuple(_spec(found, table_class))),
    )
    reasons, without_ingestion = _refusals(found, entries)
    if reasons:
        reasons = [f"{found.base_path} cannot be managed:", *(f"- {reason}" for reason in reasons)]
    return Draft(
        name=name,
        entries=entries,
        comments=(*_comments(found), *without_ingestion),
        reasons=tuple(reasons),
    )


def _refusals(found: Evidence, entries: tuple[Entry, ...]) -> tuple[list[str], list[str]]:
    """Return reasons against managing the table at all, and reasons against an ingestion."""
    raw = dict(found.timeline.properties.raw)
    table, problems = _parsed(entries)
    reasons = [*problems, *_path_problem(found.base_path), *_twice(entries)]
    if table is None:
        refused = unsupported(raw, declared_index=None, ingests=False)
        return reasons + [
            f"{printable(one.key)}: {printable(one.found) or NONE}, but the operator supports only {one.possible}; "
            f"{one.advice}."
            for one in refused
        ], []
    # An unknown zone is a decision of its own.
    facts = replace(found.facts, zone=None)
    differing = differences(raw, definition_of(table), ingests=False, facts=facts)
    ingesting = (one for one in differences(raw, definition_of(table), facts=facts) if one not in differing)
    partly = (one for one in differing if not one.refuses >= _ALL_SERVICES)
    return (
        reasons + [one.sentence for one in differing if one.refuses >= _ALL_SERVICES],
        [
            *(f"decide: {_services(one)} cannot run. {one.sentence}" for one in partly),
            *(f"decide: it cannot be ingested into. {one.sentence}" for one in ingesting),
        ],
    )


def _services(found: Difference) -> str:
    return ", ".join(sorted(one.value for one in found.refuses)) or "nothing that this says"


def _spec(found: Evidence, table_class: str | None) -> Iterator[Entry]:
    properties = found.timeline.properties
    raw = dict(properties.raw)
    if table_class:
        yield Entry("tableClassName", table_class)
    yield Entry("managementPolicy", ManagementPolicy.OBSERVE)
    yield Entry("tableName", properties.name)
    yield Entry("basePath", found.base_path)
    yield Entry("type", Plain("MergeOnRead" if properties.is_merge_on_read else "CopyOnWrite"))
    yield Entry("recordKey", record_key_of(raw))
    if partition_columns_of(raw):
        yield Entry("partitionBy", partition_columns_of(raw))
    yield from _ordering(properties)
    yield index_entry(found)
    yield from _zone(found)
    yield Entry("metadataTable", (Entry("enabled", has_metadata_table(raw)),), tuple(_metadata_partitions(raw)))
    yield from service_entries(found)


def _ordering(properties: TableProperties) -> Iterator[Entry]:
    found = ordering_of(dict(properties.raw))
    if found.columns:
        yield Entry("orderingFields", found.columns, (f"By {printable(found.decided_by)}.",))


def _metadata_partitions(raw: dict[str, str]) -> Iterator[str]:
    partitions = raw.get("hoodie.table.metadata.partitions", "")
    if partitions:
        yield f"Partitions of the metadata table: {printable(partitions)}."


def _zone(found: Evidence) -> Iterator[Entry]:
    properties = found.timeline.properties
    if properties.timezone is not TimelineZone.LOCAL or not found.timeline.instants:
        return
    zone = zone_name(found.offset)
    if zone is not None:
        comment = (
            "The newest files show this. decide: where the writer's clock has summer time and it continues writing, "
            "name its zone, such as America/New_York."
        )
        yield Entry("timelineTimeZone", zone, (comment,))


def zone_name(offset: timedelta | None) -> str | None:
    """Return a zone with this fixed offset from UTC, or None if none exists or the offset is unknown."""
    if offset is None:
        return None
    if offset % _HOUR:
        return _ODD_ZONES.get(offset)
    hours = offset // _HOUR
    # The names of these zones count westwards.
    return f"Etc/GMT{-hours:+d}" if hours else "UTC"


def _comments(found: Evidence) -> Iterator[str]:
    timeline = found.timeline
    properties, instants = timeline.properties, timeline.instants
    span = f", from {instants[0].time} to {instants[-1].time}" if instants else ""
    yield (
        f"{found.base_path}: {properties.table_type.declared}, table version {properties.version}, "
        f"{counted(timeline.counters.completed_commits, 'commit')} in the active timeline{span}"
    )
    writers = writers_of(found.commits, properties)
    if writers:
        yield f"Who wrote, by the newest {counted(len(found.commits), 'commit')}:"
        yield from (f"  {one.sentence}" for one in writers)
        yield "decide: where ingestion continues reading, and when the writer above is stopped: docs/guides/adopt.md."
    remark = late_changes_remark(dict(properties.raw))
    if remark is not None:
        yield f"decide: whether the tool compacts the table once more before it is managed. {remark}"
    for one in timeline.pending[:_PENDING_SHOWN]:
        yield f"Pending: {one.action} {one.time}, {one.state}."
    if timeline.counters.savepoints:
        yield f"Savepoints: {', '.join(timeline.counters.savepoints[:_PENDING_SHOWN])}."
    if properties.timezone is TimelineZone.LOCAL and instants and zone_name(found.offset) is None:
        yield (
            "decide: timelineTimeZone. Its instants are in the local time of the tool that wrote them, and its files "
            "do not show which zone that is."
        )
    yield from file_comments(found)
    yield from found.unread[:_PROBLEMS_SHOWN]
    yield from (f"{one.file}: {one.reason}" for one in timeline.problems[:_PROBLEMS_SHOWN])


def _parsed(entries: tuple[Entry, ...]) -> tuple[HudiTable | None, list[str]]:
    """Return the resource as the operator would parse it, or the validation errors."""
    try:
        return HudiTable.model_validate(document(entries)), []
    except ValidationError as error:
        return None, [
            f"{'.'.join(map(str, one['loc']))}: {printable(str(one['input']))}: {one['msg']}"
            for one in error.errors(include_url=False)
        ]


def _path_problem(base_path: str) -> Iterator[str]:
    """Yield the API server's objections to a base path."""
    problem, folders = prefix_problem(base_path), folders_of(base_path)
    if problem is not None:
        yield f"basePath: it {problem}"
    elif len(folders) < 2:
        yield "basePath: it is a whole bucket or a folder of the root"
    if {folder.lower() for folder in folders} & set(INNER_FOLDERS):
        yield f"basePath: it lies in a folder {' or '.join(INNER_FOLDERS)}"


def _twice(entries: tuple[Entry, ...]) -> Iterator[str]:
    """Yield the lists that name a column twice, ignoring case."""
    for name, value in document(entries)["spec"].items():
        if isinstance(value, list) and len({str(one).lower() for one in value}) < len(value):
            yield f"{name}: it names a column twice"
