"""The spec of an erasure: records by their keys, by a file of keys, or by a predicate."""

from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_jobs.contract.operations.erase import DIGEST, LONGEST_PREDICATE, MOST_KEYS
from hudi_operator.api.values.base import Model, rules, words
from hudi_operator.api.values.names import SourcePath

LONGEST_VALUE = 256

KeyValue = Annotated[str, Field(min_length=1, max_length=LONGEST_VALUE)]
RecordKey = Annotated[
    dict[str, KeyValue],
    Field(
        description="The value of each record key field by its name.",
        json_schema_extra={"minProperties": 1, "maxProperties": 8},
    ),
]


class KeysFrom(Model):
    """A file of keys."""

    path: SourcePath
    """A file of JSON lines below the source paths that the class allows; each line is a key as in `keys`."""

    digest: (
        Annotated[
            str,
            Field(
                pattern=DIGEST,
                max_length=64,
                json_schema_extra=words("must be the keysDigest of a dry run: 64 digits and letters from a to f"),
            ),
        ]
        | None
    ) = None
    """Digest of the keys in the file, as a dry run reports it (`keysDigest`): other keys are refused."""


class EraseSpec(Model):
    """Remove records by their keys, and every file that holds them."""

    keys: Annotated[tuple[RecordKey, ...], Field(min_length=1, max_length=MOST_KEYS)] | None = None
    """The value of each record key field by its name, for each record; at most 1,000 and 128 KiB."""

    keys_from: KeysFrom | None = None
    """A file of keys, for more keys than fit here."""

    where: Annotated[str, Field(min_length=1, max_length=LONGEST_PREDICATE)] | None = None
    """SQL predicate on the columns of the table; it selects the rows now, and their records are erased."""

    release_savepoints: bool = False
    """Remove savepoints that keep files with the keys; otherwise such savepoints cause a refusal."""

    cascade: bool = False
    """Also erase the same keys from the tables of the namespace that read this table, directly or through others."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "[has(self.keys), has(self.keysFrom), has(self.where)].exists_one(given, given)",
                "exactly one of keys, keysFrom and where must be set",
            ),
            (
                "!(has(self.cascade) && self.cascade && has(self.where))",
                "cascade needs keys or keysFrom: in another table a predicate may select other records",
            ),
        )
    )
