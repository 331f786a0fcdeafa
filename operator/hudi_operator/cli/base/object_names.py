"""Names of objects of a cluster in arguments and options, for commands with and without a cluster."""

import re

import click

from hudi_jobs.contract.wording import shortened

_NAME = re.compile(r"(?=.{1,253}\Z)[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
_SHOWN = 80


def is_name(text: str) -> bool:
    """Tell whether an object of the cluster can have this name."""
    return _NAME.fullmatch(text) is not None


class ObjectName(click.ParamType[str]):
    """The name of an object of the cluster; a text that is no name is refused before any request."""

    name = "name"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name."""
        if not is_name(value):
            shown = repr(shortened(value, _SHOWN))
            self.fail(f"{shown} is no name: names have lower-case letters, digits, '-' and '.'.", param, ctx)
        return value
