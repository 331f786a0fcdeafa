"""Writes the notes of a release from the changelog."""

import re
from pathlib import Path

from localcluster.settings import CHECKOUT, DevError

NAME = "RELEASE-NOTES.md"
_LINK = re.compile(r"\[(?P<text>[^\]]+)\]\((?P<page>docs/[^)#]+)[^)]*\)")
_HEADING = re.compile(r"^## (?P<title>.+)$", re.MULTILINE)


def write(folder: Path, version: str) -> None:
    """Write what the changelog says of a version, and of changes that no version has yet."""
    (folder / NAME).write_text(notes_of((CHECKOUT / "CHANGELOG.md").read_text(), version))


def notes_of(changelog: str, version: str) -> str:
    """Return the sections from the top of a changelog down to that of a version.

    The pages lie in the checkout and not beside the notes, so that a link becomes the path of its page.
    Raises DevError where the version has no section.
    """
    headings = list(_HEADING.finditer(changelog))
    for number, heading in enumerate(headings):
        if heading["title"].split(" ")[0] == version:
            end = headings[number + 1].start() if number + 1 < len(headings) else len(changelog)
            sections = (changelog[headings[0].start() : heading.start()], changelog[heading.start() : end])
            notes = "\n".join(one.strip() + "\n" for one in sections if len(one.strip().splitlines()) > 1)
            return _LINK.sub(r"\g<text> (`\g<page>`)", notes)
    raise DevError(f"CHANGELOG.md has no section for {version}. Add `## {version} - YYYY-MM-DD` with its changes.")
