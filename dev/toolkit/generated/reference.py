"""The reference page, made from the code: metrics, settings, labels, annotations, and words of status and Events.

Each entry is the docstring of its definition, so that page and code cannot differ. `dev/generate.py` writes and
compares it.
"""

import importlib
import pkgutil
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from types import ModuleType

from pydantic.fields import FieldInfo

import hudi_jobs.contract
import hudi_operator
from hudi_jobs.contract import Effect, Service
from hudi_operator.api.status.conditions import ConditionType
from hudi_operator.control.settings import PREFIX, Settings
from hudi_operator.planning.model.healing import can_heal
from hudi_operator.planning.model.reasons import EndingEvent, Retry, TableEvent
from hudi_operator.planning.model.registry import KINDS, AnyReason, entries
from hudi_operator.telemetry.metrics import metrics
from toolkit.generated.sentences import definitions, sentence

Row = tuple[str, ...]

_HEAD = """# Reference

Made from the code by `python dev/generate.py --write`: change the code, not this page. The fields of the
resources are in [hudi-table.md](hudi-table.md) and [status.md](status.md); what to do about a failure is in
[failures.md](../operations/failures.md).
"""


def page() -> str:
    """Return the whole page; raise `NoSentence` for a definition without a docstring."""
    return _HEAD + "".join(f"\n## {title}\n\n{make()}" for title, make in _SECTIONS)


def _metrics() -> str:
    rows = [
        (f"`{one.name}`", one.kind, ", ".join(f"`{label}`" for label in one.labels), one.text)
        for one in metrics.descriptions
    ]
    text = (
        "Served at `/metrics`, beside those of the process and of Python. Only those about the freshness of tables\n"
        "have labels for the table.\n\n"
    )
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
    """Return the constants of both packages with this suffix."""
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
    text = (
        "The column Heals says whether what stopped for a reason can go on without a change of the spec, the class, or "
        "by a person: where it cannot, the table is Stalled after the first run that ended so. The column Retried says "
        "when it is tried again:\n\n"
    )
    legend = _table(("Retried", "Meaning"), _members(Retry))
    return text + legend + "".join(map(_reason_table, (kind for kind in KINDS if kind not in _EVENTS)))


def _reason_table(kind: type[AnyReason]) -> str:
    rows = [
        (
            f"`{entry.name.value}`",
            sentence(kind, entry.name.name),
            "yes" if can_heal(entry.name) else "no",
            f"`{entry.retry}`",
            entry.advice,
        )
        for entry in entries(kind)
    ]
    return f"\n### {KINDS[kind]}\n\n{_table(('Reason', 'Meaning', 'Heals', 'Retried', 'What to do'), rows)}"


_EVENTS = (TableEvent, Effect, EndingEvent)


def _events() -> str:
    text = (
        "A change of the condition Ready, Suspended or Fresh posts an Event with its reason and message: a Warning "
        "where Ready or Fresh is False. A finding that appears posts its code and message: a Warning unless its "
        "severity is Info. Further Events:\n\n"
    )
    return text + _table(("Event", "Meaning"), [row for kind in _EVENTS for row in _members(kind)])


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
