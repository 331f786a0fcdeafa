"""Reads the header of each CSV file, with the options and the parser that Spark reads its rows with."""

import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeAlias

from pyspark.sql import SparkSession

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures import TaskFailed
from hudi_jobs.failures.causes import causes_of
from hudi_jobs.filesystem import located
from hudi_jobs.ingestion.sources.files.header_names import Header, require_telling
from hudi_jobs.jvm import JavaObject, classes, hadoop_configuration, scala_map

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
