"""A request to read files once more: which ones, and what makes it a new request.

It reads `<which>[:<pattern>][#<anything>]`, for example `skipped`, `read:*-10-*.csv` or `read#2`. The pattern means
files as `pathGlob` does. Any other value than the last one served is a new request, so the part after `#` asks again.
"""

from dataclasses import dataclass
from enum import StrEnum

LONGEST = 256


class Rescan(StrEnum):
    """Which files are read once more."""

    SKIPPED = "skipped"
    """Those of which it is not known that they were ever read: what the condition InputSkipped counts."""

    ASSUMED = "assumed"
    """Those too that count as read only because the checkpoint of release 0.1 says so."""

    READ = "read"
    """All, whether they were read or not."""


_KINDS = {
    Rescan.SKIPPED: frozenset({"skipped"}),
    Rescan.ASSUMED: frozenset({"skipped", "assumed"}),
    Rescan.READ: frozenset({"skipped", "assumed", "read"}),
}


class InvalidRescan(ValueError):
    """The text is no request, with a sentence that says what one looks like."""


@dataclass(frozen=True)
class RescanRequest:
    """A request as it was understood; `text` is the whole of it."""

    text: str
    which: Rescan
    glob: str | None

    def wants(self, kind: str) -> bool:
        """Tell whether files that the record holds as this kind are to be read once more."""
        return kind in _KINDS[self.which]

    @property
    def is_everything(self) -> bool:
        """Whether all files are read once more, so that no record of them is needed."""
        return self.which is Rescan.READ and self.glob is None


def parse_rescan(text: str) -> RescanRequest:
    """Read a request; raise `InvalidRescan` for anything else."""
    requested = text.rpartition("#")[0] if "#" in text else text
    which, colon, glob = requested.partition(":")
    known = which in set(Rescan) and bool(glob) == bool(colon)
    if not known or len(text) > LONGEST or not text.isprintable():
        raise InvalidRescan(
            f"{text[:60]!r} is not a valid request to read files again: it must be skipped, assumed or read, "
            f"optionally with a pattern after ':', and at most {LONGEST} printable characters long"
        )
    return RescanRequest(text, Rescan(which), glob or None)
