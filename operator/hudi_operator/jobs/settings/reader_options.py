"""The options of Spark's readers that a table may set: those that define how to parse a file's bytes.

Spark passes every further option to the file system's own configuration, where `fs.s3a.endpoint` would lead to another
store; others name more files to read (`path`, `avroSchemaUrl`) or skip rows silently (`ignoreCorruptFiles`,
`modifiedBefore`). Source: `FileSourceOptions`, `CSVOptions`, `JSONOptions`, `AvroOptions` and `ParquetOptions` of Spark
3.5, and `SessionState.newHadoopConfWithOptions`.
"""

from collections.abc import Mapping

from hudi_jobs.contract import FileFormat
from hudi_jobs.contract.sources.csv_options import refused_csv_options

_TEXT = frozenset(
    {
        "columnnameofcorruptrecord",
        "dateformat",
        "enabledatetimeparsingfallback",
        "encoding",
        "linesep",
        "locale",
        "mode",
        "multiline",
        "samplingratio",
        "timestampformat",
        "timestampntzformat",
        "timezone",
    }
)

_ALLOWED = {
    FileFormat.CSV: _TEXT
    | {
        "charset",
        "chartoescapequoteescaping",
        "comment",
        "delimiter",
        "emptyvalue",
        "enforceschema",
        "escape",
        "header",
        "ignoreleadingwhitespace",
        "ignoretrailingwhitespace",
        "inferschema",
        "maxcharspercolumn",
        "maxcolumns",
        "nanvalue",
        "negativeinf",
        "nullvalue",
        "positiveinf",
        "preferdate",
        "quote",
        "sep",
        "unescapedquotehandling",
    },
    FileFormat.JSON: _TEXT
    | {
        "allowbackslashescapinganycharacter",
        "allowcomments",
        "allownonnumericnumbers",
        "allownumericleadingzeros",
        "allowsinglequotes",
        "allowunquotedcontrolchars",
        "allowunquotedfieldnames",
        "dropfieldifallnull",
        "prefersdecimal",
        "primitivesasstring",
    },
    FileFormat.PARQUET: frozenset({"datetimerebasemode", "int96rebasemode", "mergeschema"}),
    FileFormat.AVRO: frozenset(
        {"avroschema", "datetimerebasemode", "enablestableidentifiersforuniontype", "positionalfieldmatching"}
    ),
    FileFormat.ORC: frozenset({"mergeschema"}),
}


def refused_reader_options(options: Mapping[str, str], file_format: FileFormat) -> tuple[str, ...]:
    """Return one sentence for each option not allowed for this format, or leaving CSV ambiguous.

    Options are compared without regard to case, as in Spark.

    Hadoop's configuration, into which Spark copies all options, expands `${env.NAME}` in values.
    """
    inexact = refused_csv_options({key.lower(): value for key, value in options.items()})
    return (
        *(
            f"{key!r} is not a reader option of {file_format} files that a table may set"
            for key in options
            if key.lower() not in _ALLOWED[file_format]
        ),
        *(
            f"the value of {key!r} contains ${{, which may stand for something else"
            for key in options
            if "${" in options[key]
        ),
        *(inexact if file_format is FileFormat.CSV else ()),
    )
