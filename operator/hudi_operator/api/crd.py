"""The CustomResourceDefinitions, generated from the models.

`python -m hudi_operator.api.crd --write` writes them, from the root of the source tree, to `crds/` and to the chart;
`--check` says by its exit code, and by a diff, whether what is committed is what the models say.
"""

import argparse
import difflib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel

from hudi_operator.api.base import GROUP, VERSION, rules
from hudi_operator.api.crd_schema import Schema, structural_schema
from hudi_operator.api.table_class import HudiTableClassSpec
from hudi_operator.api.table_spec import HudiTableSpec
from hudi_operator.api.table_status import HudiTableStatus

FOLDERS = (Path("crds"), Path("charts/hudi-operator/crds"))
"""Folders that hold the generated files, relative to the root of the source tree."""

_HEADER = """\
# Generated from the models in operator/hudi_operator/api: change those, then run
# python -m hudi_operator.api.crd --write
"""


@dataclass(frozen=True, kw_only=True)
class PrinterColumn:
    """A column of `kubectl get`; a wide one is shown with `-o wide` only."""

    name: str
    json_path: str
    type: str = "string"
    description: str
    wide: bool = False

    def document(self) -> dict[str, Any]:
        """Return the column as the API server wants it."""
        priority = {"priority": 1} if self.wide else {}
        return {
            "name": self.name,
            "type": self.type,
            "jsonPath": self.json_path,
            "description": self.description,
            **priority,
        }


@dataclass(frozen=True, kw_only=True)
class ResourceKind:
    """What a CustomResourceDefinition says beside the schemas of spec and status."""

    kind: str
    short_name: str
    namespaced: bool
    description: str
    spec: type[BaseModel]
    status: type[BaseModel] | None = None
    columns: tuple[PrinterColumn, ...]
    root_rules: tuple[tuple[str, str], ...] = ()

    @property
    def plural(self) -> str:
        """Name of the resource in URLs and roles."""
        return f"{self.kind.lower()}{'es' if self.kind.endswith('s') else 's'}"

    @property
    def file_name(self) -> str:
        """Name of the generated file."""
        return f"{GROUP}_{self.plural}.yaml"


_AGE = PrinterColumn(
    name="Age", json_path=".metadata.creationTimestamp", type="date", description="Time since the resource was made"
)

TABLE = ResourceKind(
    kind="HudiTable",
    short_name="ht",
    namespaced=True,
    description="One Apache Hudi table as its owner declares it, and what its timeline says.",
    spec=HudiTableSpec,
    status=HudiTableStatus,
    root_rules=(
        # The name is the value of a label on the table's Jobs and pods, and a label holds no more.
        ("size(self.metadata.name) <= 63", "the name must not be longer than 63 characters"),
    ),
    columns=(
        PrinterColumn(
            name="Ready",
            json_path='.status.conditions[?(@.type=="Ready")].status',
            description="Whether the table is as it was declared",
        ),
        PrinterColumn(name="Type", json_path=".spec.type", description="CopyOnWrite or MergeOnRead"),
        PrinterColumn(
            name="Commits",
            json_path=".status.timeline.completedCommits",
            type="integer",
            description="Completed commits in the active timeline",
        ),
        PrinterColumn(
            name="Pending",
            json_path=".status.timeline.pendingCount",
            type="integer",
            description="Instants that are requested or inflight",
        ),
        PrinterColumn(
            name="Last commit",
            json_path=".status.timeline.latestCompleted.time",
            description="Time of the newest completed instant",
        ),
        PrinterColumn(name="Status", json_path=".status.message", description="The state in one sentence"),
        _AGE,
        PrinterColumn(name="Class", json_path=".spec.tableClassName", description="The HudiTableClass", wide=True),
        PrinterColumn(name="Base path", json_path=".spec.basePath", description="Where the table lives", wide=True),
        PrinterColumn(
            name="Suspended",
            json_path=".spec.suspend",
            type="boolean",
            description="Whether new jobs are held back",
            wide=True,
        ),
        PrinterColumn(
            name="Last run",
            json_path=".status.services.ingestion.lastRun.outcome",
            description="How the last ingestion ended",
            wide=True,
        ),
        PrinterColumn(
            name="Jobs", json_path=".status.activeJobs[*].name", description="Jobs that have not ended", wide=True
        ),
    ),
)

TABLE_CLASS = ResourceKind(
    kind="HudiTableClass",
    short_name="htc",
    namespaced=False,
    description="Walls and defaults for tables, set by the platform team, like a StorageClass.",
    spec=HudiTableClassSpec,
    columns=(
        PrinterColumn(
            name="Default",
            json_path=r".metadata.annotations.hudi-operator\.io/is-default-class",
            description="Whether tables that name no class belong to this one",
        ),
        PrinterColumn(name="Spark image", json_path=".spec.sparkImage", description="Image of drivers and executors"),
        _AGE,
        PrinterColumn(
            name="Base paths",
            json_path=".spec.allowedBasePaths",
            description="Prefixes that tables may live under",
            wide=True,
        ),
        PrinterColumn(
            name="Endpoint", json_path=".spec.objectStore.endpoint", description="URL of the object store", wide=True
        ),
    ),
)

KINDS = (TABLE, TABLE_CLASS)
"""All kinds of the group."""


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
        "spec": structural_schema(kind.spec),
    }
    if kind.status is not None:
        # kstatus takes an object without observedGeneration for current, so one never looked at carries -1.
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


def generated_files() -> dict[Path, str]:
    """Return the content of every generated file by its path relative to the root of the source tree."""
    return {folder / kind.file_name: crd_yaml(kind) for folder in FOLDERS for kind in KINDS}


def differences(root: Path, files: dict[Path, str]) -> list[str]:
    """Return the lines of a diff between the files below a root and what they should hold."""
    return [line for path, wanted in files.items() for line in _file_difference(root, path, wanted)]


def _file_difference(root: Path, path: Path, wanted: str) -> Iterable[str]:
    present = (root / path).read_text() if (root / path).exists() else ""
    return difflib.unified_diff(
        present.splitlines(keepends=True), wanted.splitlines(keepends=True), f"{path} (committed)", f"{path} (models)"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the generated files below the current folder; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hudi_operator.api.crd", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="write the generated files")
    action.add_argument("--check", action="store_true", help="exit with 1 and a diff when they are out of date")
    chosen = parser.parse_args(arguments)
    files = generated_files()
    if chosen.write:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return 0
    diff = differences(Path.cwd(), files)
    sys.stdout.writelines(diff)
    if diff:
        sys.stderr.write(
            "The CRDs are out of date: run python -m hudi_operator.api.crd --write and commit the result.\n"
        )
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())
