"""The status of a class: whether tables can use it, and which of its allowances can do harm."""

from collections.abc import Iterator
from datetime import datetime

from hudi_operator.api.conditions import MESSAGE_LIMIT, Condition, ConditionStatus, ConditionType
from hudi_operator.api.resources import HudiTableClass, InvalidObject
from hudi_operator.api.table_class import HudiTableClassSpec
from hudi_operator.api.table_class_status import HudiTableClassStatus
from hudi_operator.jobs.known_settings import hides_damage, opened_by, risk_of
from hudi_operator.planning.model import Blocked
from hudi_operator.planning.times import format_time

ACCEPTED = "Accepted"
"""The class can be used by tables."""

UNSAFE_SETTING_ALLOWED = "UnsafeSettingAllowed"
"""The class names a setting that is not known to be harmless, so its tables may make it."""

_SHOWN = 10
_ADVICE = "Name only what the owners of all tables of the class are trusted with."


def build_class_status(
    parsed: HudiTableClass | InvalidObject, previous: HudiTableClassStatus, *, now: datetime
) -> HudiTableClassStatus:
    """Return the status of a class; it equals the previous one when nothing has changed."""
    conditions = _conditions(parsed, format_time(now))
    return HudiTableClassStatus(
        observed_generation=parsed.metadata.generation,
        conditions=tuple(condition.carried_over(previous.conditions) for condition in conditions),
    )


def unsafe_settings(spec: HudiTableClassSpec) -> Iterator[str]:
    """Yield a sentence for each allowance or setting of a class that can do harm, or that opens nothing."""
    for field, keys in (
        ("allowedSparkConf", spec.allowed_spark_conf),
        ("allowedHudiOptions", spec.allowed_hudi_options),
    ):
        for key in keys:
            if key.endswith("*"):
                if not opened_by(key):
                    yield f"{field}: {key} opens nothing, because no key of it is known to be harmless."
            elif (risk := risk_of(key)) is not None:
                yield f"{field}: {key} {risk}."
    for field, settings in (("sparkConf", spec.spark_conf), ("hudiOptions", spec.hudi_options)):
        for key, value in settings.items():
            if hides_damage(key) and value.strip().lower() == "true":
                yield f"{field}: {key} {risk_of(key)}."


def _conditions(parsed: HudiTableClass | InvalidObject, now: str) -> Iterator[Condition]:
    def make(kind: ConditionType, status: ConditionStatus, reason: str, message: str) -> Condition:
        return Condition(
            type=kind,
            status=status,
            observed_generation=parsed.metadata.generation,
            last_transition_time=now,
            reason=reason,
            message=message[:MESSAGE_LIMIT],
        )

    if isinstance(parsed, InvalidObject):
        message = f"The class is not valid for this version of the operator: {parsed.message}. Correct its spec."
        yield make(ConditionType.READY, ConditionStatus.FALSE, Blocked.CLASS_INVALID, message)
        yield make(ConditionType.STALLED, ConditionStatus.TRUE, Blocked.CLASS_INVALID, message)
        return
    yield make(ConditionType.READY, ConditionStatus.TRUE, ACCEPTED, "The class can be used by tables.")
    if unsafe := list(unsafe_settings(parsed.spec)):
        more = f" {len(unsafe) - _SHOWN} more." if len(unsafe) > _SHOWN else ""
        message = f"{_ADVICE} {' '.join(unsafe[:_SHOWN])}{more}"
        yield make(ConditionType.UNSAFE_SETTINGS, ConditionStatus.TRUE, UNSAFE_SETTING_ALLOWED, message)
