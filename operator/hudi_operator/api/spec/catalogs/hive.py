"""A Hive Metastore: the entry of a table, and what a class allows."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from hudi_jobs.contract.catalogs.hive import HIVE_NAME, METASTORE_URI, MOST_METASTORES, HivePartitionStyle
from hudi_operator.api.values.base import Model, rules, value_or, words

_LONGEST_NAME = 120
_PLAIN = "must be of lower-case letters, digits and '_': a metastore lowers the case of every other name"
_CANNOT_CHANGE = (
    "cannot be changed, because the old entry would stay and show no new commit; remove spec.catalog, drop the old "
    "entry in the metastore, and then declare the new entry"
)


def _name(field: str) -> Any:  # noqa: ANN401 - the extension of a schema
    return words(_PLAIN, ("self == oldSelf", f"catalog.hive.{field} {_CANNOT_CHANGE}"))


class HiveCatalogSpec(Model):
    """The entry of the table in the Hive Metastore of the class."""

    database: Annotated[str, Field(pattern=HIVE_NAME, max_length=_LONGEST_NAME, json_schema_extra=_name("database"))]
    """Database of the entry, which has to exist and which the class has to allow; cannot be changed."""

    table: Annotated[str, Field(pattern=HIVE_NAME, max_length=_LONGEST_NAME, json_schema_extra=_name("table"))]
    """Name of the entry; a MergeOnRead table has two more, with `_ro` and `_rt` behind the name. Cannot be changed."""

    partition_style: HivePartitionStyle = HivePartitionStyle.COLUMNS
    """How values of partitions are found in paths: Columns takes a folder for each column of partitionBy; Whole takes
    the whole path for the only column, with `-` for each `/`; Day takes `yyyy/mm/dd` for a day.
    """

    take_over: bool = False
    """Take over an entry that another tool made and that points to this table. Entries of other folders are never taken
    over.
    """


HIVE_RULES = (
    (
        "!has(self.catalog) || !has(self.catalog.hive) || "
        f"{value_or('catalog.hive.partitionStyle', HivePartitionStyle.COLUMNS)} == 'Columns' || "
        "(has(self.partitionBy) && size(self.partitionBy) == 1)",
        "catalog.hive.partitionStyle Whole and Day need exactly one column in partitionBy",
    ),
)
"""Rules of a table with an entry in a Hive Metastore."""

DatabasePattern = Annotated[
    str,
    Field(
        pattern=r"^([a-z0-9_]|\{namespace\})+\*?$",
        max_length=_LONGEST_NAME,
        json_schema_extra=words(
            "must be the name of a database, or the beginning of names before one '*'; {namespace} is the namespace of "
            "the table, with '_' for each '-'"
        ),
    ),
]


class AllowedHive(Model):
    """A Hive Metastore, and the databases in which tables may have entries."""

    metastore_uris: Annotated[
        tuple[
            Annotated[
                str,
                Field(
                    pattern=METASTORE_URI,
                    max_length=270,
                    json_schema_extra=words("must be an address such as thrift://metastore.example.com:9083"),
                ),
            ],
            ...,
        ],
        Field(min_length=1, max_length=MOST_METASTORES),
    ]
    """Addresses of the metastore, tried one after another; jobs connect without authentication."""

    allowed_databases: Annotated[tuple[DatabasePattern, ...], Field(max_length=64)] = ()
    """Databases in which tables may have entries: names, or beginnings of names before one `*`; none if empty.
    `{namespace}` stands for the table's namespace, with `_` for each `-`.
    """

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "self.metastoreUris.all(one, int(one.split(':')[2]) <= 65535)",
                "a port of metastoreUris must not be larger than 65535",
            ),
        )
    )
