"""Numbers, lists and texts from outside in sentences for people, and the secrets that logs leave out."""

import re
from collections.abc import Collection
from itertools import islice


def escaped(text: str) -> str:
    """Return a text that is safe in a terminal: hexadecimal escapes replace characters that are not printable."""
    return "".join(each if each.isprintable() else _escape(each) for each in text)


def shortened(text: str, most: int) -> str:
    """Return a text that is safe in a terminal, with at most `most` characters."""
    printable = escaped(text[: most + 1])
    return printable if len(printable) <= most else f"{printable[: most - 3]}..."


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def counted(number: int, thing: str, several: str | None = None) -> str:
    """Return `1 file`, `2 files`, `1,000 files`; `several` where the plural has no `s` alone."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {several or f'{thing}s'}"


def listed(names: Collection[object], most: int, *, count: int | None = None) -> str:
    """Return `a, b and 3 more`: the first names, and the number of the rest; `count` is the number of all."""
    shown = list(map(str, islice(names, most)))
    left = (len(names) if count is None else count) - len(shown)
    return ", ".join(shown) + (f" and {left:,} more" if left > 0 else "")


_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_TIME_UNITS = ((86400, "d"), (3600, "h"), (60, "m"), (1, "s"))


def byte_size(number: float) -> str:
    """Return a number of bytes in the largest unit below it."""
    unit = 0
    while number >= 1024 and unit < len(_BYTE_UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.0f} {_BYTE_UNITS[unit]}" if unit == 0 or number >= 100 else f"{number:.1f} {_BYTE_UNITS[unit]}"


def time_span(seconds: float) -> str:
    """Return a span in the largest unit that holds it twice, as `90s`, `5m`, `36h` and `3d`."""
    whole = max(0, int(seconds))
    size, unit = next(one for one in _TIME_UNITS if whole >= 2 * one[0] or one[0] == 1)
    return f"{whole // size}{unit}"


REDACTED = "[redacted]"

SECRET_NAME = re.compile(
    r"secret|passw|token|credential|access[._-]?key|private[._-]?key|authorization|jaas|sas[._-]", re.IGNORECASE
)
"""A setting, variable or log field with this in its name has a secret value, which is never written."""

_SHAPES = (
    re.compile(r"(\bbearer\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    # User information of a URL; in `abfss://container@account` it is the container.
    re.compile(r"(\b(?!abfss?:)\w+://)[^\s/@\"]+(?=@)"),
    re.compile(
        r"((?:secret|passw(?:or)?d|token|access[._-]?key|private[._-]?key)[\w.-]{0,64}\s{0,8}[=:]\s{0,8})"
        r"[^\s,;&\"']*[^\s,;&\"'\\]",
        re.IGNORECASE,
    ),
)
"""The first group of each pattern stays. No match ends in a quote or in the backslash before it, so that JSON stays
JSON.
"""


def redact_text(text: str) -> str:
    """Return a text without everything that looks like a secret: bearer tokens, user parts of URLs, assignments."""
    for shape in _SHAPES:
        text = shape.sub(rf"\g<1>{REDACTED}", text)
    return text
