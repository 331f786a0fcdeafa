"""What the API server accepts and refuses of the savepoints that a HudiTable asks for by a schedule."""

from typing import Any

Document = dict[str, Any]

DAILY = {"schedule": {"every": "24h"}}
KEEPS_SOME = "at least one of keepLast, keepDaily, keepWeekly and keepMonthly must be set"
KEEPS_MANY = "at most 40 savepoints can be kept"


def _by(**schedule: str) -> Document:
    return {"spec.savepoints": {"schedule": schedule, "keepLast": 1}}


def _kept(**counts: int) -> Document:
    return {"spec.savepoints": {**DAILY, **counts}}


ACCEPTED: dict[str, Document] = {
    "the shortest distance": _by(every="60s"),
    "cron in a time zone": _by(cron="0 3 * * *", timeZone="Europe/Berlin"),
    "as many as can be kept": _kept(keepLast=10, keepDaily=10, keepWeekly=10, keepMonthly=10),
    "one rule beside others that keep none": _kept(keepLast=0, keepMonthly=12),
}
REFUSED: dict[str, tuple[Document, str]] = {
    "a schedule that keeps nothing": (_kept(), KEEPS_SOME),
    "a schedule that keeps nothing of each": (_kept(keepLast=0, keepDaily=0, keepWeekly=0, keepMonthly=0), KEEPS_SOME),
    "more than can be looked at": (_kept(keepLast=30, keepDaily=11), KEEPS_MANY),
    "more than can be looked at by one rule": (_kept(keepLast=41), "spec.savepoints.keepLast in body should be less"),
    "less than none": (_kept(keepLast=-1, keepDaily=2), "spec.savepoints.keepLast in body should be greater"),
    "no schedule": ({"spec.savepoints": {"keepLast": 1}}, "spec.savepoints.schedule: Required value"),
    "a distance that is too short": (_by(every="59s"), "schedule.every must be at least 1m"),
    "a distance that is none": (_by(every="1d"), "spec.savepoints.schedule.every: Invalid value"),
    "distance and cron": (_by(every="1h", cron="0 * * * *"), "exactly one of every and cron must be set"),
    "four fields": (_by(cron="0 3 * *"), "spec.savepoints.schedule.cron: Invalid value"),
    "a zone that leads elsewhere": (
        _by(cron="0 3 * * *", timeZone="../../etc/passwd"),
        "spec.savepoints.schedule.timeZone: Invalid value",
    ),
}
