"""Files as a source, and the options of Spark's readers that a table may set.

Allowed options define how to parse a file's bytes. Spark passes every further option to the file system's own
configuration, where `fs.s3a.endpoint` would lead to another store; others name more files to read (`path`,
`avroSchemaUrl`) or skip rows silently (`ignoreCorruptFiles`, `modifiedBefore`). Source: `FileSourceOptions`,
`CSVOptions`, `JSONOptions`, `AvroOptions` and `ParquetOptions` of Spark 3.5, and
`SessionState.newHadoopConfWithOptions`.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from hudi_jobs.contract import FileFormat, FileSource
from hudi_jobs.contract.sources.csv_options import refused_csv_options
from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.spec.sources.files import FileSourceSpec
from hudi_operator.api.status.findings import FindingCode
from hudi_operator.sources.definition import (
    DeclaredSource,
    Refusal,
    RefusalReason,
    RunLimits,
    SkippedInput,
    SourceSecret,
    bytes_of,
)
from hudi_operator.sources.look import InputDigest, InputReader, digest_of, file_item

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
    FileFormat.ORC: frozenset({"mergeschema", "orc.proleptic.gregorian.default"}),
}


@dataclass(frozen=True)
class Files(DeclaredSource[FileSourceSpec]):
    """Files below a path that the class allows."""

    name = "files"
    limit_fields = ("maxBytesPerRun", "maxFilesPerRun")
    upstream_field = None
    can_be_looked_at = True
    rescan_refused = None
    pattern_refused = None

    @property
    def document(self) -> FileSource:
        """The source as the driver receives it."""
        return FileSource(
            path=self.spec.path,
            format=self.spec.format,
            options=self.spec.options,
            schema_ddl=self.spec.columns,
            path_glob=self.spec.path_glob,
        )

    @property
    def limits(self) -> RunLimits:
        """The most bytes and files that a run reads."""
        return {"max_bytes": bytes_of(self.spec.max_bytes_per_run), "max_files": self.spec.max_files_per_run}

    @property
    def secrets(self) -> tuple[SourceSecret, ...]:
        """None: pods read the store by their own identity."""
        return ()

    @property
    def paths(self) -> Mapping[str, str]:
        """The folder of the files."""
        return {"path": self.spec.path}

    def refusals(
        self,
        table_class: HudiTableClass,  # noqa: ARG002 - it allows paths alone
        namespace: str,  # noqa: ARG002 - as table_class
    ) -> Iterator[Refusal]:
        """Yield the options of Spark's reader that no table may set."""
        for sentence in refused_reader_options(self.spec.options, self.spec.format):
            message = f"{self.field}.options: {sentence}: remove it."
            yield Refusal(reason=RefusalReason.SETTING_NOT_ALLOWED, message=message)

    def digest(self, reader: InputReader) -> InputDigest:
        """Return the digest of path, size, modification time and ETag of the files that the source selects."""
        selects = self.document.selects
        pages = reader.files_below(self.spec.path)
        files = (file for page in pages for file in page)
        return digest_of(file_item(file) if selects(file.path, file.stamp.size) else None for file in files)

    @property
    def skipped(self) -> SkippedInput:
        """The finding for files that match, and that no run reads."""
        return SkippedInput(code=FindingCode.FILES_SKIPPED, message=_skipped_files)

    @property
    def without_input(self) -> str:
        """A run refuses a source without any file: on an object store an empty folder does not exist."""
        return f"there is no file at {self.spec.path}"

    @property
    def upstream(self) -> None:
        """None: the source reads no table."""


def _skipped_files(number: int, names: Iterable[str]) -> str:
    return (
        f"{number:,} files of the source match pathGlob but are not read: {', '.join(names)}. Each name is the path "
        "that Hadoop makes of an object's key; the store has no object or another object at that path. Rename these "
        "objects, or narrow pathGlob."
    )


def refused_reader_options(options: Mapping[str, str], file_format: FileFormat) -> tuple[str, ...]:
    """Return a sentence for each option that is not allowed for this format, or leaves CSV ambiguous.

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
