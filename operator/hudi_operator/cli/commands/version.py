"""`hudi-operator version`: prints the version."""

from hudi_operator import __version__
from hudi_operator.cli.base.app import command as declare


@declare(examples=["version"], exit_codes={0: "printed"})
def command() -> int:
    """Print the version as a line."""
    print(__version__)
    return 0
