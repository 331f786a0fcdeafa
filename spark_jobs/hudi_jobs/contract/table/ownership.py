"""The owner of a table: the operator's own folder inside the table, and the owner's record in it."""

from typing import Annotated, Literal, TypeVar

from pydantic import Field, ValidationError

from hudi_jobs.contract.document import Document

OPERATOR_FOLDER = ".hudi-operator"
"""The operator's own folder in a table's folder. It is beside `.hoodie`, because Hudi takes a `.hoodie` for a table."""

OWNER_FILE = "owner.json"
"""The record of the owner; drivers with a lease on the table write it, operators read it before they start anything."""

OPERATOR_FILE_LIMIT = 8192
"""The most bytes of a file in the operator's folder: a larger file was not written by a driver and is not read."""

OwnerName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$", max_length=330)]
_Document = TypeVar("_Document", bound=Document)
_Time = Annotated[str, Field(pattern=r"^[0-9TZ:.+-]{1,40}$")]


class TableOwner(Document):
    """A resource of an operator.

    `operator` is equal in all replicas and restarts of an operator, and differs between operators; `table` is for
    people.
    """

    operator: OwnerName
    table_uid: OwnerName
    table: OwnerName


class OwnerRecord(TableOwner):
    """The owner of the table, the start of the ownership, and the run that confirmed it last."""

    version: Literal[1] = 1
    run: OwnerName
    since: _Time
    renewed_at: _Time


class UnreadableOwner(ValueError):
    """The file is no record of an owner that this release can read."""


def read_document(kind: type[_Document], content: bytes) -> _Document | None:
    """Read a file of the operator's folder; return None for anything that this release cannot read."""
    if len(content) > OPERATOR_FILE_LIMIT:
        return None
    try:
        return kind.model_validate_json(content)
    except (ValidationError, RecursionError):
        return None


def decode_owner(content: bytes) -> OwnerRecord:
    """Read the record; raise `UnreadableOwner` for anything else, such as a record of another release."""
    if len(content) > OPERATOR_FILE_LIMIT:
        raise UnreadableOwner("it is larger than any record")
    try:
        return OwnerRecord.model_validate_json(content)
    except ValidationError as error:
        raise UnreadableOwner("it holds no record that this release can read") from error


def encode_owner(record: OwnerRecord) -> bytes:
    """Write the record as JSON."""
    return record.model_dump_json(by_alias=True).encode()
