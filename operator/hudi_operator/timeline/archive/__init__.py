"""The archived timeline: history that cleaning and archival have taken out of the active one.

Never read by the control loop: layout 1 must be scanned whole, and nothing that a decision needs is there.
"""

from hudi_operator.timeline.archive.parts import ArchivedTimeline
from hudi_operator.timeline.archive.reader import read_archive

__all__ = ["ArchivedTimeline", "read_archive"]
