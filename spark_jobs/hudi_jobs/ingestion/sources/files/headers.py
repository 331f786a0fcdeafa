"""Reads the header of each CSV file as Spark does, and compares the columns in files: present, missing, ambiguous."""

import re
from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.contract.wording import counted, listed
from hudi_jobs.spark.failures import TaskFailed, causes_of
from hudi_jobs.spark.filesystem import located
from hudi_jobs.spark.jvm import JavaObject, classes, hadoop_configuration, scala_map

_MOST_NAMED = 12
_LONGEST_NAME = 60
_WORD = re.compile(r"[\w.-]+")

Header = tuple[str, ...]
"""The names in a header, or of the columns in a footer, in the order of the file."""


@dataclass(frozen=True)
class HeaderGroup:
    """Files with the same header."""

    header: Header
    paths: tuple[str, ...]


def grouped(paths: Sequence[str], headers: Sequence[Header | None]) -> list[HeaderGroup]:
    """Return the files by header, in the order of the files; a file without a header has no rows."""
    groups: dict[Header, list[str]] = {}
    for path, header in zip(paths, headers, strict=True):
        if header is not None:
            groups.setdefault(header, []).append(path)
    return [HeaderGroup(header, tuple(members)) for header, members in groups.items()]


def quoted_name(name: str) -> str:
    """Return a name from a file as messages show it: bounded, and quoted unless it is a plain word."""
    cut = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
    return cut if _WORD.fullmatch(cut) else repr(cut)


def quoted_names(names: Collection[str]) -> str:
    """Return names from a file as a list for messages."""
    return listed([quoted_name(name) for name in names], _MOST_NAMED) or "none"


def require_telling(path: str, header: Header) -> None:
    """Raise `TaskFailed` for a column without a name, or two with the same name, even in another case of letters.

    Spark makes up names for such columns (`CSVUtils.makeSafeHeader`), which change with the order of the columns.
    """
    nameless = next((place for place, name in enumerate(header, start=1) if not name.strip()), None)
    if nameless is not None:
        raise _refused(path, f"column {nameless} of its header has no name ({quoted_names(header)})")
    seen: dict[str, str] = {}
    for name in header:
        other = seen.get(name.lower())
        if other == name:
            raise _refused(path, f"its header names the column {quoted_name(name)} twice")
        if other is not None:
            both = f"{quoted_name(other)} and {quoted_name(name)}"
            raise _refused(path, f"the columns {both} of its header differ only in the case of letters")
        seen[name.lower()] = name


def positions(header: Header, declared: Sequence[str]) -> dict[str, int]:
    """Return the positions of the declared columns in a header, in any case of letters; missing columns have none."""
    places = {name.lower(): place for place, name in enumerate(header)}
    return {name: places[name.lower()] for name in declared if name.lower() in places}


def require_declared(groups: Sequence[HeaderGroup], declared: Sequence[str]) -> None:
    """Raise `TaskFailed` for the first header that lacks a declared column."""
    lacking = [group for group in groups if len(positions(group.header, declared)) < len(declared)]
    if lacking:
        missing = [name for name in declared if name not in positions(lacking[0].header, declared)]
        raise _missing(lacking, missing, declared, "Correct the files, or the declared columns.")


def require_same(groups: Sequence[HeaderGroup]) -> None:
    """Raise `TaskFailed` for the first header that lacks a column of another file of the run."""
    wanted = {name.lower(): name for group in groups for name in group.header}
    lacking = [group for group in groups if len(group.header) < len(wanted)]
    if lacking:
        present = {name.lower() for name in lacking[0].header}
        missing = [name for key, name in wanted.items() if key not in present]
        advice = "Correct the files, declare the columns, or set the evolution of the schema to AddColumns."
        raise _missing(lacking, missing, list(wanted.values()), advice)


def lacking_some(groups: Sequence[HeaderGroup], among: Collection[str] | None = None) -> str:
    """Return a sentence about files without columns that other files of the run have, or an empty text.

    `among` are the columns that matter, in any case of letters; None for all.
    """
    known = None if among is None else {name.lower() for name in among}
    names = (name for group in groups for name in group.header if known is None or name.lower() in known)
    wanted = {name.lower(): name for name in names}
    without = {name: _paths_without(groups, key) for key, name in wanted.items()}
    absent = [f"{quoted_name(name)} ({_some_of(paths)})" for name, paths in without.items() if paths]
    return f"Columns that files lack are null in their rows: {listed(absent, _MOST_NAMED)}." if absent else ""


