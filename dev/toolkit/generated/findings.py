"""The page of findings, made from their registry: each code, how urgent it is, what it blocks and what helps."""

from hudi_operator.api.status.findings import FindingCode, Severity
from hudi_operator.diagnosis.check_registry import NEED_THE_CLUSTER
from hudi_operator.planning.model.reason_registry import entry_of
from hudi_operator.planning.outcome.findings.definition import FindingDefinition
from hudi_operator.planning.outcome.findings.finding_registry import DEFINITIONS
from toolkit.generated.sentences import sentence

_HEAD = """# Findings

Made from the code by `python dev/generate.py --write`: change the code, not this page.

`status.findings` lists what needs attention on a `HudiTable`, the worst first. Each finding has a `code`, a `severity`,
the time since when the operator has seen it, a message with the evidence, the services that it `blocks`, and a
`remedy`. [status.md](../reference/status.md#findings) explains how to read them.

A table alone shows the codes marked *store*. The operator finds them in every table that it reads, with the settings of
the spec as limits. [The doctor](doctor.md) says them of any table without a
cluster; the codes marked *command* appear in no status.

"""


def page() -> str:
    """Return the whole page."""
    severities = "".join(f"- `{one}`: {sentence(Severity, one.name)}\n" for one in reversed(Severity))
    return f"{_HEAD}{severities}{''.join(map(_section, DEFINITIONS))}"


def _section(one: FindingDefinition) -> str:
    return (
        f"\n## {one.code}\n\n"
        f"`{one.code}`, {one.severity}{_where(one)}. {sentence(FindingCode, one.code.name)}\n\n"
        f"- Blocks: {one.blocks}\n"
        f"- What to do: {entry_of(one.code).advice}\n"
    )


def _where(one: FindingDefinition) -> str:
    if one.find is None:
        return ", *command*"
    return ", *store*" if one.code not in NEED_THE_CLUSTER else ""
