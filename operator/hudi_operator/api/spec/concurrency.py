"""Who writes to a table, and the lock that several writers share."""

from typing import Annotated

from pydantic import ConfigDict, Field

from hudi_jobs.contract import ConcurrencyMode
from hudi_operator.api.values.base import Model, rules, words
from hudi_operator.api.values.defaults import DefaultsTo

_HOST = r"[A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?:[0-9]{1,5}"


class ZooKeeperLock(Model):
    """A ZooKeeper ensemble that holds the locks."""

    connect: Annotated[
        str,
        Field(
            pattern=rf"^{_HOST}(,{_HOST})*$",
            max_length=1024,
            json_schema_extra=words("must be servers as host:port, with commas between them and no blanks"),
        ),
    ]
    """Servers as host:port, with commas between them."""

    base_path: Annotated[
        str,
        Field(
            pattern=r"^(/[A-Za-z0-9._-]+)+$",
            max_length=256,
            json_schema_extra=words(
                "must be a path such as /hudi, of letters, digits, '-', '_' and '.', without a slash at its end"
            ),
        ),
    ] = "/hudi"
    """Node that the locks of all tables lie under."""


class Lock(Model):
    """The place of the locks: exactly one kind."""

    zookeeper: ZooKeeperLock
    """A ZooKeeper ensemble."""


class ConcurrencySpec(Model):
    """Who writes to the table."""

    mode: ConcurrencyMode = ConcurrencyMode.SERIALIZED
    """Serialized: only the operator writes, one job at a time; Optimistic: other tools write too, under a shared lock.
    """

    lock: Annotated[Lock | None, DefaultsTo("the lock of the class")] = None
    """The lock that all writers share. Required for Optimistic, and only allowed there."""

    lock_key: Annotated[
        Annotated[
            str,
            Field(
                pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]*$",
                max_length=253,
                json_schema_extra=words(
                    "must be of letters, digits, '-', '_' and '.', and begin with a letter, digit or '_'"
                ),
            ),
        ]
        | None,
        DefaultsTo("the name of the resource"),
    ] = None
    """Name of the lock after the namespace and a dot, for all writers of the table."""

    model_config = ConfigDict(
        json_schema_extra=rules(
            (
                "(!has(self.lock) && !has(self.lockKey)) || (has(self.mode) && self.mode == 'Optimistic')",
                "lock and lockKey are only for mode Optimistic",
            ),
        )
    )
