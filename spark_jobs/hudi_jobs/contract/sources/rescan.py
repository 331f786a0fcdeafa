"""A request to read files once more: which files, and what makes the request new.

It reads `read[:<pattern>][#<anything>]`, for example `read`, `read:*-10-*.csv` or `read#2`. The pattern means files as
`pathGlob` does. Any value other than the last served value is a new request, so another part after `#` asks again.
"""

from dataclasses import dataclass

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
