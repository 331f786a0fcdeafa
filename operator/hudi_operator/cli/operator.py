"""`hudi-operator run`, `crds` and `version`."""

import argparse
import asyncio
import logging
import os
import sys

from hudi_operator import __version__
from hudi_operator.cli.main import Execute


def declare_run(_parser: argparse.ArgumentParser) -> Execute:
    """Declare `run`, which takes no arguments."""
    return lambda _given: _run()


def declare_crds(_parser: argparse.ArgumentParser) -> Execute:
    """Declare `crds`, which takes no arguments."""
    return lambda _given: _crds()


def declare_version(_parser: argparse.ArgumentParser) -> Execute:
    """Declare `version`, which takes no arguments."""
    return lambda _given: _version()


def _run() -> int:
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


def _crds() -> int:
    from hudi_operator.api.crd.definitions import KINDS, crd_yaml  # noqa: PLC0415

    print("".join(crd_yaml(kind) for kind in KINDS), end="")
    return 0


def _version() -> int:
    print(__version__)
    return 0
