"""Files as a source."""

from typing import Annotated, Any, ClassVar

from pydantic import ConfigDict, Field

from hudi_jobs.contract import FileFormat
from hudi_operator.api.spec.source_kind import Rules, SourceKind
from hudi_operator.api.values.base import Count, OptionValue, Quantity, not_less, rules
from hudi_operator.api.values.names import SourcePath, apart


class FileSourceSpec(SourceKind):
    """Files under a prefix, on S3 or a file system that the Spark pods can reach."""

    how_it_is_read: ClassVar[dict[str, Any]] = {
        "options": True,
        "columns": True,
        "max_files_per_run": True,
        "max_bytes_per_run": True,
    }

    ingestion_rules: ClassVar[Rules] = (
        (
            "!has(self.source.files) || !has(self.badRecords) || !has(self.badRecords.quarantinePath) || ("
            + apart("self.badRecords.quarantinePath", "self.source.files.path")
            + ")",
            "quarantinePath and source.files.path must not lie inside one another: bad rows would be read again",
        ),
    )

    table_rules: ClassVar[Rules] = (
        (
            "!has(self.ingestion) || !has(self.ingestion.source.files) || ("
            + apart("self.basePath", "self.ingestion.source.files.path")
            + ")",
            "basePath and ingestion.source.files.path must not lie inside one another: the table would read itself",
        ),
    )

    path: SourcePath
    """Folder that is read recursively; names that start with `_` or `.` are ignored."""

    format: FileFormat
    """Format of the files."""

    options: dict[str, OptionValue] = Field(default_factory=dict, json_schema_extra={"maxProperties": 32})
    """Options of Spark's reader, for example header, sep or multiLine."""

    columns: Annotated[str, Field(min_length=1, max_length=16384)] | None = None
    """Columns as Spark DDL, for example `id BIGINT, at TIMESTAMP`; without it CSV columns are strings."""

    path_glob: Annotated[str, Field(min_length=1, max_length=256)] | None = None
    """Only files with a name that matches this pattern, for example `*.csv`; a wider pattern brings older files too."""

    max_files_per_run: Count | None = None
    """Maximum files per run, or batch."""

    max_bytes_per_run: Quantity | None = None
    """Maximum bytes of files per run, or batch; at least one file is read."""

    model_config = ConfigDict(json_schema_extra=rules(not_less("maxBytesPerRun", "1")))
