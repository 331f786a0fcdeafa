"""The keys of an erasure: from the request, selected by a predicate, and checked against those of an earlier run.

The file of selected keys is in the operator's folder of the table until the operation is done, encrypted (AES-256-GCM)
with a key made of the predicate, which only the resource and its Job's request hold. A person who knows the predicate
could have read the keys from the rows. Deleting the resource makes a leftover file unreadable.
"""

import hashlib
import json
import os
import zlib

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason, Location, NotALocation
from hudi_jobs.contract.operations.erase import EraseTask
from hudi_jobs.contract.wording import counted
from hudi_jobs.journal.records import EraseRecord
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.erase.keys import Keys, key_fields, keys_named, keys_of, keys_where, require_comparable
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.refusal import UNCHANGED, refused
from hudi_jobs.operations.rows import current_rows
from hudi_jobs.spark.failures import TaskFailed, stage
from hudi_jobs.spark.filesystem import children_of, located
from hudi_jobs.spark.jvm import classes

LARGEST = 64 * 1024 * 1024
"""Bytes; the limit of a stored file."""

_SALT, _NONCE, _TAG_BITS = 16, 12, 128
_ROUNDS = 200_000
_ENCRYPT, _DECRYPT = 1, 2
_PREFIX, _SUFFIX = "keys-of-", ".sealed"


def seal(context: TaskContext, keys: Keys, uid: str, predicate: str) -> None:
    """Store the operation's keys, over those of an earlier run."""
    document = {"values": sorted(keys.values), "records": sorted(keys.records)}
    content = zlib.compress(json.dumps(document).encode())
    if len(content) + 1024 > LARGEST:
        raise refused(f"The keys have more than {LARGEST:,} bytes; erase the records in parts.")
    salt, nonce = os.urandom(_SALT), os.urandom(_NONCE)
    sealed = salt + nonce + _cipher(context, _ENCRYPT, _secret(uid, predicate, salt), nonce, content)
    files = open_table_files(context.spark, context.task.table.base_path, limit=LARGEST)
    with stage("The keys cannot be stored for a later run", otherwise=FailureReason.HUDI_ERROR):
        found = files.read(_name(uid))
        files.write(_name(uid), sealed, expected=None if found is None else found[1])


def unsealed(context: TaskContext, fields: tuple[str, ...], uid: str, predicate: str) -> Keys | None:
    """Return the keys that an earlier run of the operation stored; None when they are missing or damaged."""
    found = open_table_files(context.spark, context.task.table.base_path, limit=LARGEST).read(_name(uid))
    if found is None:
        return None
    sealed, end = found[0], _SALT + _NONCE
    salt, nonce, content = sealed[:_SALT], sealed[_SALT:end], sealed[end:]
    try:
        document = json.loads(
            zlib.decompress(_cipher(context, _DECRYPT, _secret(uid, predicate, salt), nonce, content))
        )
        values = frozenset(tuple(map(str, value)) for value in document["values"])
        return keys_of(fields, values, uid, records=frozenset(map(str, document["records"])))
    except Exception:  # noqa: BLE001 - whatever is wrong with the file, it is not what was written; and nothing of it is said
        return None


def discard(context: TaskContext, open_operations: frozenset[str]) -> None:
    """Remove the stored keys of all operations that are not open."""
    kept = {_name(uid) for uid in open_operations}
    with stage("The stored keys cannot be removed", otherwise=FailureReason.HUDI_ERROR):
        filesystem, path = located(context.spark, context.task.table.base_path, OPERATOR_FOLDER)
        if not filesystem.exists(path):
            return
        for status in children_of(filesystem, path):
            name = str(status.getPath().getName())
            if name.startswith(_PREFIX) and name.endswith(_SUFFIX) and name not in kept:
                filesystem.delete(status.getPath(), False)  # noqa: FBT003 - Java's own


def _name(uid: str) -> str:
    return f"{_PREFIX}{uid}{_SUFFIX}"


def _secret(uid: str, predicate: str, salt: bytes) -> bytes:
    return hashlib.pbkdf2_hmac("sha256", f"{uid}\0{predicate}".encode(), salt, _ROUNDS, dklen=32)


def _cipher(context: TaskContext, mode: int, secret: bytes, nonce: bytes, content: bytes) -> bytes:
    """Encrypt or decrypt bytes with Java's cipher: the image has no Python library for it."""
    crypto = classes(context.spark).javax.crypto
    cipher = crypto.Cipher.getInstance("AES/GCM/NoPadding")
    key = crypto.spec.SecretKeySpec(bytearray(secret), "AES")
    cipher.init(mode, key, crypto.spec.GCMParameterSpec(_TAG_BITS, bytearray(nonce)))
    return bytes(cipher.doFinal(bytearray(content)))


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
    if erase.keys_from is not None and _is_inside(erase.keys_from, context.task.table.location):
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


def _is_inside(path: str, folder: Location) -> bool:
    """Whether a path may lie inside a folder, whatever scheme of the store or spelling it has."""
    try:
        return folder.may_hold(Location.parse(path))
    except NotALocation as error:
        raise TaskFailed(FailureReason.INVALID_REQUEST, f"{path} is not the path of a file of keys.") from error


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
