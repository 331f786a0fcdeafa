"""Kafka clusters that the tables of a class may reach."""

from typing import Annotated

from pydantic import Field

from hudi_operator.api.values.base import Model, Name
from hudi_operator.api.values.kafka import AllowedTopic, BootstrapServer, RegistryUrl


class AllowedRegistry(Model):
    """A schema registry and the Secrets that are for it."""

    url: RegistryUrl
    """URL that tables may name."""

    secret_names: Annotated[tuple[Name, ...], Field(max_length=8)] = ()
    """Secrets of the table's namespace that tables may name for this registry; none if empty."""


class AllowedKafka(Model):
    """A Kafka cluster with its topics, registries and Secrets. The same entry must allow everything that a table names.

    So a Secret of an entry never goes to the brokers or the registry of another entry, and the Secrets of the brokers
    never go to a registry. Hosts are compared whole, without regard to case; there are no wildcards in them.
    """

    bootstrap_servers: Annotated[tuple[BootstrapServer, ...], Field(min_length=1, max_length=64)]
    """Brokers that tables may name, as host:port."""

    topics: Annotated[tuple[AllowedTopic, ...], Field(min_length=1, max_length=64)]
    """Topics that tables may read: names, or beginnings that end with `*`; `{namespace}` is the table's namespace."""

    registries: Annotated[tuple[AllowedRegistry, ...], Field(max_length=16)] = ()
    """Schema registries that tables may name, with their own Secrets; none if empty."""

    secret_names: Annotated[tuple[Name, ...], Field(max_length=32)] = ()
    """Secrets of the table's namespace that tables may name for these brokers, and for no registry; none if empty."""
