"""The programs of the node: their command lines and configuration files."""

import json
import shutil

from localcluster.certificates import path as pki
from localcluster.network import CNI_CONFIGURATION, cni_plugins
from localcluster.processes import Component
from localcluster.settings import (
    API_PORT,
    CACHE,
    CGROUP,
    CONTAINERD_SOCKET,
    DNS_ADDRESS,
    NODE_ADDRESS,
    NODE_NAME,
    POD_SUBNET,
    REGISTRIES,
    RUN,
    SERVICE_SUBNET,
    STATE,
    DevError,
    tool,
    tool_image,
)

ETCD_CLIENT = "http://127.0.0.1:12379"
ETCD_PEER = "http://127.0.0.1:12380"
KUBELET_DIRECTORY = STATE / "kubelet"
CONTAINERD_ROOT = CACHE / "containerd"
LONGEST_SOCKET_PATH = 107

CONTAINERD_CONFIGURATION = f"""\
version = 2
root = "{CONTAINERD_ROOT}"
state = "{RUN / "containerd"}"
oom_score = -999
[grpc]
  address = "{CONTAINERD_SOCKET}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "{tool_image("pause")}"
  # Without this no sandbox starts on machines whose processes may not lower their score.
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{{plugins}}"
    conf_dir = "{CNI_CONFIGURATION}"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
  [plugins."io.containerd.grpc.v1.cri".registry]
    config_path = "{REGISTRIES}"
"""

KUBELET_CONFIGURATION = {
    "apiVersion": "kubelet.config.k8s.io/v1beta1",
    "kind": "KubeletConfiguration",
    "authentication": {
        "anonymous": {"enabled": False},
        "webhook": {"enabled": True},
        "x509": {"clientCAFile": pki("ca.crt")},
    },
    "authorization": {"mode": "Webhook"},
    "address": NODE_ADDRESS,
    "healthzPort": 0,
    "containerRuntimeEndpoint": f"unix://{CONTAINERD_SOCKET}",
    "cgroupDriver": "cgroupfs",
    "cgroupRoot": f"/{CGROUP}",
    "failCgroupV1": False,
    "failSwapOn": False,
    "clusterDNS": [DNS_ADDRESS],
    "clusterDomain": "cluster.local",
    "resolvConf": str(STATE / "resolv.conf"),
    "tlsCertFile": pki("kubelet.crt"),
    "tlsPrivateKeyFile": pki("kubelet.key"),
    # Pods get all of the machine; two cores are few enough.
    "enforceNodeAllocatable": [],
    "makeIPTablesUtilChains": False,
    "evictionHard": {"memory.available": "100Mi", "nodefs.available": "2%", "imagefs.available": "2%"},
    # Removed images could not be pulled again: there is no registry.
    "imageGCHighThresholdPercent": 100,
    "imageGCLowThresholdPercent": 99,
    "maxPods": 200,
    "serializeImagePulls": False,
    "registryPullQPS": 0,
    "eventRecordQPS": 0,
    "kubeAPIQPS": 200,
    "kubeAPIBurst": 400,
    "containerLogMaxSize": "50Mi",
}


def write_configuration() -> None:
    """Write the configuration files of containerd and the kubelet."""
    longest = KUBELET_DIRECTORY / "device-plugins" / "kubelet.sock"
    if len(str(longest)) > LONGEST_SOCKET_PATH:
        raise DevError(
            f"The path of this checkout is too long for the kubelet's sockets ({longest}). "
            "Clone to a place with a shorter path."
        )
    STATE.mkdir(exist_ok=True)
    KUBELET_DIRECTORY.mkdir(exist_ok=True)
    CONTAINERD_ROOT.mkdir(parents=True, exist_ok=True)
    (STATE / "containerd.toml").write_text(CONTAINERD_CONFIGURATION.replace("{plugins}", str(cni_plugins())))
    (STATE / "kubelet.json").write_text(json.dumps(KUBELET_CONFIGURATION, indent=2))
    # Pods cannot leave this machine, so its name servers are of no use to them.
    (STATE / "resolv.conf").write_text("nameserver 127.0.0.1\n")


def containerd() -> Component:
    """Return the container runtime."""
    return Component("containerd", (shutil.which("containerd") or "containerd", "-c", f"{STATE}/containerd.toml"))


