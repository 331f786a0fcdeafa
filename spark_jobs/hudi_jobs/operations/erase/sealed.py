"""Stores the keys that a predicate selected for the next run, because their rows are deleted.

The file is in the operator's folder of the table until the operation is done, encrypted (AES-256-GCM) with a key made
of the predicate, which only the resource and its Job's request hold. A person who knows the predicate could have read
the keys from the rows. Deleting the resource makes a leftover file unreadable.
"""

import hashlib
import json
import os
import zlib

from hudi_jobs.context import TaskContext
from hudi_jobs.contract import OPERATOR_FOLDER, FailureReason
from hudi_jobs.failures.classification import stage
from hudi_jobs.filesystem import children_of, located
from hudi_jobs.jvm import classes
from hudi_jobs.lease.stores import open_table_files
from hudi_jobs.operations.erase.keys import Keys, keys_of
from hudi_jobs.operations.refusal import refused

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
    folder = f"{context.task.table.base_path.rstrip('/')}/{OPERATOR_FOLDER}"
    kept = {_name(uid) for uid in open_operations}
    with stage("The stored keys cannot be removed", otherwise=FailureReason.HUDI_ERROR):
        filesystem, path = located(context.spark, folder)
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
