"""The option `-o` and colours: what the caller's terminal wants."""

import os
import sys
from collections.abc import Sequence
from datetime import UTC, datetime

import click

from hudi_operator.cli.base.app import Option
from hudi_operator.cli.render.text import Document, as_document


def output_option(*formats: str) -> Option:
    """Declare `-o` with these formats besides the table for people, which is the default."""
    kind = click.Choice(["table", *formats])
    return click.option("-o", "--output", type=kind, default="table", help="The format: a table for people by default.")


def has_colour() -> bool:
    """Tell whether standard output is a terminal that wants colours (https://no-color.org)."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def moment() -> datetime:
    """Return the time by the clock of this machine, to the second."""
    return datetime.now(UTC).replace(microsecond=0)


def print_documents(items: Sequence[Document], output: str) -> None:
    """Print objects as JSON, YAML or names."""
    text = as_document(items, output)
    if text:
        print(text)
