"""The notes of a release are the part of the changelog about it."""

import pytest

from localcluster.settings import DevError
from release.notes import notes_of

CHANGELOG = """\
# Changelog

## Unreleased

## 0.2.0 - 2026-12-01

### Added

- A chart.

## 0.1.0 - 2026-11-29

- The first.
"""


def test_notes_end_where_the_release_before_begins() -> None:
    assert notes_of(CHANGELOG, "0.2.0") == "## 0.2.0 - 2026-12-01\n\n### Added\n\n- A chart.\n"


def test_notes_of_the_oldest_release_go_to_the_end() -> None:
    assert notes_of(CHANGELOG, "0.1.0").endswith("- The first.\n")


def test_changes_without_a_version_come_first() -> None:
    changed = CHANGELOG.replace("## Unreleased\n", "## Unreleased\n\n- Something new.\n")
    assert notes_of(changed, "0.2.0").startswith("## Unreleased\n\n- Something new.\n\n## 0.2.0")


def test_links_to_pages_become_paths_because_the_notes_lie_beside_no_page() -> None:
    linked = CHANGELOG.replace(
        "- A chart.", "- A chart. See [Install](docs/start/install.md#chart) and [HTTP](https://a.b)."
    )
    assert "See Install (`docs/start/install.md`) and [HTTP](https://a.b)." in notes_of(linked, "0.2.0")


def test_version_without_a_section_is_refused_and_named() -> None:
    with pytest.raises(DevError, match=r"has no section for 0\.3\.0"):
        notes_of(CHANGELOG, "0.3.0")
