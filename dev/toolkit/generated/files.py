"""Returns every generated file with its expected content, which includes the version in the chart and on pages."""

import difflib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from dashboards.files import dashboard_files, with_panel_lists
from hudi_operator.api.crd.definitions import KINDS, crd_yaml
from release.version import chart_with_version, current_version, page_with_version
from toolkit.generated import command_line, findings, reference
from toolkit.generated.fields import with_field_lists

FOLDERS = (Path("crds"), Path("charts/hudi-operator/crds"))
"""Folders that hold the CRDs, relative to the root of the source tree."""

REFERENCE = Path("docs/reference/names.md")

COMMAND_LINE = Path("docs/reference/command-line.md")

FINDINGS = Path("docs/operations/findings.md")

CHART = Path("charts/hudi-operator/Chart.yaml")

READMES = (Path("README.md"), Path("charts/hudi-operator/README.md"))


def generated_files(root: Path) -> dict[Path, str]:
    """Return the expected content of every generated file, by path relative to the root of the source tree."""
    definitions = {kind.file_name: crd_yaml(kind) for kind in KINDS}
    crds = {folder / name: text for folder in FOLDERS for name, text in definitions.items()}
    version = current_version()
    texts = {page.relative_to(root): page.read_text() for page in (root / "docs").rglob("*.md")}
    pages = {page: with_panel_lists(with_field_lists(text)) for page, text in texts.items()}
    pages |= {page: (root / page).read_text() for page in READMES if (root / page).exists()}
    pages |= {REFERENCE: reference.page(), FINDINGS: findings.page(), COMMAND_LINE: command_line.page()}
    chart = {CHART: chart_with_version((root / CHART).read_text(), version)} if (root / CHART).exists() else {}
    return crds | chart | dashboard_files() | {page: page_with_version(text, version) for page, text in pages.items()}


def differences(root: Path, files: Mapping[Path, str]) -> Iterator[str]:
    """Yield the lines of a diff between the files below a root and their expected content."""
    for path, wanted in files.items():
        yield from _difference(root, path, wanted)


def _difference(root: Path, path: Path, wanted: str) -> Iterable[str]:
    present = (root / path).read_text() if (root / path).exists() else ""
    return difflib.unified_diff(
        present.splitlines(keepends=True), wanted.splitlines(keepends=True), f"{path} (committed)", f"{path} (the code)"
    )
