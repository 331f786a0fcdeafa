"""The CustomResourceDefinitions, generated from the models.

`python -m hudi_operator.api.crd --write` writes them, from the root of the source tree, to `crds/` and to the chart,
and the tables of fields to the pages in `docs/` that hold some. `--check` says by its exit code, and by a diff, whether
what is committed is what the models say.
"""

import argparse
import difflib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import yaml

from hudi_operator.api.base import GROUP, VERSION, rules
from hudi_operator.api.crd_kinds import KINDS, ResourceKind
from hudi_operator.api.crd_schema import Schema, structural_schema
from hudi_operator.api.reference import with_field_tables

__all__ = ["KINDS", "crd_document", "crd_yaml", "differences", "generated_files", "main"]

FOLDERS = (Path("crds"), Path("charts/hudi-operator/crds"))
"""Folders that hold the generated files, relative to the root of the source tree."""

PAGES = (Path("docs/spec.md"), Path("docs/status.md"))
"""Pages with tables of fields, relative to the root of the source tree."""

_HEADER = """\
# Generated from the models in operator/hudi_operator/api: change those, then run
# python -m hudi_operator.api.crd --write
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


def generated_files(root: Path) -> dict[Path, str]:
    """Return the content of every generated file by its path relative to the root of the source tree."""
    files = {folder / kind.file_name: crd_yaml(kind) for folder in FOLDERS for kind in KINDS}
    pages = {page: with_field_tables((root / page).read_text()) for page in PAGES if (root / page).exists()}
    return files | pages


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
    files = generated_files(Path.cwd())
    if chosen.write:
        for path, text in files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return 0
    diff = differences(Path.cwd(), files)
    sys.stdout.writelines(diff)
    if diff:
        sys.stderr.write(
            "The generated files are out of date: run python -m hudi_operator.api.crd --write and commit the result.\n"
        )
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())
