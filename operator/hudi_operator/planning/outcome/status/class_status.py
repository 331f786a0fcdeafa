"""The status of a class: whether tables can use it, and its unsafe settings."""

from collections.abc import Iterator
from datetime import datetime

from hudi_operator.api.resources import HudiTableClass, InvalidObject
from hudi_operator.api.spec.table_class import HudiTableClassSpec
from hudi_operator.api.status.conditions import Condition, ConditionStatus, ConditionType, HudiTableClassStatus
from hudi_operator.api.values.names import prefix_problem
from hudi_operator.jobs.settings.known_settings import hides_damage, opened_by, risk_of
from hudi_operator.planning.model import BlockerReason
from hudi_operator.planning.model.reason_registry import entry_of
from hudi_operator.planning.model.reasons import ClassReason
from hudi_operator.planning.outcome.status.conditions import ConditionMaker
from hudi_operator.planning.policy.namespaces import described

_SHOWN = 10
_PREFIX_SHOWN = 200
_ADVICE = entry_of(ClassReason.UNSAFE_SETTING_ALLOWED).advice


def build_class_status(
    parsed: HudiTableClass | InvalidObject, previous: HudiTableClassStatus, *, now: datetime
) -> HudiTableClassStatus:
    """Return the status of a class; it equals the previous status if nothing has changed."""
    conditions = _conditions(parsed, now)
    return HudiTableClassStatus(
        observed_generation=parsed.metadata.generation,
        namespaces=None if isinstance(parsed, InvalidObject) else described(parsed.spec.allowed_namespaces),
        conditions=tuple(condition.carried_over(previous.conditions) for condition in conditions),
    )


def class_problem(parsed: HudiTableClass | InvalidObject) -> str | None:
    """Return why no table can use a class, or None: the class cannot be read, or a prefix allows too much."""
    if isinstance(parsed, InvalidObject):
        return parsed.message
    spec = parsed.spec
    for field, prefixes in (
        ("allowedBasePaths", spec.allowed_base_paths),
        ("allowedSourcePaths", spec.allowed_source_paths),
        ("allowedQuarantinePaths", spec.allowed_quarantine_paths),
        ("operations.reportPath", tuple(filter(None, [spec.operations.report_path]))),
    ):
        for prefix in prefixes:
            if (problem := prefix_problem(prefix)) is not None:
                return f"spec.{field}: {prefix[:_PREFIX_SHOWN]} {problem}"
    return None


def unsafe_settings(spec: HudiTableClassSpec) -> Iterator[str]:
    """Yield a sentence for each allowance or setting of a class that can do harm, or that allows nothing."""
    for field, keys in (
        ("allowedSparkConf", spec.allowed_spark_conf),
        ("allowedHudiOptions", spec.allowed_hudi_options),
    ):
        for key in keys:
            if key.endswith("*"):
                if not opened_by(key):
                    yield f"{field}: {key} allows nothing, because none of its keys is known to be harmless."
            elif (risk := risk_of(key)) is not None:
                yield f"{field}: {key} {risk}."
    for field, settings in (("sparkConf", spec.spark_conf), ("hudiOptions", spec.hudi_options)):
        for key, value in settings.items():
            if hides_damage(key) and value.strip().lower() == "true":
                yield f"{field}: {key} {risk_of(key)}."


def _conditions(parsed: HudiTableClass | InvalidObject, now: datetime) -> Iterator[Condition]:
    make = ConditionMaker(generation=parsed.metadata.generation, now=now)
    if (problem := class_problem(parsed)) is not None:
        message = f"No table can use the class: {problem}. Correct its spec."
        yield make(ConditionType.READY, ConditionStatus.FALSE, BlockerReason.CLASS_INVALID, message)
        yield make(ConditionType.STALLED, ConditionStatus.TRUE, BlockerReason.CLASS_INVALID, message)
    else:
        yield make(ConditionType.READY, ConditionStatus.TRUE, ClassReason.ACCEPTED, "The class can be used by tables.")
    unsafe = [] if isinstance(parsed, InvalidObject) else list(unsafe_settings(parsed.spec))
    if unsafe:
        more = f" {len(unsafe) - _SHOWN} more." if len(unsafe) > _SHOWN else ""
        message = f"{_ADVICE} {' '.join(unsafe[:_SHOWN])}{more}"
        yield make(ConditionType.UNSAFE_SETTINGS, ConditionStatus.TRUE, ClassReason.UNSAFE_SETTING_ALLOWED, message)
