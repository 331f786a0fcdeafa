"""The kinds of the group with their names, scope and printer columns: everything but the schemas."""

from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from hudi_operator.api.spec.operation import HudiOperationSpec
from hudi_operator.api.spec.savepoint import HudiSavepointSpec
from hudi_operator.api.spec.table import HudiTableSpec
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.conditions import HudiTableClassStatus
from hudi_operator.api.status.operation_status import HudiOperationStatus
from hudi_operator.api.status.savepoints import HudiSavepointStatus
from hudi_operator.api.status.table_status import HudiTableStatus
from hudi_operator.api.values.base import GROUP


@dataclass(frozen=True, kw_only=True)
class PrinterColumn:
    """A column of `kubectl get`; a wide column appears only with `-o wide`."""

    name: str
    json_path: str
    type: str = "string"
    description: str
    wide: bool = False

    def document(self) -> dict[str, Any]:
        """Return the column as the API server wants it."""
        priority = {"priority": 1} if self.wide else {}
        return {
            "name": self.name,
            "type": self.type,
            "jsonPath": self.json_path,
            "description": self.description,
            **priority,
        }


@dataclass(frozen=True, kw_only=True)
class ResourceKind:
    """The content of a CustomResourceDefinition beside the schemas of spec and status."""

    kind: str
    short_name: str
    namespaced: bool
    description: str
    spec: type[BaseModel]
    status: type[BaseModel] | None = None
    columns: tuple[PrinterColumn, ...]
    root_rules: tuple[tuple[str, str], ...] = ()

    @property
    def plural(self) -> str:
        """Name of the resource in URLs and roles."""
        return f"{self.kind.lower()}{'es' if self.kind.endswith('s') else 's'}"

    @property
    def file_name(self) -> str:
        """Name of the generated file."""
        return f"{GROUP}_{self.plural}.yaml"


_AGE = PrinterColumn(
    name="Age", json_path=".metadata.creationTimestamp", type="date", description="Time since the resource was made"
)

TABLE = ResourceKind(
    kind="HudiTable",
    short_name="ht",
    namespaced=True,
    description="An Apache Hudi table as its owner declares it, and as its timeline shows it.",
    spec=HudiTableSpec,
    status=HudiTableStatus,
    root_rules=(
        # The name is the value of a label on the table's Jobs and pods, and a label holds no more.
        ("size(self.metadata.name) <= 63", "the name must not be longer than 63 characters"),
    ),
    columns=(
        PrinterColumn(name="Type", json_path=".status.table.type", description="CopyOnWrite or MergeOnRead, as found"),
        PrinterColumn(
            name="Ready",
            json_path='.status.conditions[?(@.type=="Ready")].status',
            description="Whether the table is as it was declared",
        ),
        PrinterColumn(
            name="Reason",
            json_path='.status.conditions[?(@.type=="Ready")].reason',
            description="Why the table is ready or not",
        ),
        PrinterColumn(
            name="Last commit",
            json_path=".status.summary.newestCommit",
            type="date",
            description="Time since the newest commit was requested",
        ),
        PrinterColumn(
            name="Behind",
            json_path=".status.services.ingestion.freshness.completeUpTo",
            type="date",
            description="How far the table is behind its source: the table holds all input up to then",
        ),
        PrinterColumn(
            name="Findings",
            json_path=".status.summary.findings",
            description="Number of findings, by severity",
        ),
        _AGE,
        PrinterColumn(
            name="Version",
            json_path=".status.table.version",
            type="integer",
            description="Version of the table's format, as found",
            wide=True,
        ),
        PrinterColumn(
            name="Commits",
            json_path=".status.timeline.completedCommits",
            type="integer",
            description="Completed commits in the active timeline",
            wide=True,
        ),
        PrinterColumn(
            name="Pending",
            json_path=".status.timeline.pendingCount",
            type="integer",
            description="Instants that are requested or inflight",
            wide=True,
        ),
        PrinterColumn(name="Class", json_path=".spec.tableClassName", description="The HudiTableClass", wide=True),
        PrinterColumn(name="Base path", json_path=".spec.basePath", description="Where the table lives", wide=True),
        PrinterColumn(
            name="Message", json_path=".status.summary.message", description="The state in a few words", wide=True
        ),
    ),
)