def left_out(groups: Sequence[HeaderGroup], declared: Sequence[str]) -> str:
    """Return a sentence about columns of the files that are not declared, or an empty text."""
    names = others_of(groups, declared)
    if not names:
        return ""
    return f"Left out {counted(len(names), 'column')} that are not declared: {quoted_names(names)}."


def others_of(groups: Sequence[HeaderGroup], declared: Sequence[str]) -> list[str]:
    """Return the columns of headers that are not declared."""
    known = {name.lower() for name in declared}
    return list(dict.fromkeys(name for group in groups for name in group.header if name.lower() not in known))


def _missing(lacking: Sequence[HeaderGroup], missing: list[str], wanted: Sequence[str], advice: str) -> TaskFailed:
    paths = [path for group in lacking for path in group.paths]
    found = lacking[0].header
    separator = " If these are several columns, set the option sep of the source." if len(found) == 1 else ""
    return TaskFailed(
        FailureReason.COLUMN_MISSING,
        f"{_some(paths)} {_lack(paths)} {'a column' if len(missing) == 1 else 'columns'}: {quoted_names(missing)}. "
        f"Expected: {quoted_names(wanted)}. Found: {quoted_names(found)}.{separator} {advice}",
    )


def _paths_without(groups: Sequence[HeaderGroup], key: str) -> list[str]:
    return [path for group in groups if key not in map(str.lower, group.header) for path in group.paths]


def _some_of(paths: Sequence[str]) -> str:
    return f"{counted(len(paths), 'file')}, such as {paths[0]}" if len(paths) > 1 else paths[0]


def _some(paths: Sequence[str]) -> str:
    more = f" and {counted(len(paths) - 1, 'more file')}" if len(paths) > 1 else ""
    return f"The file {paths[0]}{more}"


def _lack(paths: Sequence[str]) -> str:
    return "lack" if len(paths) > 1 else "lacks"


def _refused(path: str, what: str) -> TaskFailed:
    return TaskFailed(
        FailureReason.SOURCE_UNREADABLE,
        f"The file {path} cannot be read by the names of its columns: {what}. Give each column of the file a name of "
        "its own, or set the option header to false and declare the columns.",
    )


_AT_ONCE = 8
_AMOUNTS = (4 * 1024, 64 * 1024, 1024 * 1024)
"""The bytes to read of a file, one amount after another, until its header is whole; the last is the longest header."""

_MOST_COLUMNS = 20_480
"""The most columns that Spark reads without the option maxColumns."""

_UTF_8 = frozenset({"utf-8", "utf8"})
_BYTE_ORDER = "\ufeff"
_BLANK = "".join(map(chr, range(33)))
"""The characters that Java trims."""

Tokens: TypeAlias = Sequence[str | None] | None


class Short(Exception):
    """More bytes are needed; nothing is wrong yet."""


def has_header(options: Mapping[str, str]) -> bool:
    """Tell whether the first record of each file has the names of its columns; option names are in lower case."""
    return options.get("header", "").lower() == "true"


def headers_of(spark: SparkSession, options: Mapping[str, str], paths: Sequence[str]) -> list[Header | None]:
    """Return the header of each file, None for a file without any record.

    Raises `TaskFailed` for the first file with a header that does not name each column.
    """
    reader = _HeaderReader(spark, options, paths[0])
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(reader.header_of, paths))


def first_line(text: str, *, whole: bool, separator: str | None, comment: str | None) -> str | None:
    """Return the first line that is neither blank nor a comment (`CSVExprUtils.skipComments`), or None.

    Raises `Short` if the text ends within that line and the file continues.
    """
    ends = re.compile(re.escape(separator) if separator else r"\r\n|\r|\n")
    start = 0
    while start < len(text):
        end = ends.search(text, start)
        if end is None and not whole:
            break
        line, start = (text[start:], len(text)) if end is None else (text[start : end.start()], end.end())
        bare = line.strip(_BLANK)
        if bare and not (comment and bare.startswith(comment)):
            return line
    if whole:
        return None
    raise Short


