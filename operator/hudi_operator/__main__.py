"""`python -m hudi_operator` is the command `hudi-operator`."""

from hudi_operator.cli.main import run

if __name__ == "__main__":
    run()
