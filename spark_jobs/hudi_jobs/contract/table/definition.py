"""The table as its resource declares it."""

from pydantic import Field

from hudi_jobs.contract.document import Document
from hudi_jobs.contract.table.location import Location
from hudi_jobs.contract.vocabulary import TableType


class TableDefinition(Document):
    """The declared identity and shape of a Hudi table.

    `index` is the note of the declared index (`index_note`). `metadata_table` is None if the spec does not set it: then
    the table keeps what it has. The same holds for `version`, which only a new table is created with.
    """

    name: str
    base_path: str
    type: TableType
    record_key: tuple[str, ...] = Field(min_length=1)
    partition_by: tuple[str, ...] = ()
    ordering_fields: tuple[str, ...] = ()
    index: str | None = None
    metadata_table: bool | None = None
    version: int | None = None

    @property
    def location(self) -> Location:
        """The folder of the table; raises `NotALocation`, which no run does that has taken the lease."""
        return Location.parse(self.base_path)
