"""The operators of the cluster: how many, whether they are well, and on which API server."""

import re
from collections.abc import Iterator, Mapping
from itertools import combinations

from hudi_jobs.contract.wording import listed
from hudi_operator import __version__
from hudi_operator.cli.preflight.check import ClusterState, Document, Line, blocked, fine, name_of, unread, warning
from hudi_operator.kube.objects import items, text, whole_number

OLDEST_SERVER = (1, 31)
"""The oldest Kubernetes that the chart accepts (`kubeVersion`)."""

_WATCHED = "HUDI_OPERATOR_WATCH_NAMESPACES"


def check_operators(state: ClusterState) -> Iterator[Line]:
    """Say whether one well operator works on each table, and whether the API server is new enough."""
    yield from _server(state.server_version)
    owners = sorted({one.status.owner.operator for one in state.tables if one.status.owner is not None})
    if len(owners) > 1:
        yield warning(
            f"Tables name {len(owners)} operators as their owner: {listed(owners, 3)}.",
            "Keep operator.identity of each installation, or decide by takeOver.",
        )
    if state.deployments is None:
        yield unread("Deployments")
        return
    if not state.deployments:
        yield warning("No Deployment of the operator was found.", "Install it, or look for its release: helm list -A")
    for one in state.deployments:
        yield _deployment(one)
    for first, second in combinations(state.deployments, 2):
        yield _both(first, second)


def _server(version: str) -> Iterator[Line]:
    found = re.match(r"v?(\d+)\.(\d+)", version)
    if found is None:
        yield unread("the version of the API server")
        return
    oldest = ".".join(map(str, OLDEST_SERVER))
    if (int(found[1]), int(found[2])) < OLDEST_SERVER:
        yield blocked(f"The API server is {version}; the chart needs {oldest}.", "Upgrade Kubernetes first.")
    else:
        yield fine(f"The API server is {version}; the chart needs {oldest} or later.")


def _deployment(one: Document) -> Line:
    wanted, ready = whole_number(one, "spec", "replicas"), whole_number(one, "status", "readyReplicas")
    image = text(_container(one), "image") or "no image"
    if (ready or 0) < (1 if wanted is None else wanted):
        return warning(
            f"{name_of(one)} has {ready or 0} of {wanted} pods ready ({image}).",
            "Repair it first, because `helm upgrade --wait` waits for its pods: kubectl logs says why.",
        )
    return fine(f"{name_of(one)} is ready with {image}; this command is {__version__}.")


def _container(deployment: Document) -> Mapping[str, object]:
    return next(iter(items(deployment, "spec", "template", "spec", "containers")), {})


def _both(first: Document, second: Document) -> Line:
    one, other = _watched(first), _watched(second)
    names = f"{name_of(first)} and {name_of(second)}"
    if one is None or other is None or one & other:
        where = "all namespaces" if one is None or other is None else listed(sorted(one & other), 3)
        return blocked(
            f"{names} both watch {where}: they undo each other's work.",
            "Remove one, or give each namespaces of its own (watchNamespaces).",
        )
    return warning(
        f"{names} share the definitions.", "Upgrade both in one go, the older one first: the definitions serve both."
    )


def _watched(deployment: Document) -> frozenset[str] | None:
    """Return the namespaces that an operator watches; None for all."""
    values = [text(one, "value") or "" for one in items(_container(deployment), "env") if one.get("name") == _WATCHED]
    named = frozenset(filter(None, (name.strip() for value in values for name in value.split(","))))
    return named or None
