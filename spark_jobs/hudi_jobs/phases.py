"""Named moments of a run at which tests stop the driver in order to kill it there.

With `HUDI_JOB_PAUSE_AT=<phase>` in its environment the driver stops itself (SIGSTOP) at that phase. With
`HUDI_JOB_PAUSE_AT=<phase>:<n>` it does so at the nth time, as in the nth batch of a continuous ingestion. With
`HUDI_JOB_PAUSE_AT=*` it does so at every phase, and first names the phase on standard error. Without the variable a
phase costs a single read of the environment. Hudi's own writing has no phase: a test watches the timeline from outside
and kills when it sees the inflight instant. In a container the driver must not be process 1 for this: the kernel
ignores a SIGSTOP that process 1 sends to itself.
"""

import os
import signal
import sys
from collections import Counter
from enum import StrEnum

PAUSE_VARIABLE = "HUDI_JOB_PAUSE_AT"
EVERY_PHASE = "*"
PAUSED_AT = "paused at "


class Phase(StrEnum):
    """A moment between the start of the driver and its end."""

    STARTED = "started"
    LISTED = "listed"
    READ = "read"
    RECORDED = "recorded"
    MARKED = "marked"
    PLANNED = "planned"
    DELETING = "deleting"
    PREPARED = "prepared"
    RESTORED = "restored"
    CHANGED = "changed"
    ERASED = "erased"
    CLEANED = "cleaned"
    VERIFIED = "verified"
    AFTER_COMMIT = "after-commit"
    BETWEEN_BATCHES = "between-batches"
    BEFORE_OUTCOME = "before-outcome"


_REACHED: Counter[Phase] = Counter()


def reach(phase: Phase) -> None:
    """Stop here when the environment asks for it."""
    _REACHED[phase] += 1
    name, _, time = os.environ.get(PAUSE_VARIABLE, "").partition(":")
    if name == EVERY_PHASE:
        print(f"{PAUSED_AT}{phase}:{_REACHED[phase]}", file=sys.stderr, flush=True)  # noqa: T201 - a test reads it
    if name == EVERY_PHASE or (name == phase and _REACHED[phase] == int(time or 1)):
        os.kill(os.getpid(), signal.SIGSTOP)
