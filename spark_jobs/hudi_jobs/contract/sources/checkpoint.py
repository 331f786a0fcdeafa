"""The checkpoint: how far a source has been read, committed together with the rows that were read."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

CHECKPOINT_LIMIT = 500_000
"""The most characters of a checkpoint; most have a few hundred."""

_SHOWN = 500


@dataclass(frozen=True)
class Checkpoint:
    """The envelope of the checkpoint of every kind of source.

    `sequence` grows by one with every commit that moves the checkpoint. The greatest sequence in a timeline is the
    newest, because table services copy older checkpoints and clocks differ. `source` names what was read last and
    `display` how far, for people. `state` belongs to the source's own module: nobody else reads it.
    """

    kind: str
    sequence: int
    source: str | None = None
    display: str | None = None
    state: Mapping[str, Any] = field(default_factory=dict)


def checkpoint_display(text: str | None) -> str | None:
    """Return the display text of a commit's checkpoint, the only part that the operator reads.

    None for a text without it.
    """
    if text is None or len(text) > CHECKPOINT_LIMIT:
        return None
    try:
        document: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    display = document.get("display") if isinstance(document, dict) else None
    return display[:_SHOWN] if isinstance(display, str) else None
