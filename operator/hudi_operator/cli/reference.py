"""The reference page, made from the code: metrics, settings, labels, annotations and the words of status and Events.

Each entry is the sentence that stands below its definition, so that the two cannot differ. Written and compared by
`python -m hudi_operator.cli.reference --write` and `--check`.
"""

import argparse
import importlib
import inspect
import pkgutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from types import ModuleType

from pydantic.fields import FieldInfo

import hudi_jobs.contract
import hudi_operator
from hudi_jobs.contract import Effect, FailureReason, Outcome, Service
from hudi_operator.api.conditions import ConditionType
from hudi_operator.api.crd import differences
from hudi_operator.cli.sentences import definitions, sentence
from hudi_operator.control.settings import PREFIX, Settings
from hudi_operator.planning.deletion.model import EndingEvent, EndingReason
from hudi_operator.planning.model import Blocked, PodTrouble, TimelineTrouble
from hudi_operator.planning.model.dueness import Reason
from hudi_operator.planning.policy import drift
from hudi_operator.planning.runs import failures, outcomes
from hudi_operator.planning.services import rescan, slots
from hudi_operator.planning.status import class_status, readiness, transitions
from hudi_operator.planning.writers import acts, foreign, takeover
from hudi_operator.telemetry.metrics import metrics

PAGE = Path("docs/reference.md")

REASONS: tuple[type[StrEnum], ...] = (
    Outcome,
    Blocked,
    TimelineTrouble,
    PodTrouble,
    FailureReason,
    Reason,
    EndingReason,
)
"""The words that can be the reason of a condition, of a run or of a service."""

FURTHER_REASONS: tuple[ModuleType, ...] = (
    outcomes,
    failures,
    slots,
    foreign,
    drift,
    readiness,
    rescan,
    takeover,
    class_status,
)
"""Modules whose public constants are such words as well."""

Row = tuple[str, ...]

_HEAD = """# Reference

Made from the code by `python -m hudi_operator.cli.reference --write`: change the code, not this page. The fields of the
resources are in [spec.md](spec.md) and [status.md](status.md); what to do about a failure is in
[failure-modes.md](failure-modes.md).
"""


def page() -> str:
    """Return the whole page; raise `NoSentence` for what the code does not explain."""
    return _HEAD + "".join(f"\n## {title}\n\n{make()}" for title, make in _SECTIONS)


def words(module: ModuleType) -> dict[str, str]:
    """Return the public constants of a module that are reasons, each with its sentence."""
    values = {name: getattr(module, name) for name in definitions(module) if name.isupper() and name[0] != "_"}
    return {
        value: sentence(module, name)
        for name, value in values.items()
        if type(value) is str and value.isalnum() and value[0].isupper()
    }


def _metrics() -> str:
    rows = [
        (f"`{one.name}`", one.kind, ", ".join(f"`{label}`" for label in one.labels), one.text)
        for one in metrics.descriptions
    ]
    text = "Served at `/metrics`, beside those of the process and of Python. No metric has a label for the table.\n\n"
    return text + _table(("Metric", "Type", "Labels", "Meaning"), rows)


def _settings() -> str:
    rows = [
        (f"`{PREFIX}{name.upper()}`", _default(field), sentence(Settings, name))
        for name, field in Settings.model_fields.items()
    ]
    return "Environment variables of the operator's process.\n\n" + _table(("Variable", "Default", "Meaning"), rows)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return "required"
    return f"`{field.default}`" if field.default_factory is None and field.default not in ((), "") else ""


def _labels() -> str:
    return _table(("Label", "Meaning"), _keys("_LABEL"))


def _annotations() -> str:
    return _table(("Annotation or finalizer", "Meaning"), _keys("_ANNOTATION", "FINALIZER"))


def _commit_keys() -> str:
    return "In the extra metadata of Hudi's commits.\n\n" + _table(("Key", "Meaning"), _keys("_KEY"))


def _keys(*endings: str) -> list[Row]:
    """Return the constants of both packages whose names end so."""
    found: dict[str, str] = {}
    for module in (*_modules(hudi_operator), *_modules(hudi_jobs.contract)):
        for name in definitions(module):
            if name.isupper() and name[0] != "_" and name.endswith(endings):
                found[getattr(module, name)] = sentence(module, name)
    return [(f"`{key}`", found[key]) for key in sorted(found)]


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if not info.name.endswith("__main__"):
            yield importlib.import_module(info.name)


def _services() -> str:
    return _table(("Service", "Meaning"), _members(Service))


def _conditions() -> str:
    return _table(("Condition", "Meaning"), _members(ConditionType))


def _reasons() -> str:
    groups = [(inspect.cleandoc(kind.__doc__ or "").split("\n")[0].rstrip("."), _members(kind)) for kind in REASONS]
    further: list[Row] = [(f"`{word}`", text) for module in FURTHER_REASONS for word, text in words(module).items()]
    groups.append(("Further reasons", further))
    return "\n".join(f"### {title}\n\n{_table(('Reason', 'Meaning'), rows)}" for title, rows in groups)


def _events() -> str:
    text = (
        "A change of the condition Ready, Suspended, OwnedElsewhere, ForeignWriter, Drift or PendingInstantOverdue "
        "posts an Event with its reason and message: a Warning where Ready is False, and for the last four. "
        "Further Events:\n\n"
    )
    further = [(f"`{word}`", meaning) for module in (transitions, acts) for word, meaning in words(module).items()]
    return text + _table(("Event", "Meaning"), [*further, *_members(Effect), *_members(EndingEvent)])


_SECTIONS: tuple[tuple[str, Callable[[], str]], ...] = (
    ("Metrics", _metrics),
    ("Settings", _settings),
    ("Labels", _labels),
    ("Annotations and finalizers", _annotations),
    ("Keys in commits", _commit_keys),
    ("Services", _services),
    ("Conditions", _conditions),
    ("Reasons", _reasons),
    ("Events", _events),
)


def _members(kind: type[StrEnum]) -> list[Row]:
    return [(f"`{member.value}`", sentence(kind, member.name)) for member in kind]


def _table(header: Row, rows: Iterable[Row]) -> str:
    lines = [header, tuple("---" for _ in header), *rows]
    return "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |\n" for line in lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write or check the page below the current folder; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m hudi_operator.cli.reference", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--write", action="store_true", help="write the page")
    action.add_argument("--check", action="store_true", help="exit with 1 and a diff when it is out of date")
    if parser.parse_args(arguments).write:
        PAGE.write_text(page())
        return 0
    diff = differences(Path.cwd(), {PAGE: page()})
    sys.stdout.writelines(diff)
    if diff:
        sys.stderr.write("The reference is out of date: run python -m hudi_operator.cli.reference --write.\n")
    return 1 if diff else 0


if __name__ == "__main__":
    sys.exit(main())
