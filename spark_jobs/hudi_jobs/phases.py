"""Named moments of a run at which tests stop the driver in order to kill it there.

With `HUDI_JOB_PAUSE_AT=<phase>` in its environment the driver stops itself (SIGSTOP) when it gets to that phase.
Without it a phase costs one read of the environment. The time during which Hudi itself writes has no phase: a test
watches the timeline from outside and kills when it sees the inflight instant. In a container the driver must not be
process 1 for this: the kernel ignores a SIGSTOP that process 1 sends to itself.
"""

import os
import signal
from enum import StrEnum

PAUSE_VARIABLE = "HUDI_JOB_PAUSE_AT"


class Phase(StrEnum):
    """A moment between the start of the driver and its end."""

    STARTED = "started"
    LISTED = "listed"
    READ = "read"
    RECORDED = "recorded"
    MARKED = "marked"
    PLANNED = "planned"
    DELETING = "deleting"
    AFTER_COMMIT = "after-commit"
    BEFORE_OUTCOME = "before-outcome"


def reach(phase: Phase) -> None:
    """Stop here when the environment asks for it."""
    if os.environ.get(PAUSE_VARIABLE) == phase:
        os.kill(os.getpid(), signal.SIGSTOP)
