"""The specs of an upgrade and a downgrade of the table version."""

from typing import Literal

from hudi_operator.api.values.base import Model


class UpgradeSpec(Model):
    """Take the table to a newer table version of Hudi."""

    table_version: Literal[8, 9]
    """The version that the table has afterwards."""


class DowngradeSpec(Model):
    """Take the table to an older table version of Hudi."""

    table_version: Literal[6, 8]
    """The version that the table has afterwards."""
