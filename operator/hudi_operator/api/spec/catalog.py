"""The kinds of catalog: what a table declares, and what a class allows. A new kind is a field in each part."""

from typing import Any

from pydantic import ConfigDict

from hudi_operator.api.spec.catalogs.hive import HIVE_RULES, AllowedHive, HiveCatalogSpec
from hudi_operator.api.values.base import Model, exactly_one, rules

CATALOG_RULES = HIVE_RULES
"""Rules that catalogs set for their table."""


def _only_one(schema: dict[str, Any]) -> None:
    """Add the rule that exactly one kind is set."""
    kinds = schema["properties"]
    schema |= rules(exactly_one(kinds, f"exactly one of {', '.join(kinds)} must be set"))


class CatalogSpec(Model):
    """Where readers find the table by a name: exactly one kind of catalog."""

    hive: HiveCatalogSpec | None = None
    """A Hive Metastore."""

    model_config = ConfigDict(json_schema_extra=_only_one)


class AllowedCatalogs(Model):
    """The catalogs that tables of a class may have entries in."""

    hive: AllowedHive | None = None
    """The Hive Metastore of the class; without this field, no table may declare `catalog.hive`."""
