"""`hudi-operator crds`: prints the definitions of the kinds."""

from hudi_operator.cli.base.app import command as declare


@declare(examples=["crds"], exit_codes={0: "printed"})
def command() -> int:
    """Print the definitions as a stream of YAML."""
    from hudi_operator.api.crd.definitions import KINDS, crd_yaml  # noqa: PLC0415 - the models take half a second

    print("".join(crd_yaml(kind) for kind in KINDS), end="")
    return 0
