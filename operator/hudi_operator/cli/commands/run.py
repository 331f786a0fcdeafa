"""`hudi-operator run`: runs the operator."""

import asyncio
import logging
import os
import sys

from hudi_operator.cli.base.app import command as declare


@declare(
    examples=["run"],
    exit_codes={0: "ended by a signal", 1: "the settings are invalid, or the cluster is unreachable"},
)
def command() -> int:
    """Run the operator in this process."""
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
