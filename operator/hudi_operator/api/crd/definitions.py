"""The CustomResourceDefinitions, generated from the models."""

from typing import Any

import yaml

from hudi_operator.api.crd.kinds import KINDS, ResourceKind
from hudi_operator.api.crd.schema import Schema, structural_schema
from hudi_operator.api.values.base import GROUP, VERSION, rules

__all__ = ["KINDS", "crd_document", "crd_yaml"]

# The dashes keep the definitions apart where helm prints one after the other.
_HEADER = """\
---
# Generated from the models in operator/hudi_operator/api: change those, then run
# python dev/generate.py --write
"""


def crd_document(kind: ResourceKind) -> dict[str, Any]:
    """Return the CustomResourceDefinition of a kind."""
    version = {
        "name": VERSION,
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": _root_schema(kind)},
        "additionalPrinterColumns": [column.document() for column in kind.columns],
    }
    if kind.status is not None:
        version["subresources"] = {"status": {}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": kind.kind,
                "listKind": f"{kind.kind}List",
                "plural": kind.plural,
                "singular": kind.kind.lower(),
                "shortNames": [kind.short_name],
                "categories": ["hudi"],
            },
            "scope": "Namespaced" if kind.namespaced else "Cluster",
            "versions": [version],
        },
    }


def _root_schema(kind: ResourceKind) -> Schema:
    properties: dict[str, Schema] = {
        "apiVersion": {"type": "string"},
        "kind": {"type": "string"},
        "metadata": {"type": "object"},
        "spec": structural_schema(kind.spec, for_people=True),
    }
    if kind.status is not None:
        # kstatus takes an object without observedGeneration for current, so an object without a reconcile carries -1.
        properties["status"] = {**structural_schema(kind.status), "default": {"observedGeneration": -1}}
    return {
        "type": "object",
        "description": kind.description,
        "required": ["spec"],
        "properties": properties,
        **(rules(*kind.root_rules) if kind.root_rules else {}),
    }


def crd_yaml(kind: ResourceKind) -> str:
    """Return the CustomResourceDefinition of a kind as it is committed."""
    body = yaml.safe_dump(crd_document(kind), sort_keys=False, width=120, allow_unicode=True)
    return _HEADER + body
