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

OWNED_PREFIXES = ("argocd.argoproj.io/", "kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/", "meta.helm.sh/")
"""Labels and annotations of a tool about the object that it keeps, which no other object may carry."""


def kept_by(document: Mapping[str, Any]) -> str | None:
    """Return the tool that keeps an object as a repository says, or None."""
    labels, annotations = part(document, "metadata", "labels"), part(document, "metadata", "annotations")
    named = [tool for key, tool in _LABELS.items() if key in labels]
    named += [tool for key, tool in _ANNOTATIONS.items() if key in annotations]
    managers = [text(one, "manager") or "" for one in items(document, "metadata", "managedFields")]
    named += [tool for start, tool in _MANAGERS.items() if any(one.startswith(start) for one in managers)]
    return named[0] if named else None
