"""Argo CD's difference between Git and the cluster, for kinds that its scheme does not know, such as ours.

Follows `pkg/diff` of argoproj/gitops-engine (5baed560, `Diff`, `ThreeWayDiff`, `TwoWayDiff`) and
`CreateThreeWayJSONMergePatch` of k8s.io/apimachinery. Argo CD shows a resource as OutOfSync where `predicted` differs
from the live object, and self-healing applies the difference.
"""

from __future__ import annotations

import json
from copy import deepcopy
from typing import Any

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"
TRACKING = "argocd.argoproj.io/tracking-id"

Document = dict[str, Any]


def is_out_of_sync(config: Document, live: Document) -> bool:
    """Tell whether Argo CD would show a difference between what Git declares and the live object."""
    config, live = _normalized(config), _normalized(live)
    return predicted(config, live) != live


def predicted(config: Document, live: Document) -> Document:
    """Return the live object after Argo CD's patch: three-way where kubectl has left what it applied, else two-way."""
    text = live.get("metadata", {}).get("annotations", {}).get(LAST_APPLIED)
    original = _normalized(json.loads(text)) if text is not None else config
    # Fields that nobody has declared are no difference: the API server or somebody else has set them.
    declared = _present_in(original, live)
    changes = _without_nulls(_merge_patch(declared, config))
    deletions = _nulls_alone(_merge_patch(original, config))
    return _merged(live, _merged(deletions, changes, keep_nulls=True))


def _normalized(document: Document) -> Document:
    found = deepcopy(document)
    found.get("metadata", {}).pop("creationTimestamp", None)
    return found


def _present_in(config: Any, live: Any) -> Any:
    """`RemoveMapFields` and `RemoveListFields`: a live value with the fields of its configuration alone."""
    if isinstance(config, dict) and isinstance(live, dict):
        return {key: _present_in(value, live[key]) for key, value in config.items() if key in live}
    if isinstance(config, list) and isinstance(live, list):
        return [_present_in(config[at], one) if at < len(config) else one for at, one in enumerate(live)]
    return live


def _merge_patch(before: Document, after: Document) -> Document:
    """`CreateMergePatch` of RFC 7386."""
    patch: Document = {key: None for key in before if key not in after}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(old, dict) and isinstance(value, dict):
            inner = _merge_patch(old, value)
            patch |= {key: inner} if inner else {}
        elif key not in before or old != value:
            patch[key] = value
    return patch


def _without_nulls(patch: Document) -> Document:
    kept = {key: _without_nulls(value) if isinstance(value, dict) else value for key, value in patch.items()}
    return {key: value for key, value in kept.items() if value is not None}


def _nulls_alone(patch: Document) -> Document:
    inner = {key: _nulls_alone(value) for key, value in patch.items() if isinstance(value, dict)}
    nulls: Document = {key: None for key, value in patch.items() if value is None}
    return nulls | {key: value for key, value in inner.items() if value}


def _merged(document: Document, patch: Document, *, keep_nulls: bool = False) -> Document:
    result = dict(document)
    for key, value in patch.items():
        if value is None and not keep_nulls:
            result.pop(key, None)
        elif isinstance(value, dict):
            before = result.get(key)
            result[key] = _merged(before if isinstance(before, dict) else {}, value, keep_nulls=keep_nulls)
        else:
            result[key] = value
    return result
