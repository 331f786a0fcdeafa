"""Builds the resources that the operator creates: scheduled HudiSavepoints, and erasures of derived tables."""

import hashlib
from typing import Any

from hudi_operator.api.resources import CASCADE_LABEL, SCHEDULED_LABEL, HudiOperation, HudiTable
from hudi_operator.api.spec.operation import HudiOperationSpec
from hudi_operator.api.spec.savepoint import SavepointDeletionPolicy
from hudi_operator.api.values.base import GROUP, VERSION
from hudi_operator.jobs.manifest import owner_reference
from hudi_operator.jobs.requests.erasure import parent_of, requester_of


def build_savepoint(table: HudiTable, name: str) -> dict[str, Any]:
    """Return the manifest of a HudiSavepoint of the latest commit, kept until it is deleted."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "HudiSavepoint",
        "metadata": {
            "name": name,
            "namespace": table.metadata.namespace,
            "labels": {SCHEDULED_LABEL: "true"},
            "ownerReferences": [owner_reference(table)],
        },
        "spec": {
            "tableRef": {"name": table.metadata.name},
            "latest": True,
            "comment": "Scheduled",
            "keepForever": True,
            "deletionPolicy": SavepointDeletionPolicy.DELETE.value,
        },
    }


_LONGEST_BEGINNING = 200


def cascaded_name(parent: HudiOperation, table: str) -> str:
    """Return the name of the HudiOperation for a table: stable, so that it is created once."""
    told = hashlib.sha256(f"{parent.metadata.uid}/{table}".encode()).hexdigest()[:10]
    return f"{parent.metadata.name[:_LONGEST_BEGINNING].rstrip('-.')}-{told}"


def build_cascaded(parent: HudiOperation, table: str) -> dict[str, Any]:
    """Return the manifest that erases the same keys from another table of the namespace.

    The erasure cascades further to tables that read from that table. The parent's approval counts: its approver may
    approve every operation of the namespace, and saw that it cascades. The child is deleted with the parent, unless it
    has begun.
    """
    metadata, spec = parent.metadata, parent.spec
    asked = {"erase": spec.erase.model_dump(mode="json", by_alias=True, exclude_none=True)} if spec.erase else {}
    flags = {"dryRun": spec.dry_run, "acceptOtherWriters": spec.accept_other_writers, "approved": spec.approved}
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "HudiOperation",
        "metadata": {
            "name": cascaded_name(parent, table),
            "namespace": metadata.namespace,
            "labels": {CASCADE_LABEL: metadata.uid},
            "ownerReferences": [
                {
                    "apiVersion": f"{GROUP}/{VERSION}",
                    "kind": "HudiOperation",
                    "name": metadata.name,
                    "uid": metadata.uid,
                    "controller": True,
                    "blockOwnerDeletion": False,
                }
            ],
        },
        "spec": {
            "tableRef": {"name": table},
            **asked,
            **{name: True for name, value in flags.items() if value},
            **_requester(parent),
        },
    }


def is_cascaded_from(child: HudiOperation, parent: HudiOperation, table: str) -> bool:
    """Whether an operation is a table's cascaded erasure: the name proves nothing, since anyone can create it first.

    The operation must ask for the same keys; requester, approval and lifetime may differ.
    """
    if parent_of(child) != parent.metadata.uid:
        return False
    wanted = HudiOperationSpec.model_validate(build_cascaded(parent, table)["spec"])
    return _asked(child.spec) == _asked(wanted)


def _asked(spec: HudiOperationSpec) -> HudiOperationSpec:
    return spec.copy_with(approved=False, requested_by=None, ttl_after_finished=None)


def _requester(parent: HudiOperation) -> dict[str, str]:
    """Return the requester, except an unverified name: the operator may set any name, and its word is trusted."""
    asks = requester_of(parent)
    return {"requestedBy": asks.name} if asks is not None and asks.verified else {}
