"""The folder of a table version's timeline, and the signs of an unfinished change of the version: pure values.

Hudi moves the files one by one and writes the version last (`SevenToEightUpgradeHandler`,
`EightToSevenDowngradeHandler`). A process that opens the table in between sees part of its commits, and rolls back
instants that look unfinished: their rows would be lost.
"""

import re
from collections.abc import Iterable

from hudi_jobs.contract.instants import LAYOUT_2_FROM
from hudi_jobs.contract.table.support import EVERY_SERVICE, Unsupported
from hudi_jobs.contract.vocabulary import Service

META_FOLDER = ".hoodie"
INSTANT_FILE = re.compile(r"(?P<time>[0-9]{14}(?:[0-9]{3})?)(?:_[0-9]+)?(?P<rest>\.[a-z.]+)")

LAYOUT_FIELD = "timelineLayout"
"""The name of the consequence of a timeline that lies in two folders."""

_LAYOUT_2 = f"{META_FOLDER}/timeline"


def timeline_folders(version: int) -> tuple[str, str]:
    """Return the folder of a version's active timeline, and the folder of the other layout."""
    return (META_FOLDER, _LAYOUT_2) if version < LAYOUT_2_FROM else (_LAYOUT_2, META_FOLDER)


def instant_names(names: Iterable[str]) -> list[str]:
    """Return the sorted names of instant files among the names of a folder."""
    return sorted(name for name in names if INSTANT_FILE.fullmatch(name))


def half_moved(name: str) -> Unsupported:
    """Return the refusal of a timeline with this file in the folder of the other layout.

    Operations are not refused: a change of the version finishes the change, and the driver of any other kind checks for
    itself.
    """
    return Unsupported(
        key=LAYOUT_FIELD,
        possible="a timeline in the folder of the table's version",
        found=f"{name}, where tables of another version have their timeline",
        advice="a change of the version has not ended, and nothing is written meanwhile. If a deleted HudiOperation "
        "began it, create another HudiOperation to the same version, which finishes it; otherwise finish it with the "
        "tool "
        "that began it",
        refuses=EVERY_SERVICE - {Service.OPERATION},
    )
