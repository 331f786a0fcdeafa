"""The rights that an upgrade of the chart needs of the person who runs it."""

from collections.abc import Iterator

from hudi_jobs.contract.wording import listed
from hudi_operator.cli.preflight.check import ClusterState, Line, fine, warning
from hudi_operator.kube.objects import Kind

_RBAC, _ADMISSION = "rbac.authorization.k8s.io", "admissionregistration.k8s.io"

CLUSTER_WIDE = (
    Kind(
        group="apiextensions.k8s.io",
        version="v1",
        plural="customresourcedefinitions",
        name="CustomResourceDefinition",
        namespaced=False,
    ),
    Kind(group=_RBAC, version="v1", plural="clusterroles", name="ClusterRole", namespaced=False),
    Kind(group=_RBAC, version="v1", plural="clusterrolebindings", name="ClusterRoleBinding", namespaced=False),
    Kind(
        group=_ADMISSION,
        version="v1",
        plural="validatingadmissionpolicies",
        name="ValidatingAdmissionPolicy",
        namespaced=False,
    ),
    Kind(
        group=_ADMISSION,
        version="v1",
        plural="validatingadmissionpolicybindings",
        name="ValidatingAdmissionPolicyBinding",
        namespaced=False,
    ),
)
"""Kinds without a namespace that the chart always has."""

IN_ITS_NAMESPACE = (
    Kind(group="apps", version="v1", plural="deployments", name="Deployment"),
    Kind(group=_RBAC, version="v1", plural="roles", name="Role"),
    Kind(group=_RBAC, version="v1", plural="rolebindings", name="RoleBinding"),
    Kind(group="", version="v1", plural="serviceaccounts", name="ServiceAccount"),
    Kind(group="", version="v1", plural="services", name="Service"),
    Kind(group="", version="v1", plural="secrets", name="Secret"),
    Kind(group="networking.k8s.io", version="v1", plural="networkpolicies", name="NetworkPolicy"),
    Kind(group="policy", version="v1", plural="poddisruptionbudgets", name="PodDisruptionBudget"),
)
"""Kinds in the operator's namespace; Helm keeps its releases in Secrets."""

VERBS = ("get", "create", "patch", "delete")


def check_rights(state: ClusterState) -> Iterator[Line]:
    """Say which rights for `helm upgrade` this person lacks."""
    if state.missing_rights:
        yield warning(
            f"You may not {listed(state.missing_rights, 5)}, which `helm upgrade` needs.",
            "Have a cluster administrator run the upgrade.",
        )
    else:
        yield fine("You have the rights that `helm upgrade` needs.")
