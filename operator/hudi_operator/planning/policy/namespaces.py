"""Whether the tables of a namespace may use a class, and the sentence about it."""

from collections.abc import Iterator, Mapping

from hudi_operator.api.resources import HudiTableClass
from hudi_operator.api.values.namespaces import AllowedNamespaces, LabelRequirement, NamespaceSelector, SelectorOperator
from hudi_operator.planning.model import Blocker, BlockerReason

_SHOWN = 500

Labels = Mapping[str, str]


def asks_for_labels(table_class: HudiTableClass, namespace: str) -> bool:
    """Whether the labels of a namespace decide if its tables may use a class."""
    allowed = table_class.spec.allowed_namespaces
    return allowed is not None and allowed.selector is not None and namespace not in allowed.names


def namespace_blocker(table_class: HudiTableClass, namespace: str, labels: Labels | None) -> Blocker | None:
    """Return what keeps a namespace's tables from using a class; its labels are None if they are unreadable.

    The ValidatingAdmissionPolicy of the chart says the same in CEL, for tables with a class name.
    """
    allowed = table_class.spec.allowed_namespaces
    if allowed is None or namespace in allowed.names:
        return None
    if allowed.selector is not None and labels is not None and _selects(allowed.selector, labels):
        return None
    name = table_class.metadata.name
    message = (
        f"HudiTableClass {name} does not allow tables of namespace {namespace}: name another class in "
        "spec.tableClassName, or ask the platform team to allow the namespace."
    )
    if allowed.selector is not None and labels is None:
        message = (
            f"HudiTableClass {name} selects namespaces by their labels, and the operator cannot read those of "
            f"namespace {namespace}: ask the platform team to let the operator get namespaces."
        )
    return Blocker(reason=BlockerReason.CLASS_NOT_ALLOWED, message=message)


def described(allowed: AllowedNamespaces | None) -> str:
    """Return in a few words which namespaces may use a class."""
    text = "All" if allowed is None else ", ".join(_parts(allowed)) or "None"
    return text if len(text) <= _SHOWN else f"{text[: _SHOWN - 3]}..."


def _selects(selector: NamespaceSelector, labels: Labels) -> bool:
    if not selector.match_labels and not selector.match_expressions:
        return False  # refused by the API server; elsewhere in Kubernetes it would mean every namespace
    exactly = all(labels.get(key) == value for key, value in selector.match_labels.items())
    return exactly and all(_meets(labels, requirement) for requirement in selector.match_expressions)


def _meets(labels: Labels, requirement: LabelRequirement) -> bool:
    present = requirement.key in labels
    match requirement.operator:
        case SelectorOperator.IN:
            return present and labels[requirement.key] in requirement.values
        case SelectorOperator.NOT_IN:
            return not present or labels[requirement.key] not in requirement.values
        case SelectorOperator.EXISTS:
            return present
        case SelectorOperator.DOES_NOT_EXIST:
            return not present


def _parts(allowed: AllowedNamespaces) -> Iterator[str]:
    yield from allowed.names
    if allowed.selector is None:
        return
    exactly = [f"{key}={value}" for key, value in sorted(allowed.selector.match_labels.items())]
    yield " and ".join([*exactly, *map(_said, allowed.selector.match_expressions)])


def _said(requirement: LabelRequirement) -> str:
    values = f"({' '.join(requirement.values)})"
    match requirement.operator:
        case SelectorOperator.IN:
            return f"{requirement.key} in {values}"
        case SelectorOperator.NOT_IN:
            return f"{requirement.key} notin {values}"
        case SelectorOperator.EXISTS:
            return requirement.key
        case SelectorOperator.DOES_NOT_EXIST:
            return f"!{requirement.key}"
