"""`kubectl hudi run`: runs a service of a table now; `hudi-operator run` without a table runs the operator."""

import asyncio
import logging
import os
import sys

import click

from hudi_operator.cli.base.app import command as declare
from hudi_operator.cli.base.app import program
from hudi_operator.cli.base.cluster import Place, cluster_options, table_argument

_SERVICES = ("ingestion", "compaction", "clustering", "cleaning", "archival")


@declare(
    details="Ingestion is the default, and is requested by an annotation. Any other service becomes a HudiOperation, "
    "which the class must allow.\n\n"
    "`hudi-operator run` without a TABLE runs the operator until SIGTERM or SIGINT; its settings are variables "
    "HUDI_OPERATOR_*.",
    examples=["run orders", "run orders compaction -n team-a", "run orders cleaning --dry-run"],
    exit_codes={
        0: "asked for; `wait` tells the end",
        1: "there is no such table, or it is refused; the operator's settings are invalid",
        2: "the arguments make no sense",
        3: "the cluster is unreachable, or does not allow it",
    },
)
@table_argument(required=False)
@click.argument("service", type=click.Choice(_SERVICES), default="ingestion", help="What to run.")
@click.option("--dry-run", is_flag=True, help="Only have the operator report what the service would do.")
@click.option(
    "-o", "--output", type=click.Choice(["json", "yaml"]), help="Print the HudiOperation, and create nothing."
)
@cluster_options
def command(*, place: Place, table: str | None, service: str, dry_run: bool, output: str | None) -> int:
    """Request a run, or run the operator in this process."""
    if table is None and (program() != "hudi-operator" or dry_run or output):
        raise click.UsageError("Missing argument 'TABLE'.")
    if table is None:
        return _operate()
    return _request(place, table, service, dry_run=dry_run, output=output)


def _request(place: Place, table: str, service: str, *, dry_run: bool, output: str | None) -> int:
    from hudi_operator.cli.base.requests import request_run  # noqa: PLC0415 - the operator's start needs none of it
    from hudi_operator.cli.base.write import Asked, start_operation  # noqa: PLC0415

    if service != "ingestion":
        asked = Asked(dry_run=dry_run, yes=False, output=output)
        return start_operation(place, table, "runService", lambda _view: {"service": service.capitalize()}, asked)
    if output is not None:
        raise click.UsageError("An ingestion is requested by an annotation: there is no HudiOperation to print.")
    return request_run(place, table, dry_run=dry_run)


def _operate() -> int:
    from hudi_operator.control.settings import InvalidSettings, Settings  # noqa: PLC0415 - a second that others save
    from hudi_operator.telemetry.logs import configure_logging  # noqa: PLC0415

    try:
        settings = Settings.from_environment()
    except InvalidSettings as error:
        print(f"hudi-operator: {error}", file=sys.stderr)
        return 1
    configure_logging(level=settings.log_level, style=settings.log_format)
    from hudi_operator.handlers.serve import serve  # noqa: PLC0415

    code = asyncio.run(serve(settings))
    logging.shutdown()
    # A thread waiting for an unresponsive store must not delay the end of the process.
    os._exit(code)
