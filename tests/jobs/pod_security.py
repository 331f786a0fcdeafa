"""The rules of the Pod Security Standard `restricted`, 1.34, as far as a pod's own fields go.

Source: kubernetes.io/docs/concepts/security/pod-security-standards and k8s.io/pod-security-admission/policy. Written
from the rules and not from our manifests, so that a field which is added later is judged as well.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

_VOLUMES = {"configMap", "csi", "downwardAPI", "emptyDir", "ephemeral", "persistentVolumeClaim", "projected", "secret"}
_SYSCTLS: set[str] = {
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.ping_group_range",
}
_SELINUX_TYPES = {"", "container_t", "container_init_t", "container_kvm_t", "container_engine_t"}


def violations(pod: Mapping[str, Any]) -> list[str]:
    """Return what a namespace with level `restricted` would refuse in a pod's spec."""
    return [*_pod(pod), *(found for container in _containers(pod) for found in _container(container, pod))]


def _containers(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        yield from pod.get(kind) or ()


def _pod(pod: Mapping[str, Any]) -> Iterator[str]:
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.get(field):
            yield field
    for volume in pod.get("volumes") or ():
        yield from (f"volume {kind}" for kind in volume if kind != "name" and kind not in _VOLUMES)
    security = pod.get("securityContext") or {}
    for sysctl in security.get("sysctls") or ():
        if sysctl["name"] not in _SYSCTLS:
            yield f"sysctl {sysctl['name']}"
    if (security.get("windowsOptions") or {}).get("hostProcess"):
        yield "hostProcess"


def _container(container: Mapping[str, Any], pod: Mapping[str, Any]) -> Iterator[str]:
    shared, own = pod.get("securityContext") or {}, container.get("securityContext") or {}
    name = container.get("name", "?")

    def effective(field: str) -> Any:
        return own.get(field, shared.get(field))

    capabilities = own.get("capabilities") or {}
    profile = effective("seccompProfile") or {}
    rules = {
        "privileged": own.get("privileged") in (None, False),
        "allowPrivilegeEscalation": own.get("allowPrivilegeEscalation") is False,
        "capabilities.drop": "ALL" in (capabilities.get("drop") or ()),
        "capabilities.add": set(capabilities.get("add") or ()) <= {"NET_BIND_SERVICE"},
        "runAsNonRoot": effective("runAsNonRoot") is True,
        "runAsUser": effective("runAsUser") != 0,
        "seccompProfile": profile.get("type") in {"RuntimeDefault", "Localhost"},
        "procMount": own.get("procMount") in (None, "Default"),
        "seLinuxOptions": (effective("seLinuxOptions") or {}).get("type", "") in _SELINUX_TYPES,
        "hostPort": not any(port.get("hostPort") for port in container.get("ports") or ()),
    }
    yield from (f"{name}: {rule}" for rule, kept in rules.items() if not kept)
