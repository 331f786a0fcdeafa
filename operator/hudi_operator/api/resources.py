"""The resources as they come from the Kubernetes API: metadata, spec and status together."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field, ValidationError

from hudi_operator.api.salvage import read_by_parts
from hudi_operator.api.spec.operation import HudiOperationSpec
from hudi_operator.api.spec.savepoint import HudiSavepointSpec
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import DEFAULT_CLASS_ANNOTATION, HudiTableClassSpec
from hudi_operator.api.status.memory import joined
from hudi_operator.api.status.operation_status import FINISHED, HudiOperationStatus
from hudi_operator.api.status.savepoints import HudiSavepointStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.values.base import Model

REQUESTED_AT_ANNOTATION = "hudi-operator.io/requested-at"
"""On a HudiTable: a new value requests a run now, and lets services that have exhausted their retries try again."""

SUSPEND_ANNOTATION = "hudi-operator.io/suspend"
"""On a HudiTable, or on a Namespace for all of its tables: suspends like `spec.suspend`; the value says who and why."""

OPERATION_UID_ANNOTATION = "hudi-operator.io/operation-uid"
"""On a HudiOperation, set by the operator: its uid, which reveals a copy that was restored from a backup."""


SAVEPOINTS = "HudiSavepoint"
"""The kind's key in the observation of a table, for the savepoints that name the table."""

SCHEDULED_LABEL = "hudi-operator.io/scheduled"
"""On a HudiSavepoint that the schedule of its table, its controller, created; without it the schedule ignores it."""

SAVEPOINT_FINALIZER = "hudi-operator.io/savepoint"
"""On a HudiSavepoint: removed once its savepoint was removed from the table, or is left there."""

OPERATIONS = "HudiOperation"
"""The kind's key in the observation of a table, for the operations that name the table."""

OPERATION_FINALIZER = "hudi-operator.io/operation"
"""On a HudiOperation: removed where the operation has not begun, or once it is finished."""

CASCADE_LABEL = "hudi-operator.io/cascaded-from"
"""On a HudiOperation that an erasure created for a reader of its table: the uid of the erasure."""


class OwnerReference(Model):
    """Who owns an object."""

    kind: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMetadata(Model):
    """The metadata fields that the operator uses."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: int = 0
    resource_version: str = ""
    annotations: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None

    @property
    def controller(self) -> str | None:
        """The uid of the HudiTable that controls an object, or None."""
        found = (one for one in self.owner_references if one.controller and one.kind == "HudiTable")
        return next((one.uid for one in found), None)

    @property
    def copied_from(self) -> str | None:
        """The uid of the original HudiOperation if this object is a copy, such as from a backup; else None."""
        named = self.annotations.get(OPERATION_UID_ANNOTATION)
        return None if named == self.uid else named


@dataclass(frozen=True, kw_only=True)
class InvalidObject:
    """An object that this version of the operator cannot read, with a sentence that says why.

    The readable status is in `status` for a table, `savepoint` for a HudiSavepoint, and `operation` for a
    HudiOperation.
    """

    metadata: ObjectMetadata
    message: str
    status: HudiTableStatus = field(default_factory=HudiTableStatus)
    savepoint: HudiSavepointStatus = field(default_factory=HudiSavepointStatus)
    operation: HudiOperationStatus = field(default_factory=HudiOperationStatus)
    unreadable: tuple[str, ...] = ()


class HudiTable(Model):
    """A table as its owner declared it, with its status.

    `unreadable` are the parts of the stored status that this version cannot read and leaves out.
    """

    metadata: ObjectMetadata
    spec: HudiTableSpec
    status: HudiTableStatus = HudiTableStatus()
    unreadable: tuple[str, ...] = ()

    @property
    def table_name(self) -> str:
        """The name of the Hudi table."""
        return self.spec.table_name or self.metadata.name

    @property
    def first_rescan(self) -> str | None:
        """The oldest request to read input once more that the table remembers."""
        return next(iter(self.status.decisions.rescans), None) if self.status.decisions is not None else None


class HudiTableClass(Model):
    """A class of tables."""

    metadata: ObjectMetadata
    spec: HudiTableClassSpec


class HudiSavepoint(Model):
    """A savepoint as its owner declared it, with its status."""

    metadata: ObjectMetadata
    spec: HudiSavepointSpec
    status: HudiSavepointStatus = HudiSavepointStatus()

    @property
    def is_held(self) -> bool:
        """Whether the operator's finalizer holds the resource."""
        return SAVEPOINT_FINALIZER in self.metadata.finalizers

    @property
    def is_scheduled(self) -> bool:
        """Whether the schedule of a table created the resource."""
        return self.metadata.labels.get(SCHEDULED_LABEL) == "true"


