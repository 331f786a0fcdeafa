"""What a secret looks like, by its name and by its shape: one table for the logs of the operator and of the driver."""

import re

REDACTED = "[redacted]"

SECRET_NAME = re.compile(
    r"secret|passw|token|credential|access[._-]?key|private[._-]?key|authorization|jaas|sas[._-]", re.IGNORECASE
)
"""Found anywhere in the name of a setting, a variable or a field of a log event whose value is never written."""

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
"""Each with what stays in its first group. None takes a quote or the backslash before one, so that JSON stays JSON."""


def redact_text(text: str) -> str:
    """Return a text without what has the shape of a secret: bearer tokens, user information of URLs, assignments."""
    for shape in _SHAPES:
        text = shape.sub(rf"\g<1>{REDACTED}", text)
    return text
