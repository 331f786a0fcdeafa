"""A Hive Metastore as the catalog of a table."""

from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.vocabulary import TableType

MOST_METASTORES = 8
"""The most addresses of a metastore."""

HIVE_NAME = r"^[a-z0-9_]+$"
"""The pattern of the names that a metastore keeps as they are; it lowers the case of others."""

METASTORE_URI = r"^thrift://[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?:[0-9]{1,5}$"
"""The pattern of the address of a metastore."""

_OF_MERGE_ON_READ = ("_ro", "_rt")

HiveName = Annotated[str, Field(pattern=HIVE_NAME, max_length=120)]


class HivePartitionStyle(StrEnum):
    """How the values of a partition's columns are found in its path."""

    COLUMNS = "Columns"
    """Each folder of the path is the value of one column, with or without the name of the column in front."""

    WHOLE = "Whole"
    """The whole path is the value of the only column; each `/` becomes `-`."""

    DAY = "Day"
    """The path is a day, `yyyy/mm/dd`, and the value of the only column is `yyyy-mm-dd`."""


class HiveCatalog(Document):
    """An entry in a Hive Metastore; a MergeOnRead table has two more entries, `_ro` and `_rt`.

    `take_over` allows an entry of another tool that points to the table's folder.
    """

    kind: Literal["hive"] = "hive"
    uris: tuple[Annotated[str, Field(pattern=METASTORE_URI)], ...] = Field(min_length=1, max_length=MOST_METASTORES)
    database: HiveName
    table: HiveName
    partition_style: HivePartitionStyle = HivePartitionStyle.COLUMNS
    take_over: bool = False

    @property
    def entry(self) -> str:
        """The name of the entry for people."""
        return f"{self.database}.{self.table}"

    def names(self, kind: TableType) -> tuple[str, ...]:
        """Return the names that the table has in the database."""
        return (self.table, *(f"{self.table}{each}" for each in _OF_MERGE_ON_READ if kind is TableType.MERGE_ON_READ))
