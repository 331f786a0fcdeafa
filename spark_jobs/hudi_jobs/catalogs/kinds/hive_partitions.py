"""Whether a Hive Metastore would show each partition of a table with its true value.

Hudi 1.2.0 takes the values of an entry from the paths: it cuts them at `=`, takes each `/` for another column, and
leaves escapes as they are. Readers would find no row under the true value, or one of two partitions.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pyspark.sql.types import StructType

from hudi_jobs.contract import HivePartitionStyle
from hudi_jobs.contract.wording import shortened

_NAMED = "hoodie.datasource.write.hive_style_partitioning"
_ENCODED = "hoodie.datasource.write.partitionpath.urlencode"
_NO_VALUE = "__HIVE_DEFAULT_PARTITION__"
_ESCAPE = re.compile("%[0-9A-Fa-f]{2}")
_WHOLE_NUMBER, _DATE = re.compile(r"-?\d+"), re.compile(r"\d{4}-\d\d-\d\d")
_TEXTS = {
    "tinyint": _WHOLE_NUMBER,
    "smallint": _WHOLE_NUMBER,
    "int": _WHOLE_NUMBER,
    "bigint": _WHOLE_NUMBER,
    "boolean": re.compile("true|false", re.IGNORECASE),
    "date": _DATE,
    "timestamp": re.compile(rf"{_DATE.pattern}.*"),
    "timestamp_ntz": re.compile(rf"{_DATE.pattern}.*"),
}
"""The values of each type as readers of a metastore parse them; other types take any text."""

_LONGEST_SHOWN = 150


@dataclass(frozen=True)
class PartitionForm:
    """How the paths of a table's partitions come about, and how the catalog finds values in them."""

    columns: tuple[tuple[str, str], ...]
    """Names and types."""

    style: HivePartitionStyle
    named: bool
    encoded: bool

    @classmethod
    def of(
        cls,
        columns: Iterable[str],
        schema: StructType | None,
        properties: Mapping[str, str],
        style: HivePartitionStyle,
    ) -> "PartitionForm":
        """Return the form of a table; a table of another tool may not say whether its folders have names."""
        types = {each.name: each.dataType.simpleString() for each in schema.fields} if schema is not None else {}
        return cls(
            columns=tuple((name, types.get(name, "string")) for name in columns),
            style=style,
            named=properties.get(_NAMED, "").lower() != "false",
            encoded=properties.get(_ENCODED, "").lower() == "true",
        )

    def refusal(self, paths: Iterable[str]) -> str | None:
        """Return a sentence on the first partition that would have another value, or None."""
        seen: dict[str, str] = {}
        for path in paths if self.columns else ():
            if (why := self._why(path)) is not None:
                return f"The partition {shortened(path, _LONGEST_SHOWN)} cannot be shown: {why}."
            # Hudi compares the values of an entry in this form, so `a, b` and `c` are `a` and `b, c`.
            other = seen.setdefault(", ".join(_values(path, self.style)), path)
            if other != path:
                pair = " and ".join(shortened(each, _LONGEST_SHOWN) for each in (other, path))
                return f"The partitions {pair} would have the same values in the metastore; rename one of them."
        return None

    def _why(self, path: str) -> str | None:
        if self.encoded and _ESCAPE.search(path):
            return "readers would see the escapes of its path; write such values without them in a transform"
        match self.style:
            case HivePartitionStyle.COLUMNS:
                return self._why_of_columns(path.split("/"))
            case HivePartitionStyle.WHOLE:
                return self._why_of_whole(path)
            case HivePartitionStyle.DAY:
                return None  # Hudi parses the day, and refuses every other path

    def _why_of_whole(self, path: str) -> str | None:
        ((name, kind),) = self.columns
        if path.startswith(f"{name}="):
            return "its folder has the name of the column; set spec.catalog.hive.partitionStyle to Columns"
        return _type_trouble(name, kind, *_values(path, self.style))

    def _why_of_columns(self, folders: list[str]) -> str | None:
        if len(folders) != len(self.columns):
            return _count_trouble(len(folders), len(self.columns))
        for (name, kind), folder in zip(self.columns, folders, strict=True):
            before, equals, value = folder.partition("=")
            if equals and (not self.named or before != name or "=" in value):
                return f"Hudi would cut the value of {name} at '='; write such values without it in a transform"
            if (why := _type_trouble(name, kind, value if equals else folder)) is not None:
                return why
        return None


def _values(path: str, style: HivePartitionStyle) -> list[str]:
    """Return the values that Hudi finds in a path."""
    if style is not HivePartitionStyle.COLUMNS:
        return [path.replace("/", "-")]
    return [folder.rpartition("=")[2] for folder in path.split("/")]


def _count_trouble(folders: int, columns: int) -> str:
    if columns == 1:
        remedy = "set spec.catalog.hive.partitionStyle to Whole or Day, or replace the / of the value in a transform"
    else:
        remedy = "replace the / of the value in a transform"
    return f"its path has {folders} folders, and partitionBy {columns}; {remedy}"


def _type_trouble(name: str, kind: str, value: str) -> str | None:
    """Return why readers could not parse a value."""
    form = _TEXTS.get(kind)
    if form is None or value == _NO_VALUE or form.fullmatch(value):
        return None
    return (
        f"{shortened(value, _LONGEST_SHOWN)} is no {kind}, the type of {name}; read the table by its path, or "
        "partition by a column of text or dates"
    )
