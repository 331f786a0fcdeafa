"""The version of a table's format, and the features that older versions lack."""

from typing import Literal, TypeAlias

TableVersion: TypeAlias = Literal[6, 8, 9]
"""Versions that Hudi 1.2.0 writes (`WRITTEN_VERSIONS` of the contract)."""

VERSION_RULES = (
    (
        "!has(self.tableVersion) || self.tableVersion >= 9 || size(self.recordKey) > 1 || !has(self.partitionBy) || "
        "size(self.partitionBy) < 2",
        "one recordKey column with several partitionBy columns needs tableVersion 9: with older versions, releases of "
        "Hudi write such keys in two ways, and the table does not record which",
    ),
    (
        "!has(self.tableVersion) || self.tableVersion >= 9 || !has(self.orderingFields) || "
        "size(self.orderingFields) < 2",
        "several orderingFields need tableVersion 9: readers of older versions support only one",
    ),
)
