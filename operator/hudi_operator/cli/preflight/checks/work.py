"""Runs, operations and continuous drivers that are at work while the operator is replaced."""

from collections.abc import Iterator

from hudi_jobs.contract.wording import counted, listed
from hudi_operator.api.resources import InvalidObject, parse_operation
from hudi_operator.api.status.operation_status import FINISHED
from hudi_operator.cli.preflight.check import ClusterState, Document, Line, fine, name_of, warning
from hudi_operator.cli.render.view import operation_status

_SHOWN = 3


def check_work(state: ClusterState) -> Iterator[Line]:
    """Say what is under way, and what the upgrade does to it."""
    operations = [name_of(one) for one in state.others if one["kind"] == "HudiOperation" and _is_begun(one)]
    if operations:
        yield warning(
            f"{counted(len(operations), 'operation')} under way ({listed(operations, _SHOWN)}): the new operator goes "
            "on where the old one stops.",
            "Wait for the end, if a release note names the kind: kubectl hudi wait TABLE --operation NAME",
        )
    active = [(view, job) for view in state.tables for job in view.status.active_jobs]
    drivers = [view.name for view, job in active if job.live is not None]
    if drivers:
        yield warning(
            f"{counted(len(drivers), 'continuous ingestion')} ({listed(drivers, _SHOWN)}) will end between two batches "
            "and start again with the new Spark image.",
            "Upgrade when such a pause suits, or name the present image in spec.job.image of the class.",
        )
    runs = len(active) - len(drivers)
    if runs:
        yield fine(f"{counted(runs, 'run')} under way; running Jobs finish with the image that they have.")
    if not (operations or active):
        yield fine("Nothing is under way.")


def _is_begun(document: Document) -> bool:
    parsed = parse_operation(dict(document))
    status = operation_status(parsed)
    return status.begun and (isinstance(parsed, InvalidObject) or status.state not in FINISHED)