def etcd() -> Component:
    """Return etcd; it does not sync to disk, because a lost cluster is simply rebuilt."""
    return Component(
        "etcd",
        (
            tool("etcd"),
            f"--data-dir={STATE}/etcd",
            f"--listen-client-urls={ETCD_CLIENT}",
            f"--advertise-client-urls={ETCD_CLIENT}",
            f"--listen-peer-urls={ETCD_PEER}",
            f"--initial-advertise-peer-urls={ETCD_PEER}",
            f"--initial-cluster=default={ETCD_PEER}",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ),
    )


def api_server() -> Component:
    """Return the API server."""
    return Component(
        "kube-apiserver",
        (
            tool("kube-apiserver"),
            f"--etcd-servers={ETCD_CLIENT}",
            f"--bind-address={NODE_ADDRESS}",
            f"--advertise-address={NODE_ADDRESS}",
            f"--secure-port={API_PORT}",
            f"--service-cluster-ip-range={SERVICE_SUBNET}",
            f"--tls-cert-file={pki('apiserver.crt')}",
            f"--tls-private-key-file={pki('apiserver.key')}",
            f"--client-ca-file={pki('ca.crt')}",
            f"--service-account-key-file={pki('service-accounts.pub')}",
            f"--service-account-signing-key-file={pki('service-accounts.key')}",
            "--service-account-issuer=https://kubernetes.default.svc",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            f"--kubelet-client-certificate={pki('admin.crt')}",
            f"--kubelet-client-key={pki('admin.key')}",
            f"--kubelet-certificate-authority={pki('ca.crt')}",
            "--kubelet-preferred-address-types=InternalIP",
            "--allow-privileged",
            "--shutdown-delay-duration=0s",
        ),
    )


def controller_manager() -> Component:
    """Return the controller manager; its default limits, 8 pods a second, are too low for load tests."""
    return Component(
        "kube-controller-manager",
        (
            tool("kube-controller-manager"),
            f"--kubeconfig={pki('controller-manager.conf')}",
            f"--bind-address={NODE_ADDRESS}",
            f"--service-account-private-key-file={pki('service-accounts.key')}",
            f"--root-ca-file={pki('ca.crt')}",
            f"--cluster-signing-cert-file={pki('ca.crt')}",
            f"--cluster-signing-key-file={pki('ca.key')}",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--controllers=*,-node-ipam-controller,-node-route-controller,-cloud-node-lifecycle-controller",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ),
    )


def scheduler() -> Component:
    """Return the scheduler."""
    return Component(
        "kube-scheduler",
        (
            tool("kube-scheduler"),
            f"--kubeconfig={pki('scheduler.conf')}",
            f"--bind-address={NODE_ADDRESS}",
            "--leader-elect=false",
            "--kube-api-qps=1000",
            "--kube-api-burst=2000",
        ),
    )


def kubelet() -> Component:
    """Return the kubelet."""
    return Component(
        "kubelet",
        (
            tool("kubelet"),
            f"--config={STATE}/kubelet.json",
            f"--kubeconfig={pki('kubelet.conf')}",
            f"--hostname-override={NODE_NAME}",
            f"--node-ip={NODE_ADDRESS}",
            f"--root-dir={KUBELET_DIRECTORY}",
            f"--cert-dir={STATE}/pki",
        ),
    )


def proxy() -> Component:
    """Return kube-proxy; it masquerades callers, so that answers always return through the node."""
    return Component(
        "kube-proxy",
        (
            tool("kube-proxy"),
            f"--kubeconfig={pki('proxy.conf')}",
            f"--hostname-override={NODE_NAME}",
            "--proxy-mode=iptables",
            "--masquerade-all",
            f"--cluster-cidr={POD_SUBNET}",
            "--conntrack-max-per-core=0",
            "--iptables-localhost-nodeports=false",
            f"--metrics-bind-address={NODE_ADDRESS}:10249",
            f"--healthz-bind-address={NODE_ADDRESS}:10256",
        ),
    )


def all_components() -> list[Component]:
    """Return the programs in the order in which they start."""
    return [containerd(), etcd(), api_server(), controller_manager(), scheduler(), kubelet(), proxy()]
