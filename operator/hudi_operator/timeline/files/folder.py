"""Finds files in the timeline folder that are not part of it and that a person should know about."""

from collections.abc import Iterable

from hudi_operator.timeline.files.names import is_instant_time
from hudi_operator.timeline.model import Layout, Problem, TableProperties

# Files that Hudi itself keeps in `.hoodie/` next to a layout-1 timeline.
_KNOWN = frozenset({"hoodie.properties", "hoodie.properties.backup", "hoodie.properties.updated", "lock"})

# Hudi's own folders: a store lists a folder marker (`history/`) as an object of that name.
_FOLDERS = frozenset({"history", "archived", "metadata", "timeline"})


def stray_files(ignored: Iterable[str], properties: TableProperties) -> tuple[Problem, ...]:
    """Report files in the timeline folder that neither the timeline nor Hudi itself needs.

    Hudi skips them, and so do the counters. Checksum files of Hadoop's local file system (`.name.crc`) and directory
    markers of object stores (`name_$folder$`, and `name/` of Hudi's folders) are not reported.
    """
    folder = properties.timeline_folder
    folders = _FOLDERS | {properties.archive_path.removeprefix(f"{folder}/").partition("/")[0]}
    problems = []
    for name in ignored:
        if not name or name in folders or name.endswith((".crc", "_$folder$")):
            continue
        if properties.layout is Layout.ONE and (name in _KNOWN or name.startswith(".")):
            continue
        if is_instant_time(name.partition(".")[0].partition("_")[0]):
            reason = "The name looks like an instant, but Hudi knows no such action or state; it is ignored."
        else:
            reason = "The file is not part of a timeline; it is ignored."
        problems.append(Problem(f"{folder}/{name}", reason))
    return tuple(problems)
