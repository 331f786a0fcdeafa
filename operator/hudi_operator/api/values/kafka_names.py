"""Brokers, registries, topics and patterns of Kafka as users write them, with the rules of the API server.

The operator compares them with the class, so each has a single spelling that is read alike everywhere: no user in a
URL, no wildcards in a host, and only simple regular expressions, which can be compared with a topic by hand.
"""

import re
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field

from hudi_operator.api.values.base import words

_HOST = r"([A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?|\[[0-9A-Fa-f:.]{2,45}\])"
_PORT = "([1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"

BootstrapServer = Annotated[
    str,
    Field(
        pattern=f"^{_HOST}:{_PORT}$",
        max_length=260,
        json_schema_extra=words("must be a broker as host:port; write an address of IPv6 in brackets"),
    ),
]
"""A broker as `host:port`; an address of IPv6 is in brackets."""

RegistryUrl = Annotated[
    str,
    Field(
        pattern=rf"^https?://{_HOST}(:{_PORT})?(/[A-Za-z0-9._~-]+)*/?$",
        max_length=512,
        json_schema_extra=words(
            "must be a URL such as https://registry.example.com:8081/path, without a user, a query and escapes",
            ("!self.matches('/[.][.]?(/|$)')", "url must have no '.' or '..' segments"),
        ),
    ),
]
"""The URL of a schema registry, without a user, a query or escapes."""

TopicName = Annotated[
    str,
    Field(
        pattern="^[a-zA-Z0-9._-]{1,249}$",
        max_length=249,
        json_schema_extra=words(
            "must be the name of a topic: letters, digits, '.', '_' and '-'",
            (
                "self != '.' && self != '..' && !self.startsWith('__')",
                "a topic must not be named . or .., or begin with __ like Kafka's own",
            ),
        ),
    ),
]
"""The name of a topic, by Kafka's own rules; names that begin with two underscores are Kafka's own."""

_LITERAL = r"[A-Za-z0-9_-]|\\\."
_WILD = r"(\.|\[[A-Za-z0-9_.-]+\])[*+]?"
_CHOICE = rf"\(({_LITERAL})+(\|({_LITERAL})+)*\)"
_PIECE = re.compile(rf"(?P<literal>{_LITERAL})|{_WILD}|{_CHOICE}")

MOST_REPETITIONS = 3
"""The most `*` and `+` in a pattern: a topic has 249 characters at most, and each repetition multiplies the tries."""

TopicPattern = Annotated[
    str,
    Field(
        pattern=rf"^({_LITERAL}|{_WILD}|{_CHOICE})+$",
        max_length=256,
        json_schema_extra=words(
            "must be made of letters, digits, _, - and \\., of . and classes such as [a-z0-9], which * or + may "
            "repeat, and of choices such as (orders|returns)",
            (
                rf"!self.matches('([*+].*){{{MOST_REPETITIONS + 1}}}')",
                f"topicPattern must repeat at most {MOST_REPETITIONS} times, by * and +",
            ),
        ),
    ),
]
r"""A regular expression that matches whole names of topics.

The pattern consists of letters, digits, `_`, `-` and `\.`, of `.` and classes such as `[a-z0-9]`, which may be repeated
by `*` or `+`, and of choices between texts such as `(orders|returns)`.
"""

AllowedTopic = Annotated[
    str,
    Field(
        pattern=r"^([a-zA-Z0-9._{}-]+\*?|\*)$",
        max_length=256,
        json_schema_extra=words(
            "must be a topic, the beginning of topics before one '*', or '*' alone",
            (
                "!self.replace('{namespace}', '').matches('[{}]')",
                "{namespace} is the only text in braces that a topic may contain",
            ),
            (
                "!self.matches('[{]namespace[}][^._]')",
                "{namespace} must stand at the end or before a dot or an underscore: otherwise it would also allow "
                "topics of namespaces with longer names that begin the same",
            ),
        ),
    ),
]
"""A topic, or the beginning of topics before a `*`; `{namespace}` stands for the table's namespace."""


_MOMENT = (
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?"
    "(Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9])$"
)
_A_MOMENT = "must be a time with a zone, such as 2026-11-01T00:00:00Z"


def _checked_moment(text: str) -> str:
    if re.fullmatch(_MOMENT, text) is None:
        raise ValueError(f"{text!r} is not a time such as 2026-11-01T00:00:00Z")
    datetime.fromisoformat(text)
    return text


Moment = Annotated[
    str,
    AfterValidator(_checked_moment),
    Field(
        max_length=40,
        json_schema_extra={
            "pattern": _MOMENT,
            **words(
                _A_MOMENT,
                # For a day that its month does not have, such as the 30th of February.
                (f"!self.matches('{_MOMENT}') || timestamp(self).getFullYear() > 0", _A_MOMENT),
            ),
        },
    ),
]
"""RFC 3339 with a zone."""


def pattern_problem(pattern: str) -> str | None:
    """Return why a text is no pattern of topics, or None; for patterns that were stored before the rules above."""
    position = 0
    while position < len(pattern):
        piece = _PIECE.match(pattern, position)
        if piece is None:
            return f"holds {pattern[position]!r}, which is not allowed in a pattern of topics"
        position = piece.end()
    try:
        re.compile(pattern)
    except re.error as error:
        return f"is not a regular expression: {error}"
    return None


def literal_prefix(pattern: str) -> tuple[str, bool]:
    """Return the common beginning of all topics that match a pattern, and whether it is the whole topic."""
    prefix, position = "", 0
    while position < len(pattern):
        piece = _PIECE.match(pattern, position)
        if piece is None or piece["literal"] is None:
            return prefix, False
        prefix += piece["literal"].removeprefix("\\")
        position = piece.end()
    return prefix, True


def compared(place: str) -> str:
    """Return a broker or the URL of a registry in its form for comparison: host in lower case, no slash at its end."""
    scheme, separator, rest = place.rpartition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme.lower()}{separator}{host.lower()}{slash}{path}".rstrip("/")
