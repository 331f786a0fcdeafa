"""Which files may lie beside the timeline without being part of it, and which a person should know of."""

from collections.abc import Iterable

from hudi_operator.timeline.files.names import is_instant_time
from hudi_operator.timeline.model import Layout, Problem, TableProperties

# What Hudi itself keeps in `.hoodie/` beside a layout-1 timeline.
_KNOWN = frozenset({"hoodie.properties", "hoodie.properties.backup", "hoodie.properties.updated", "lock"})


def stray_files(ignored: Iterable[str], properties: TableProperties) -> tuple[Problem, ...]:
    """Report names that are no part of the timeline and that Hudi does not keep there either.

    Hudi skips them, and so do the counters. Checksum files of Hadoop's local file system (`.name.crc`) and
    directory markers of object stores (`name_$folder$`) are of no interest.
    """
    folder = properties.timeline_folder
    problems = []
    for name in ignored:
        if not name or name.endswith((".crc", "_$folder$")):
            continue
        if properties.layout is Layout.ONE and (name in _KNOWN or name.startswith(".")):
            continue
        if is_instant_time(name.partition(".")[0].partition("_")[0]):
            reason = "The name looks like an instant, but Hudi knows no such action or state; it is ignored."
        else:
            reason = "The file is not part of a timeline; it is ignored."
        problems.append(Problem(f"{folder}/{name}", reason))
    return tuple(problems)
