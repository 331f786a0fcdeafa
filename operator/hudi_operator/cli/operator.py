"""`hudi-operator run`, `crds` and `version`."""

import asyncio
import logging
import os
import sys

from hudi_operator import __version__


def run() -> None:
    """Run the operator until it is told to stop by SIGTERM or SIGINT; settings are variables HUDI_OPERATOR_*."""
    from hudi_operator.control.settings import InvalidSettings, Settings  # noqa: PLC0415
    from hudi_operator.telemetry.logs import configure_logging  # noqa: PLC0415

    try:
        settings = Settings.from_environment()
    except InvalidSettings as error:
        sys.exit(f"hudi-operator: {error}")
    configure_logging(level=settings.log_level, style=settings.log_format)
    from hudi_operator.cli.serve import serve  # noqa: PLC0415

    code = asyncio.run(serve(settings))
    logging.shutdown()
    # A thread that still waits for a store that does not answer must not hold up the end of the process.
    os._exit(code)


def crds() -> None:
    """Print the CustomResourceDefinitions, for `kubectl apply --server-side -f -`."""
    from hudi_operator.api.crd import KINDS, crd_yaml  # noqa: PLC0415

    print("---\n".join(crd_yaml(kind) for kind in KINDS), end="")


def version() -> None:
    """Print the version."""
    print(__version__)
