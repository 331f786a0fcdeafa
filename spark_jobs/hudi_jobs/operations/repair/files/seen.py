"""Finds files that readers use: those of the newest file slices, and those that the metadata table lists."""

from collections.abc import Collection

from pyspark.sql import functions as sf

from hudi_jobs.contract import FailureReason
from hudi_jobs.failures.classification import stage
from hudi_jobs.jvm import iterated
from hudi_jobs.local_frame import local_frame
from hudi_jobs.operations.operation_run import OperationRun
from hudi_jobs.operations.repair.files.orphans import File
from hudi_jobs.reading import with_times
from hudi_jobs.table import HudiTable, names_in

_METADATA_TABLE, _FILES_OF_A_PARTITION = ".hoodie/metadata", 2
_ROOT = "."


def paths_seen(work: OperationRun, table: HudiTable, files: Collection[File]) -> set[str]:
    """Return the files that readers see by listing folders, as paths below the table."""
    if not files:
        return set()
    found = set[str]()
    with (
        stage("The file slices of the table cannot be listed", otherwise=FailureReason.HUDI_ERROR),
        with_times(work.context.spark, table, work.context.task.hudi_options) as timed,
    ):
        view = timed.listed_view()
        try:
            for partition in sorted({file.folder for file in files}):
                within = f"{partition}/" if partition else ""
                for part in iterated(view.getLatestFileSlices(partition).iterator()):
                    found |= {f"{within}{name}" for name in names_in(part)}
        finally:
            view.close()
    return found & {file.path for file in files}


def paths_in_metadata_table(work: OperationRun, table: HudiTable, files: Collection[File]) -> set[str]:
    """Return the files that the metadata table lists; an empty set without a metadata table."""
    if not files or not table.meta.getTableConfig().isMetadataTableAvailable():
        return set()
    session = work.context.spark.newSession()
    rows = [(file.folder or _ROOT, file.name, file.path) for file in files]
    wanted = local_frame(session, rows, "folder STRING, name STRING, path STRING")
    with stage("The metadata table cannot be read", otherwise=FailureReason.HUDI_ERROR):
        entries = session.read.format("hudi").load(f"{table.base_path.rstrip('/')}/{_METADATA_TABLE}")
        entries = entries.where(sf.col("type") == _FILES_OF_A_PARTITION)
        listed = entries.select(sf.col("key").alias("folder"), sf.explode("filesystemMetadata").alias("name", "entry"))
        listed = listed.where(~sf.col("entry.isDeleted")).select("folder", "name")
        return {str(row["path"]) for row in wanted.join(listed, ["folder", "name"]).select("path").collect()}
