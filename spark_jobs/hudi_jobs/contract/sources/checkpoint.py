"""The checkpoint: how far a source has been read; and the request to read files once more.

A request reads `read[:<pattern>][#<anything>]`, for example `read`, `read:*-10-*.csv` or `read#2`. The pattern means
files as `pathGlob` does. Any value other than the last served value is a new request, so another part after `#` asks
again.
"""

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


LONGEST = 256

_READ = "read"


class InvalidRescan(ValueError):
    """The text is no request; the message says what a request looks like."""


@dataclass(frozen=True)
class RescanRequest:
    """A parsed request; `text` is its whole text, `glob` names the files, None means all."""

    text: str
    glob: str | None

    @property
    def is_everything(self) -> bool:
        """Whether the request is for all files, so that it needs no record of them."""
        return self.glob is None


def parse_rescan(text: str) -> RescanRequest:
    """Read a request; raise `InvalidRescan` for anything else."""
    requested = text.rpartition("#")[0] if "#" in text else text
    word, colon, glob = requested.partition(":")
    if word != _READ or bool(glob) != bool(colon) or len(text) > LONGEST or not text.isprintable():
        raise InvalidRescan(
            f"{text[:60]!r} is not a valid request to read files again: it must be read, optionally with a pattern "
            f"after ':', and at most {LONGEST} printable characters long"
        )
    return RescanRequest(text, glob or None)
