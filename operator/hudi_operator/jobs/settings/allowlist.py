"""The allowlist of settings for a table, compared in a normal form."""

import re
from collections.abc import Iterable, Mapping

from hudi_operator.jobs.settings.known_settings import HARMLESS

_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def refused_keys(
    settings: Mapping[str, str], *, allowed: Iterable[str], prefix: str, owned: Iterable[str]
) -> tuple[str, ...]:
    """Return a sentence for each setting that the table may not make.

    `allowed` and `owned` hold keys, or prefixes that end with `*`. Keys owned by the operator cannot be allowed. An
    allowed prefix opens only keys known to be harmless; any other key must be named. Keys are compared without regard
    to case, and keys with unusual characters are refused: a spelling that Spark or Hudi reads but the comparison misses
    would bypass the list.
    """
    patterns = tuple(pattern.strip().lower() for pattern in allowed)
    reserved = {key.lower() for key in owned}
    return tuple(
        sentence
        for key, value in settings.items()
        if (sentence := _refusal(key, patterns=patterns, prefix=prefix, reserved=reserved) or _odd_value(key, value))
    )


def _refusal(key: str, *, patterns: tuple[str, ...], prefix: str, reserved: set[str]) -> str | None:
    if not _KEY.fullmatch(key):
        return f"{key!r} is not a plain key"
    normal = key.lower()
    if not normal.startswith(prefix):
        return f"{key} does not start with {prefix}"
    if any(_matches(normal, pattern) for pattern in reserved):
        return f"{key} is set by the operator from the typed fields of the spec"
    if normal in patterns or (normal in HARMLESS and any(_matches(normal, pattern) for pattern in patterns)):
        return None
    if any(_matches(normal, pattern) for pattern in patterns):
        return (
            f"{key} is not among the harmless keys that a prefix of the class opens, so the class has to allow it by "
            "its full name"
        )
    return f"{key} is not among the keys that the class allows"


def _odd_value(key: str, value: str) -> str | None:
    """Return a refusal if a value contains `$`: Spark and Hadoop expand `${env:NAME}` and print it in errors."""
    if "$" in value or not value.isprintable():
        return f"the value of {key} contains a $ or an unprintable character"
    return None


def _matches(key: str, pattern: str) -> bool:
    return key.startswith(pattern[:-1]) if pattern.endswith("*") else key == pattern
