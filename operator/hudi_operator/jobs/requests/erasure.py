"""The request of an erasure: the only document besides its resource that holds the keys."""

from dataclasses import dataclass

from hudi_jobs.contract import Location
from hudi_jobs.contract.operations.erase import MOST_READERS, EraseTask, Requester
from hudi_operator.api.resources import HudiOperation, HudiTable
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.sources.registry import upstream_of


@dataclass(frozen=True, kw_only=True)
class Readers:
    """The tables of a namespace that read a table of it, the nearest first, and the number of readers elsewhere."""

    names: tuple[str, ...] = ()
    elsewhere: int = 0


def build_erase_task(
    resource: HudiOperation, table: HudiTable, table_class: HudiTableClassSpec, readers: Readers | None = None
) -> EraseTask | None:
    """Return what the run of a HudiOperation erases; None for other kinds. `readers` are the tables that read it."""
    erase = resource.spec.erase
    if erase is None:
        return None
    ingestion, parent = table.spec.ingestion, parent_of(resource)
    quarantine = ingestion.bad_records.quarantine_path if ingestion is not None else None
    return EraseTask(
        keys=erase.keys or (),
        keys_from=erase.keys_from.path if erase.keys_from is not None else None,
        keys_digest=erase.keys_from.digest if erase.keys_from is not None else None,
        where=erase.where,
        release_savepoints=erase.release_savepoints,
        quarantines=(quarantine,) if quarantine is not None else (),
        requested_by=requester_of(resource),
        cascaded_from=parent,
        upstream=_upstream_of(resource, table),
        read_by=readers.names[:MOST_READERS] if readers is not None else (),
        read_by_count=len(readers.names) if readers is not None else None,
        read_elsewhere=readers.elsewhere if readers is not None else None,
        report_file=_report_file(resource, table, table_class.operations.report_path),
    )


def _upstream_of(resource: HudiOperation, table: HudiTable) -> str | None:
    """Return the upstream table if equal values are equal keys there: not behind a transform.

    Whoever lists the keys may have erased the same from that table, in another namespace too.
    """
    erase, ingestion = resource.spec.erase, table.spec.ingestion
    upstream = upstream_of(table.spec)
    if erase is None or ingestion is None or upstream is None:
        return None
    is_listed = erase.where is None and ingestion.transform is None
    return upstream if is_listed or parent_of(resource) is not None else None


def parent_of(resource: HudiOperation) -> str | None:
    """Return the uid of the operation that created this operation; the driver compares the keys of both by digest."""
    owners = resource.metadata.owner_references
    return next((one.uid for one in owners if one.controller and one.kind == "HudiOperation"), None)


def requester_of(resource: HudiOperation) -> Requester | None:
    """Return the requester; the operator recorded at its first look whether the name is certain."""
    name, told = resource.spec.requested_by, resource.status
    if name is None:
        return None
    return Requester(name=name, verified=bool(told.requester_verified) and told.requested_by == name)


def _report_file(resource: HudiOperation, table: HudiTable, folder: str | None) -> str | None:
    if folder is None or resource.spec.dry_run:
        return None
    metadata = resource.metadata
    name = f"{metadata.name}-{metadata.uid}.json"
    reports = Location.parse(folder.replace("{namespace}", metadata.namespace))
    return (reports / metadata.namespace / table.metadata.name / name).url
