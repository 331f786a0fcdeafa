"""Names of columns, and paths as users write them, with the rules that the API server applies to them.

A dot would name a field of a struct, which Hudi's key generators accept and its readers, indexes and sort columns do
not.

The rules refuse paths that Hadoop, Spark and S3 read differently: escapes, glob characters, empty and dot segments. The
class decides whether a path is allowed for a table, and the operator checks it.
"""

import re
from typing import Annotated

from pydantic import AfterValidator, Field

from hudi_operator.api.values.base import rules, words

_PLAIN = "^[A-Za-z_][A-Za-z0-9_]*$"
_TAKEN = "^(?i:_hoodie_|_corrupt_record$|_corrupt_fault$)"

PLAIN_COLUMNS = (
    f"self.all(column, column.matches('{_PLAIN}') && !column.matches('{_TAKEN}'))",
    "a column name may contain only letters, digits and underscores, must not begin with a digit, and must not be one "
    "of Hudi's own (_hoodie_...); give anything else, such as a field of a struct, its own column in "
    "ingestion.transform",
)

NO_COLUMN_TWICE = (
    "self.all(one, self.exists_one(other, other.lowerAscii() == one.lowerAscii()))",
    "a column must not be named twice; names that differ only in case are the same to Spark",
)
# The order of the columns matters, so these lists are not of list type `set`, because its equality ignores the order.


def _checked(name: str) -> str:
    if re.match(_PLAIN, name) is None or re.match(_TAKEN, name) is not None:
        raise ValueError(f"{name!r} cannot be used: {PLAIN_COLUMNS[1]}")
    return name


AnyColumn = Annotated[str, Field(max_length=256)]
"""A name that the API server refuses unless it is plain; a name that an earlier release stored is still read."""

ColumnName = Annotated[AnyColumn, AfterValidator(_checked)]
"""A plain name. A table that was stored with another name has never had a successful run."""

PlainColumn = Annotated[
    str,
    AfterValidator(_checked),
    Field(
        max_length=256,
        json_schema_extra=rules(
            (
                f"self.matches('{_PLAIN}') && !self.matches('{_TAKEN}')",
                "a column name may contain only letters, digits and underscores, must not begin with a digit, and "
                "must not be one of Hudi's own (_hoodie_...)",
            )
        ),
    ),
]
"""The plain name of a column."""


_BUCKET = "s3[an]?://[a-z0-9][a-z0-9._-]*"
"""S3 has no buckets with capitals, and a store that has them tells `Lake` from the `lake` that a class allows."""

INNER_FOLDERS = (".hoodie", ".hudi-operator")
"""Folders that Hudi and the operator keep inside a table."""


def _plain(name: str) -> tuple[str, str]:
    # RE2: white space of any kind, control characters, and characters with a meaning in URLs and globs.
    return (
        r"!self.matches(r'[%?#*\\\p{Z}\p{C}]|/[.][.]?(/|$)')",
        f"{name} must be plain: no '.' or '..' segments, no '%', '?', '#', '*', backslash or white space",
    )


def _outside_of_tables(name: str) -> tuple[str, str]:
    folders = "|".join(folder.replace(".", "[.]") for folder in INNER_FOLDERS)
    return (
        f"!self.matches('(?i)/({folders})(/|$)')",
        f"{name} must not lie in a folder {' or '.join(INNER_FOLDERS)}",
    )


def _folder(name: str) -> tuple[str, str]:
    return (
        f"self.matches('^({_BUCKET}(/[^/]+)+|file://(/[^/]+)(/[^/]+)+)/?$')",
        f"{name} must be a folder below a bucket (s3a://bucket/folder) or a file path (file:///folder/folder), "
        "without '//' inside and with the bucket in lower case",
    )


def _place(name: str) -> tuple[str, str]:
    return (
        f"self.matches('^({_BUCKET}|file:///[^/]+)(/[^/]+)*/?$')",
        f"{name} must look like s3a://bucket/folder or file:///folder, without '//' inside and with the bucket in "
        "lower case",
    )


BasePath = Annotated[
    str,
    Field(
        max_length=1024,
        json_schema_extra=rules(
            ("self == oldSelf", "basePath cannot be changed; create another HudiTable instead"),
            _folder("basePath"),
            _plain("basePath"),
            _outside_of_tables("basePath"),
        ),
    ),
]
"""The folder of a table; a trailing slash is allowed."""

SourcePath = Annotated[str, Field(max_length=1024, json_schema_extra=rules(_place("path"), _plain("path")))]
"""The folder of input; unlike a table it may be a whole bucket."""

UpstreamPath = Annotated[
    str,
    Field(max_length=1024, json_schema_extra=rules(_folder("path"), _plain("path"), _outside_of_tables("path"))),
]
"""The folder of an upstream table."""

QuarantinePath = Annotated[
    str,
    Field(
        max_length=1024,
        json_schema_extra=rules(
            _folder("quarantinePath"), _plain("quarantinePath"), _outside_of_tables("quarantinePath")
        ),
    ),
]
"""The folder of quarantined rows."""

PathPrefix = Annotated[
    str,
    Field(
        max_length=1024,
        # `{namespace}` may stand anywhere after the scheme. A scheme alone would allow every bucket or file.
        json_schema_extra={
            "pattern": r"^(s3[an]?://[a-z0-9{][a-z0-9._{}-]*|file:///[^/%?#*\\\s]+)(/[^/%?#*\\\s]+)*/?$",
            **words(
                "a prefix must look like s3a://bucket/folder or file:///folder, with the bucket in lower case and "
                "without '//' inside and the characters % ? # * and backslash",
                (
                    r"!self.matches(r'[\p{Z}\p{C}]|/[.][.]?(/|$)')",
                    "a prefix must be plain: no '.' or '..' segments and no white space",
                ),
                (
                    "!self.replace('{namespace}', '').matches('[{}]')",
                    "{namespace} is the only text in braces that a prefix may contain",
                ),
            ),
        },
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


_PREFIX = re.compile(rf"({_BUCKET}|file:///[^/%?#*\\\s]+)(/[^/%?#*\\\s]+)*/?")


def prefix_problem(prefix: str) -> str | None:
    """Return why a prefix of a class is refused, or None; for classes that were stored before the rules above."""
    plain = prefix.replace("{namespace}", "n")
    if re.search(r"[{}]", plain):
        return "has other text in braces than {namespace}"
    if not _PREFIX.fullmatch(plain):
        return "is neither s3a://bucket/folder with its bucket in lower case nor file:///folder without '//' inside"
    segments = plain.partition("://")[2].split("/")
    if any(segment in {".", ".."} or not segment.isprintable() for segment in segments):
        return "has '.' or '..' segments or unprintable characters"
    return None
