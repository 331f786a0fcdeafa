"""A table service that a HudiOperation asks for once."""

from enum import StrEnum

from pydantic import Field

from hudi_jobs.contract.document import Document


class RunnableService(StrEnum):
    """A table service that can be asked for by name."""

    COMPACTION = "Compaction"
    CLUSTERING = "Clustering"
    CLEANING = "Cleaning"
    ARCHIVAL = "Archival"


class ServiceRun(Document):
    """The service that a run does, and the Hudi options that replace the table's own for this run."""

    service: RunnableService
    options: dict[str, str] = Field(default_factory=dict)
