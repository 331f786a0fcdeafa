"""Which tool keeps an object as a repository says."""

from collections.abc import Mapping
from typing import Any

from hudi_operator.kube.objects import items, part, text

_LABELS = {
    "kustomize.toolkit.fluxcd.io/name": "Flux",
    "helm.toolkit.fluxcd.io/name": "Flux",
    "argocd.argoproj.io/instance": "Argo CD",
}
_ANNOTATIONS = {
    "argocd.argoproj.io/tracking-id": "Argo CD",
    "meta.helm.sh/release-name": "Helm",
}
_MANAGERS = {
    "argocd-": "Argo CD",
    "kustomize-controller": "Flux",
    "helm-controller": "Flux",
    "flux-": "Flux",
    "helm": "Helm",
}
"""Beginnings of the names under which a tool writes fields."""

INSTANCE_LABEL = "app.kubernetes.io/instance"
"""By this label alone Argo CD before 3.0 knows its objects. Helm and people set it, too."""

_MANAGED_BY_LABEL = "app.kubernetes.io/managed-by"

OWNED_PREFIXES = ("argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "meta.helm.sh/")
"""Labels and annotations of a tool about the object that it keeps, which no other object may carry."""


def kept_by(document: Mapping[str, Any]) -> str | None:
    """Return the tool that keeps an object as a repository says, or None."""
    return _by_own_mark(document) or _by_common_label(document)


def is_tracked_by_label(document: Mapping[str, Any]) -> bool:
    """Tell whether the label alone says that Argo CD keeps an object, which a person may have set as well."""
    return _by_own_mark(document) is None and _by_common_label(document) == "Argo CD"


def _by_own_mark(document: Mapping[str, Any]) -> str | None:
    labels, annotations = part(document, "metadata", "labels"), part(document, "metadata", "annotations")
    named = [tool for key, tool in _LABELS.items() if key in labels]
    named += [tool for key, tool in _ANNOTATIONS.items() if key in annotations]
    managers = [text(one, "manager") or "" for one in items(document, "metadata", "managedFields")]
    named += [tool for start, tool in _MANAGERS.items() if any(one.startswith(start) for one in managers)]
    return named[0] if named else None


def _by_common_label(document: Mapping[str, Any]) -> str | None:
    labels = part(document, "metadata", "labels")
    # Helm's own installations have both labels; whoever applies a rendered chart keeps it in files as well.
    if labels.get(_MANAGED_BY_LABEL) == "Helm":
        return "Helm"
    return "Argo CD" if labels.get(INSTANCE_LABEL) else None
