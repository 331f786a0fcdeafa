"""Whose table it is: the operator's own folder inside a table, and the record of the owner that is kept there."""

from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from hudi_jobs.contract.document import Document

OPERATOR_FOLDER = ".hudi-operator"
"""The operator's own folder in a table's. It is beside `.hoodie`, because Hudi takes that one for an existing table."""

OWNER_FILE = "owner.json"
"""Who owns the table; written by drivers that hold a lease on it, read by operators before they start anything."""

OPERATOR_FILE_LIMIT = 8192
"""Bytes; a file of the operator's folder that is larger was not written by a driver and is not read."""

OwnerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", max_length=330)]
_Document = TypeVar("_Document", bound=Document)
_Time = Annotated[str, Field(pattern=r"^[0-9TZ:.+-]{1,40}$")]


class TableOwner(Document):
    """One resource of one operator.

    `operator` is the same in all replicas and restarts of an operator and in no other one; `table` is for people.
    """

    operator: OwnerName
    table_uid: OwnerName
    table: OwnerName


class OwnerRecord(TableOwner):
    """Who owns a table, since when, and which run found that to be so last."""

    version: Literal[1] = 1
    run: OwnerName
    since: _Time
    renewed_at: _Time


class UnreadableOwner(ValueError):
    """The file is no record of an owner that this release can read."""


def read_document(kind: type[_Document], content: bytes) -> _Document | None:
    """Read a file of the operator's folder; None for what is none that this release can read, which says nothing."""
    if len(content) > OPERATOR_FILE_LIMIT:
        return None
    try:
        return kind.model_validate_json(content)
    except (ValidationError, RecursionError):
        return None


def decode_owner(content: bytes) -> OwnerRecord:
    """Read the record; raise `UnreadableOwner` for anything else, which may be another release's."""
    if len(content) > OPERATOR_FILE_LIMIT:
        raise UnreadableOwner("it is larger than any record")
    try:
        return OwnerRecord.model_validate_json(content)
    except ValidationError as error:
        raise UnreadableOwner("it holds no record that this release can read") from error


def encode_owner(record: OwnerRecord) -> bytes:
    """Write the record as JSON."""
    return record.model_dump_json(by_alias=True).encode()
