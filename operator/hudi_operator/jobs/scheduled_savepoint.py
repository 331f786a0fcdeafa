"""Builds the HudiSavepoint for a table's schedule."""

from typing import Any

from hudi_operator.api.resources import SCHEDULED_LABEL, HudiTable
from hudi_operator.api.spec.savepoint import SavepointDeletionPolicy
from hudi_operator.api.values.base import GROUP, VERSION
from hudi_operator.jobs.manifest import owner_reference


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
