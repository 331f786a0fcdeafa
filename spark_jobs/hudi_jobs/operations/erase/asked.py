"""The keys of an erasure: from the request, and checked against those of an earlier run."""

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.operations.erase import EraseTask
from hudi_jobs.contract.wording import counted
from hudi_jobs.failures import TaskFailed
from hudi_jobs.journal.erase_record import EraseRecord
from hudi_jobs.operations.erase.keys import Keys, key_fields, keys_named, keys_where, require_comparable
from hudi_jobs.operations.erase.sealed import unsealed
from hudi_jobs.operations.erase.search.scan import located_path
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import UNCHANGED, refused
from hudi_jobs.operations.rows import current_rows


def asked(work: OperationRun) -> EraseTask:
    """Return what to erase; raise `TaskFailed` unless the request names exactly one way."""
    erase = work.operation.erase
    if erase is None or sum((bool(erase.keys), erase.keys_from is not None, erase.where is not None)) != 1:
        raise TaskFailed(FailureReason.INVALID_REQUEST, "The request does not say which records are to be erased.")
    return erase


def keys_asked(work: OperationRun, erase: EraseTask) -> Keys:
    """Return the keys of a new erasure; raise `TaskFailed` when they select no row, or other rows as well."""
    context, table = work.context, work.table
    rows = current_rows(context)
    if erase.keys_from is not None and located_path(context, erase.keys_from).startswith(
        f"{located_path(context, table.base_path).rstrip('/')}/"
    ):
        raise refused("The file of keys is inside the table's folder, where no key may be left; move it elsewhere.")
    if erase.where is None:
        require_comparable(rows, key_fields(table))
        return keys_named(context, erase, table, work.operation.uid)
    keys, others = keys_where(context, rows, table, erase.where, work.operation.uid)
    if others:
        with work.obstacles.each():
            raise refused(
                f"The predicate does not select {counted(others, 'row')} with the key of a row that it selects, and a "
                "key is erased in every partition. Widen the predicate so that it selects these rows too, or list the "
                "keys (keys) if the rows of all partitions are meant."
            )
    return keys


def keys_again(work: OperationRun, record: EraseRecord) -> Keys:
    """Return the keys of an erasure that an earlier run began.

    Raises `TaskFailed` when the request names other keys than the first run erased, or the stored keys are gone.
    """
    erase = asked(work)
    keys = _named_again(work, erase) if erase.where is None else _kept(work, erase.where, record)
    if keys.digest != record.erased.digest:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            "The keys differ from those that the first run began to erase: the file of keys or the resource has "
            "changed. Restore the original keys, so that another run can finish.",
        )
    return keys


def _named_again(work: OperationRun, erase: EraseTask) -> Keys:
    try:
        return keys_named(work.context, erase, work.table, work.operation.uid)
    except TaskFailed as error:
        said = error.message.removesuffix(UNCHANGED)
        raise TaskFailed(error.reason, f"{said}An earlier run has begun, and needs the keys to finish.") from None


def _kept(work: OperationRun, where: str, record: EraseRecord) -> Keys:
    keys = unsealed(work.context, key_fields(work.table), work.operation.uid, where)
    if keys is None and record.failed is not None:
        raise TaskFailed(
            record.failed,
            "An earlier run has deleted the rows, but could not prove that nothing of the keys is left, and the keys "
            "are no longer stored. Erase the same keys with another HudiOperation that lists them (keys): the "
            "predicate selects none of them any more.",
        )
    if keys is None:
        raise TaskFailed(
            FailureReason.INVALID_REQUEST,
            "An earlier run has begun, but the keys that it stored in the operator's folder of the table are missing "
            "or damaged. Remove the finalizer of the HudiOperation, and erase the records with another "
            "HudiOperation that names their keys.",
        )
    return keys