TABLE_CLASS = ResourceKind(
    kind="HudiTableClass",
    short_name="htc",
    namespaced=False,
    description="Policy and defaults for tables, set by the platform team, like a StorageClass.",
    spec=HudiTableClassSpec,
    status=HudiTableClassStatus,
    columns=(
        PrinterColumn(
            name="Default",
            json_path=r".metadata.annotations.hudi-operator\.io/is-default-class",
            description="Whether tables without a class name use this class",
        ),
        PrinterColumn(
            name="Ready",
            json_path='.status.conditions[?(@.type=="Ready")].status',
            description="Whether tables can use the class",
        ),
        PrinterColumn(
            name="Namespaces",
            json_path=".status.namespaces",
            description="Namespaces with tables that may use the class",
        ),
        PrinterColumn(
            name="Unsafe",
            json_path='.status.conditions[?(@.type=="UnsafeSettings")].status',
            description="Whether tables may make settings that can do harm",
        ),
        PrinterColumn(name="Spark image", json_path=".spec.sparkImage", description="Image of drivers and executors"),
        _AGE,
        PrinterColumn(
            name="Base paths",
            json_path=".spec.allowedBasePaths",
            description="Prefixes that tables may live under",
            wide=True,
        ),
        PrinterColumn(
            name="Endpoint", json_path=".spec.objectStore.endpoint", description="URL of the object store", wide=True
        ),
    ),
)

SAVEPOINT = ResourceKind(
    kind="HudiSavepoint",
    short_name="hsp",
    namespaced=True,
    description="A restore point of a HudiTable: the files of its commit are kept until this resource is removed.",
    spec=HudiSavepointSpec,
    status=HudiSavepointStatus,
    columns=(
        PrinterColumn(name="Table", json_path=".spec.tableRef.name", description="The HudiTable"),
        PrinterColumn(
            name="Ready",
            json_path='.status.conditions[?(@.type=="Ready")].status',
            description="Whether the savepoint is in the table",
        ),
        PrinterColumn(
            name="Reason",
            json_path='.status.conditions[?(@.type=="Ready")].reason',
            description="Why the savepoint is in the table or not",
        ),
        PrinterColumn(
            name="Expired",
            json_path='.status.conditions[?(@.type=="Expired")].status',
            description="Whether the savepoint has expired and was removed",
        ),
        PrinterColumn(name="Instant", json_path=".status.instant", description="The kept commit"),
        # As text: kubectl shows a past date as an age, and a future date as `<invalid>`.
        PrinterColumn(
            name="Expires", json_path=".status.expiresAt", description="When the savepoint is removed from the table"
        ),
        _AGE,
        PrinterColumn(
            name="Complete",
            json_path='.status.conditions[?(@.type=="DataComplete")].status',
            description="Whether all files of the commit are there",
            wide=True,
        ),
        PrinterColumn(
            name="Retained bytes",
            json_path=".status.retained.bytes",
            type="integer",
            description="Bytes that the savepoint keeps from being cleaned",
            wide=True,
        ),
        PrinterColumn(
            name="Blocks",
            json_path=".status.blocks",
            description="Limits that the savepoint sets on cleaning and archival",
            wide=True,
        ),
        PrinterColumn(name="Status", json_path=".status.message", description="The state in a sentence", wide=True),
        PrinterColumn(name="Comment", json_path=".spec.comment", description="Why the commit is kept", wide=True),
    ),
)

OPERATION = ResourceKind(
    kind="HudiOperation",
    short_name="hop",
    namespaced=True,
    description="Work that a HudiTable does once while no other Job works on it, such as a restore or a rollback.",
    spec=HudiOperationSpec,
    status=HudiOperationStatus,
    columns=(
        PrinterColumn(name="Table", json_path=".spec.tableRef.name", description="The HudiTable"),
        PrinterColumn(
            name="Ready",
            json_path='.status.conditions[?(@.type=="Ready")].status',
            description="Whether the operation has succeeded",
        ),
        PrinterColumn(
            name="Reason",
            json_path='.status.conditions[?(@.type=="Ready")].reason',
            description="Progress of the operation, or why it stopped",
        ),
        PrinterColumn(name="Instant", json_path=".status.instant", description="The commit that the operation names"),
        PrinterColumn(
            name="Removed",
            json_path=".status.report.removedCount",
            type="integer",
            description="Number of removed instants",
        ),
        PrinterColumn(
            name="Verified",
            json_path=".status.report.verified",
            type="boolean",
            description="Whether the rows are as expected",
        ),
        PrinterColumn(name="Status", json_path=".status.message", description="The state in a sentence"),
        _AGE,
        PrinterColumn(
            name="Dry run",
            json_path=".spec.dryRun",
            type="boolean",
            description="Whether the operation only reports its effects",
            wide=True,
        ),
        PrinterColumn(
            name="Approved",
            json_path=".spec.approved",
            type="boolean",
            description="Whether the operation may begin",
            wide=True,
        ),
        PrinterColumn(
            name="Rows",
            json_path=".status.report.rowsAfter",
            type="integer",
            description="Rows of the table after the operation",
            wide=True,
        ),
    ),
)

KINDS = (TABLE, TABLE_CLASS, SAVEPOINT, OPERATION)
"""All kinds of the group."""
