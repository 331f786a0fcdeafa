"""The archived timeline: the history that archival has moved out of the active timeline.

The control loop never reads it: layout 1 must be scanned whole, and decisions need nothing from it.
"""

from hudi_operator.timeline.archive.parts import ArchivedTimeline
from hudi_operator.timeline.archive.v1 import read_archive

__all__ = ["ArchivedTimeline", "read_archive"]
