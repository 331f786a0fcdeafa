"""The version of a release has one place, and chart, images and pages follow it."""

from pathlib import Path

import pytest
import yaml
from tests.docs.pages import DOCS, pages

from hudi_operator import __version__
from release.version import chart_with_version, page_with_version
from toolkit.generated.files import CHART, READMES, differences, generated_files

ROOT = Path(__file__).parents[2]


def test_chart_has_the_version_of_the_package() -> None:
    chart = yaml.safe_load((ROOT / CHART).read_text())
    assert (chart["version"], chart["appVersion"]) == (__version__, __version__)


def test_raising_the_version_changes_the_chart_and_every_command_that_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolkit.generated.files.current_version", lambda: "9.8.7")

    files = generated_files(ROOT)

    assert yaml.safe_load(files[CHART])["appVersion"] == "9.8.7"
    shown = [line for line in differences(ROOT, files) if line.startswith("+") and "9.8.7" in line]
    assert any("hudi-operator:9.8.7" in line for line in shown)
    assert not [line for line in "\n".join(files.values()).splitlines() if f"hudi-operator:{__version__}" in line]


def test_no_page_writes_the_version_where_a_release_would_not_find_it() -> None:
    texts = {page: (DOCS / page).read_text() for page in pages()} | {
        str(page): (ROOT / page).read_text() for page in READMES
    }
    left = {
        f"{page}: {line}"
        for page, text in texts.items()
        for line in page_with_version(text, "9.8.7").splitlines()
        if __version__ in line.replace(f"under {__version__}", "")
    }
    assert left == set()


def test_version_of_a_dependency_of_the_chart_stays() -> None:
    text = "version: 0.1.0\ndependencies:\n  - name: other\n    version: 3.2.1\n"
    assert chart_with_version(text, "0.2.0") == "version: 0.2.0\ndependencies:\n  - name: other\n    version: 3.2.1\n"
