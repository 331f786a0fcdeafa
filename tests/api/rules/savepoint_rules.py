"""What the API server accepts and refuses in a HudiSavepoint, without any help of the operator."""

from typing import Any

Document = dict[str, Any]

EITHER_COMMIT = "exactly one of instant and latest: true must be set"
EITHER_TIME = "exactly one of expiresAfter and keepForever: true must be set"

ACCEPTED: dict[str, Document] = {
    "the smallest savepoint": {},
    "a commit by its time": {"spec": {"tableRef": {"name": "a"}, "instant": "20260310115900000", "keepForever": True}},
    "a commit to the second": {"spec": {"tableRef": {"name": "a"}, "instant": "20260310115900", "keepForever": True}},
    "latest: false beside an instant": {
        "spec": {"tableRef": {"name": "a"}, "instant": "20260310115900", "latest": False, "keepForever": True}
    },
    "an expiry": {"spec": {"tableRef": {"name": "a"}, "latest": True, "expiresAfter": "168h"}},
    "everything else": {"spec.comment": "Änderung: 100 % (ok)", "spec.deletionPolicy": "Delete"},
}
REFUSED: dict[str, tuple[Document, str]] = {
    "no commit": ({"spec": {"tableRef": {"name": "a"}, "keepForever": True}}, EITHER_COMMIT),
    "latest: false alone": ({"spec.latest": False}, EITHER_COMMIT),
    "two commits": ({"spec.instant": "20260310115900000"}, EITHER_COMMIT),
    "no time": ({"spec": {"tableRef": {"name": "a"}, "latest": True}}, EITHER_TIME),
    "two times": ({"spec.expiresAfter": "1h"}, EITHER_TIME),
    "a time that is over at once": (
        {"spec": {"tableRef": {"name": "a"}, "latest": True, "expiresAfter": "59s"}},
        "expiresAfter must be at least 1m",
    ),
    "a time that is none": (
        {"spec": {"tableRef": {"name": "a"}, "latest": True, "expiresAfter": "1d"}},
        "spec.expiresAfter: Invalid value",
    ),
    "an instant that leads elsewhere": (
        {"spec": {"tableRef": {"name": "a"}, "instant": "../../2026031011", "keepForever": True}},
        "spec.instant: Invalid value",
    ),
    "a comment of two lines": ({"spec.comment": "a\nb"}, "spec.comment: Invalid value"),
    "a comment that a terminal obeys": ({"spec.comment": "a\x9b2Jb"}, "spec.comment: Invalid value"),
    "a comment without end": ({"spec.comment": "a" * 257}, "spec.comment: Too long"),
    "a table that no table can be": ({"spec.tableRef": {"name": "../b"}}, "spec.tableRef.name: Invalid value"),
    "a table of another namespace": ({"spec.tableRef": {"name": "a", "namespace": "b"}}, "unknown field"),
    "another policy": ({"spec.deletionPolicy": "Orphan"}, 'Unsupported value: "Orphan"'),
}
CHANGES_REFUSED: dict[str, tuple[Document, Document, str]] = {
    "the table": ({}, {"spec.tableRef.name": "other"}, "tableRef cannot be changed; create another savepoint"),
    "the instant": (
        {"spec": {"tableRef": {"name": "a"}, "instant": "20260310115900", "keepForever": True}},
        {"spec.instant": "20260310115901"},
        "instant cannot be changed; create another savepoint",
    ),
    "latest": ({}, {"spec.latest": None}, "latest cannot be changed; create another savepoint"),
    "the comment": ({}, {"spec.comment": "why"}, "comment cannot be changed; create another savepoint"),
}
CHANGES_ACCEPTED: dict[str, tuple[Document, Document]] = {
    "how long": ({}, {"spec.keepForever": None, "spec.expiresAfter": "1h"}),
    "what its deletion does": ({}, {"spec.deletionPolicy": "Retain"}),
}
