"""Paths as users write them, with the rules that the API server applies to them.

The rules refuse what Hadoop, Spark and S3 read differently from one another: escapes, glob characters, empty and dot
segments. Whether a path is allowed for a table depends on its class and is checked by the operator.
"""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.base import rules

_BUCKET = "s3[an]?://[a-zA-Z0-9][a-zA-Z0-9._-]*"


def _plain(name: str) -> tuple[str, str]:
    # RE2: white space of any kind, control characters, and what URLs and globs give a meaning to.
    return (
        r"!self.matches(r'[%?#*\\\p{Z}\p{C}]|/[.][.]?(/|$)')",
        f"{name} must be plain: no '.' or '..' segments, no '%', '?', '#', '*', backslash or white space",
    )


def _folder(name: str) -> tuple[str, str]:
    return (
        f"self.matches('^({_BUCKET}(/[^/]+)+|file://(/[^/]+)(/[^/]+)+)/?$')",
        f"{name} must be a folder below a bucket (s3a://bucket/folder) or a file path (file:///folder/folder), "
        "without '//' inside",
    )


def _place(name: str) -> tuple[str, str]:
    return (
        f"self.matches('^({_BUCKET}|file:///[^/]+)(/[^/]+)*/?$')",
        f"{name} must look like s3a://bucket/folder or file:///folder, without '//' inside",
    )


BasePath = Annotated[
    str,
    Field(
        max_length=1024,
        json_schema_extra=rules(
            ("self == oldSelf", "basePath cannot be changed; create another HudiTable instead"),
            _folder("basePath"),
            _plain("basePath"),
        ),
    ),
]
"""Where a table lives; a trailing slash is allowed."""

SourcePath = Annotated[str, Field(max_length=1024, json_schema_extra=rules(_place("path"), _plain("path")))]
"""Where input lies; unlike a table it may be a whole bucket."""

QuarantinePath = Annotated[
    str, Field(max_length=1024, json_schema_extra=rules(_folder("quarantinePath"), _plain("quarantinePath")))
]
"""Where rows that were set aside go."""

PathPrefix = Annotated[
    str,
    Field(
        max_length=1024,
        # `{namespace}` may stand anywhere after the scheme. A scheme alone would allow every bucket.
        json_schema_extra={"pattern": r"^(s3[an]?://[a-zA-Z0-9{][a-zA-Z0-9._{}-]*|file://)(/[^/%?#*\\\s]+)*/?$"},
    ),
]
"""A folder that paths may lie under."""


def apart(first: str, second: str) -> str:
    """Return the CEL condition that neither of two paths, given as expressions, is the other or lies inside it.

    The scheme is left out of the comparison, because s3, s3a and s3n are the same store.
    """
    one, other = _without_scheme(first), _without_scheme(second)
    return f"!{one}.startsWith({other}) && !{other}.startsWith({one})"


def _without_scheme(path: str) -> str:
    return f"({path}.substring({path}.indexOf(':')) + ({path}.endsWith('/') ? '' : '/'))"