class HudiOperation(Model):
    """An operation as its owner declared it, with its status."""

    metadata: ObjectMetadata
    spec: HudiOperationSpec
    status: HudiOperationStatus = HudiOperationStatus()

    @property
    def is_held(self) -> bool:
        """Whether the operator's finalizer holds the resource."""
        return OPERATION_FINALIZER in self.metadata.finalizers


def is_default_class(document: dict[str, Any]) -> bool:
    """Whether tables without a class name use this class."""
    return _metadata(document).annotations.get(DEFAULT_CLASS_ANNOTATION) == "true"


def parse_table(document: dict[str, Any]) -> HudiTable | InvalidObject:
    """Read a HudiTable from its document.

    A spec that this version does not accept gives an `InvalidObject`. Parts of a status that cannot be read are left
    out: the status is the operator's own, and they are built again from the timeline and the Jobs.
    """
    metadata = _metadata(document)
    status, unreadable = read_by_parts(HudiTableStatus, _whole(document.get("status")))
    try:
        spec = HudiTableSpec.model_validate(document.get("spec"))
    except ValidationError as error:
        return InvalidObject(metadata=metadata, message=_sentence(error), status=status, unreadable=unreadable)
    return HudiTable(metadata=metadata, spec=spec, status=status, unreadable=unreadable)


def parse_table_class(document: dict[str, Any]) -> HudiTableClass | InvalidObject:
    """Read a HudiTableClass from its document."""
    metadata = _metadata(document)
    try:
        return HudiTableClass(metadata=metadata, spec=HudiTableClassSpec.model_validate(document.get("spec")))
    except ValidationError as error:
        return InvalidObject(metadata=metadata, message=_sentence(error))


def parse_savepoint(document: dict[str, Any]) -> HudiSavepoint | InvalidObject:
    """Read a HudiSavepoint from its document. Unreadable parts of its status are left out, as for a table."""
    metadata = _metadata(document)
    status, _ = read_by_parts(HudiSavepointStatus, document.get("status"))
    try:
        spec = HudiSavepointSpec.model_validate(document.get("spec"))
    except ValidationError as error:
        return InvalidObject(metadata=metadata, message=_sentence(error), savepoint=status)
    return HudiSavepoint(metadata=metadata, spec=spec, status=status)


def parse_operation(document: dict[str, Any]) -> HudiOperation | InvalidObject:
    """Read a HudiOperation from its document. Unreadable parts of its status are left out, as for a table."""
    metadata = _metadata(document)
    status, _ = read_by_parts(HudiOperationStatus, document.get("status"))
    try:
        spec = HudiOperationSpec.model_validate(document.get("spec"))
    except ValidationError as error:
        return InvalidObject(metadata=metadata, message=_sentence(error), operation=_of_its_own(status, metadata))
    return HudiOperation(metadata=metadata, spec=spec, status=status if spec.dry_run else _of_its_own(status, metadata))


def _of_its_own(status: HudiOperationStatus, metadata: ObjectMetadata) -> HudiOperationStatus:
    """Return the status without the progress that a copy of an operation brought along.

    Work that began under the original uid may be done by now, and the copy would do it again under its own uid. A copy
    never begins, so nothing is lost; a finished copy stays finished.
    """
    if metadata.copied_from is None or status.state in FINISHED:
        return status
    return status.copy_with(conditions=(), begun=False, started_at=None, cascade=())


def _whole(status: Any) -> Any:  # noqa: ANN401 - a document holds anything
    """Return the document of a status with the operator's memory at its places."""
    return joined(status) if isinstance(status, Mapping) else status


def _metadata(document: dict[str, Any]) -> ObjectMetadata:
    """Read metadata without the invalid fields: a poisoned field must not block a deletion."""
    raw = document.get("metadata")
    given = {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else {}
    given["name"] = str(given.get("name", ""))
    try:
        return ObjectMetadata.model_validate(given)
    except ValidationError as error:
        poisoned = {item["loc"][0] for item in error.errors()}
        return ObjectMetadata.model_validate({key: value for key, value in given.items() if key not in poisoned})


def _sentence(error: ValidationError) -> str:
    problems = (f"spec.{'.'.join(str(part) for part in item['loc'])}: {item['msg']}" for item in error.errors()[:5])
    return "; ".join(problems)
