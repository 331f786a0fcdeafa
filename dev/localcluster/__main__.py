"""Entry point of `dev/cluster`."""

import argparse
import sys

from localcluster import foreign, lifecycle, toolchain
from localcluster.console import interrupt_on_termination, say, stop_with
from localcluster.settings import CURRENT, DevError

DESCRIPTION = """\
A real single-node Kubernetes on this machine, with CoreDNS and an S3 server.
With CLUSTER=current or CLUSTER=kind nothing local is started, and the cluster that KUBECONFIG points to is used."""


def main() -> None:
    """Run one command."""
    interrupt_on_termination()
    parser = argparse.ArgumentParser(
        prog="dev/cluster", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("up", help="start the cluster, or repair it; a healthy one is left alone")
    start.add_argument("--fresh", action="store_true", help="begin with an empty cluster; images are kept")
    commands.add_parser("reset", help="the same as up --fresh")
    commands.add_parser("down", help="stop it and leave nothing running")
    commands.add_parser("status", help="show what runs")
    commands.add_parser("tools", help="only build the programs, and print their directory")
    arguments = parser.parse_args()
    try:
        run(arguments)
    except DevError as error:
        stop_with(error)
    except KeyboardInterrupt:
        say("interrupted; the same command again takes up where this left off")
        sys.exit(130)


def run(arguments: argparse.Namespace) -> None:
    """Run a parsed command."""
    match arguments.command:
        case "tools":
            print(toolchain.ensure_tools())
        case "status":
            sys.exit(0 if lifecycle.status() else 1)
        case "up" | "reset" if CURRENT:
            foreign.use_current()
        case "down" if CURRENT:
            say("CLUSTER=current: the cluster is not ours to stop")
        case "down":
            with lifecycle.exclusive():
                lifecycle.down()
        case command:
            with lifecycle.exclusive():
                lifecycle.up(fresh=command == "reset" or arguments.fresh)


main()