class _HeaderReader:
    def __init__(self, spark: SparkSession, options: Mapping[str, str], path: str) -> None:
        java = classes(spark)
        self._spark = spark
        self._options = options
        self._filesystem, _ = located(spark, path)
        self._path = java.org.apache.hadoop.fs.Path
        self._codecs = java.org.apache.hadoop.io.compress.CompressionCodecFactory(hadoop_configuration(spark))
        self._encoding = options.get("encoding", options.get("charset", "UTF-8"))
        comment = options.get("comment", "")
        self._comment = None if comment in {"", "\u0000"} else comment
        self._separator = options.get("linesep")
        self._multiline = options.get("multiline", "").lower() == "true"
        zone = str(spark.conf.get("spark.sql.session.timeZone"))
        pruned = False
        self._settings = java.org.apache.spark.sql.catalyst.csv.CSVOptions(scala_map(spark, options), pruned, zone)
        self._parse = lru_cache(maxsize=1024)(self._parsed_line)

    def header_of(self, path: str) -> Header | None:
        """Return the names in the header of a file, all different."""
        for amount in _AMOUNTS:
            data, whole = self._head(path, amount)
            try:
                names = self._names(self._text(data), whole=whole)
            except Short:
                continue
            except UnicodeError as error:
                raise _not_in_encoding(path, self._encoding) from error
            except Exception as error:
                raise self._unparsable(path, error) from error
            if names is not None:
                require_telling(path, names)
            return names
        raise _broken(path, f"its header is longer than {_AMOUNTS[-1] >> 20} MiB")

    def _head(self, path: str, amount: int) -> tuple[bytes, bool]:
        """Return the beginning of a file, decompressed, and whether it is the whole file."""
        place = self._path(path)
        stream = self._filesystem.open(place)
        try:
            codec = self._codecs.getCodec(place) if _has_suffix(path) else None
            data = bytes((stream if codec is None else codec.createInputStream(stream)).readNBytes(amount))
        finally:
            stream.close()
        return data, len(data) < amount

    def _text(self, data: bytes) -> str:
        if self._encoding.lower() in _UTF_8:
            # Invalid UTF-8 may be only in the rows.
            text = data.decode("utf-8", errors="surrogateescape")
        else:
            text = str(classes(self._spark).java.lang.String(bytearray(data), self._encoding))
        return text.removeprefix(_BYTE_ORDER)

    def _names(self, text: str, *, whole: bool) -> Header | None:
        if self._multiline:
            tokens = self._parsed_text(text, whole=whole)
        else:
            line = first_line(text, whole=whole, separator=self._separator, comment=self._comment)
            tokens = None if line is None else self._parse(line)
        return None if tokens is None else tuple(token or "" for token in tokens)

    def _parsed_line(self, line: str) -> Tokens:
        line.encode()  # raises for invalid UTF-8
        tokens = self._parser().parseLine(line)
        return None if tokens is None else list(tokens)

    def _parsed_text(self, text: str, *, whole: bool) -> Tokens:
        """Return the first record of a text, which may have several lines."""
        parser = self._parser()
        replaced = text.encode(errors="replace").decode()  # invalid UTF-8 may be only in the rows
        parser.beginParsing(classes(self._spark).java.io.StringReader(replaced))
        tokens = parser.parseNext()
        consumed = int(parser.getContext().currentChar())
        parser.stopParsing()
        if not whole and consumed >= len(replaced):
            raise Short
        text[:consumed].encode()
        return None if tokens is None else list(tokens)

    def _parser(self) -> JavaObject:
        return classes(self._spark).com.univocity.parsers.csv.CsvParser(self._settings.asParserSettings())

    def _unparsable(self, path: str, error: Exception) -> TaskFailed:
        text = causes_of(error)[0].message
        if "ArrayIndexOutOfBounds" in text:
            most = self._options.get("maxcolumns", str(_MOST_COLUMNS))
            return _broken(path, f"its header has more than {int(most):,} columns")
        return _broken(path, f"its header cannot be parsed ({causes_of(error)[0].first_line[:200]})")


def _has_suffix(path: str) -> bool:
    return "." in path.rpartition("/")[2]


def _not_in_encoding(path: str, encoding: str) -> TaskFailed:
    return _broken(path, f"its header is not in the encoding {encoding}; set the option encoding of the source")


def _broken(path: str, what: str) -> TaskFailed:
    return TaskFailed(FailureReason.SOURCE_UNREADABLE, f"The file {path} cannot be read as csv: {what}.")
