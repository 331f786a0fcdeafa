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
from hudi_operator.planning.model.advice import AnyReason
from hudi_operator.planning.model.healing import can_heal
from hudi_operator.planning.model.reason_registry import KINDS, Entry, entries
from hudi_operator.planning.model.reasons import EndingEvent, Retry, TableEvent
from hudi_operator.telemetry.metrics import metrics
from toolkit.generated.sentences import definitions, sentence

ListEntry = tuple[str, str]
"""The name of an entry of a list, and its text."""

_HEAD = """# Reference

Made from the code by `python dev/generate.py --write`: change the code, not this page. The fields of the
resources are in [hudi-table.md](hudi-table.md), [hudi-table-class.md](hudi-table-class.md) and [status.md](status.md);
what to do about a failure is in [failures.md](../operations/failures.md).
"""


def page() -> str:
    """Return the whole page; raise `NoSentence` for a definition without a docstring."""
    return _HEAD + "".join(f"\n## {title}\n\n{make()}" for title, make in _SECTIONS)


def _metrics() -> str:
    entries = ((f"`{one.name}` ({one.kind}{_label_names(one.labels)})", one.text) for one in metrics.descriptions)
    text = (
        "Served at `/metrics`, beside the metrics of the process and of Python. Metrics with the labels\n"
        "`table_namespace` and `table` have [settings of their own](../operations/dashboards.md#series-of-tables).\n\n"
    )
    return text + _list(entries)


def _label_names(labels: Iterable[str]) -> str:
    names = ", ".join(f"`{label}`" for label in labels)
    return f"; labels {names}" if names else ""


def _settings() -> str:
    entries = (
        (f"`{PREFIX}{name.upper()}`{_default(field)}", sentence(Settings, name))
        for name, field in Settings.model_fields.items()
    )
    return "Environment variables of the operator's process.\n\n" + _list(entries)


def _default(field: FieldInfo) -> str:
    if field.is_required():
        return " (required)"
    return f" (default `{field.default}`)" if field.default_factory is None and field.default not in ((), "") else ""


def _labels() -> str:
    return _list(_keys("_LABEL"))


def _annotations() -> str:
    return _list(_keys("_ANNOTATION", "FINALIZER"))


def _commit_keys() -> str:
    return "In the extra metadata of Hudi's commits.\n\n" + _list(_keys("_KEY"))


def _keys(*endings: str) -> list[ListEntry]:
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
    return _list(_members(Service))


def _conditions() -> str:
    return _list(_members(ConditionType))


def _reasons() -> str:
    text = (
        "A reason that *heals* can end without a change of the spec, the class, or by a person. After the first run\n"
        "that ended for any other reason the table is `Stalled`. *Retried* says when the operator tries again:\n\n"
    )
    kinds = (kind for kind in KINDS if kind not in _EVENTS)
    return text + _list(_members(Retry)) + "".join(map(_reasons_of, kinds))


def _reasons_of(kind: type[AnyReason]) -> str:
    return f"\n### {KINDS[kind]}\n\n" + _list(
        (_reason_head(entry), _reason_text(sentence(kind, entry.name.name), entry.advice)) for entry in entries(kind)
    )


def _reason_head(entry: Entry) -> str:
    heals = "heals" if can_heal(entry.name) else "does not heal"
    return f"`{entry.name.value}` ({heals}; retried: `{entry.retry}`)"


def _reason_text(meaning: str, advice: str) -> str:
    return f"{meaning} *What to do:* {advice}" if advice else meaning


_EVENTS = (TableEvent, Effect, EndingEvent)


def _events() -> str:
    text = (
        "A change of the condition Ready, Suspended or Fresh posts an Event with its reason and message: a Warning "
        "where Ready or Fresh is False. A finding that appears posts its code and message: a Warning unless its "
        "severity is Info. Further Events:\n\n"
    )
    return text + _list(entry for kind in _EVENTS for entry in _members(kind))


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


def _members(kind: type[StrEnum]) -> list[ListEntry]:
    return [(f"`{member.value}`", sentence(kind, member.name)) for member in kind]


def _list(entries: Iterable[ListEntry]) -> str:
    return "".join(f"- {head}: {text}\n" for head, text in entries)
