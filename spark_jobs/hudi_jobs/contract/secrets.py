"""Recognises secrets by name and by shape, for the logs of the operator and of the driver."""

import re

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
