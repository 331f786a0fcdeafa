"""The node's bridge and firewall rules, and the removal of everything that Kubernetes leaves in the kernel."""

import json
import shutil
from pathlib import Path

from localcluster.console import output_of, succeeds
from localcluster.settings import (
    BRIDGE,
    FIRST_POD_ADDRESS,
    NODE_ADDRESS,
    POD_SUBNET,
    RUN,
    DevError,
)

CNI_CONFIGURATION = RUN / "cni" / "net.d"
CNI_STATE = RUN / "cni" / "networks"
FIREWALL_MARK = "hudi-operator-dev"
TABLES = ("filter", "nat", "mangle")


def cni_plugins() -> Path:
    """Return the directory of the CNI plugins."""
    for candidate in (Path("/usr/lib/cni"), Path("/opt/cni/bin")):
        if (candidate / "bridge").exists():
            return candidate
    raise DevError("No CNI plugins were found. Install the package containernetworking-plugins.")


def write_cni_configuration() -> None:
    """Configure containerd to join every pod to the bridge, with addresses from the pod subnet."""
    addresses = {
        "type": "host-local",
        "dataDir": str(CNI_STATE),
        "ranges": [[{"subnet": POD_SUBNET, "rangeStart": FIRST_POD_ADDRESS, "gateway": NODE_ADDRESS}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": BRIDGE,
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    CNI_CONFIGURATION.mkdir(parents=True, exist_ok=True)
    document = {"cniVersion": "0.4.0", "name": "hudi-operator-dev", "plugins": [bridge]}
    (CNI_CONFIGURATION / "10-bridge.conflist").write_text(json.dumps(document, indent=2))


def prepare() -> None:
    """Create the bridge with the node's address, and let pod traffic through the firewall."""
    if not succeeds(["ip", "link", "show", BRIDGE]):
        output_of(["ip", "link", "add", BRIDGE, "type", "bridge"])
    prefix = POD_SUBNET.partition("/")[2]
    output_of(["ip", "address", "replace", f"{NODE_ADDRESS}/{prefix}", "dev", BRIDGE])
    output_of(["ip", "link", "set", BRIDGE, "up"])
    Path("/proc/sys/net/ipv4/ip_forward").write_text("1")
    for rule in forward_rules():
        # A firewall that drops forwarded packets by default, as docker sets up, would cut pods off from Services.
        if not succeeds(["iptables", "-w", "-C", "FORWARD", *rule]):
            output_of(["iptables", "-w", "-I", "FORWARD", *rule])
    write_cni_configuration()


def forward_rules() -> list[list[str]]:
    """Return the firewall rules that let packets pass from and to the bridge."""
    comment = ["-m", "comment", "--comment", FIREWALL_MARK, "-j", "ACCEPT"]
    return [["-i", BRIDGE, *comment], ["-o", BRIDGE, *comment]]


def remove() -> None:
    """Remove the bridge, the pods' network namespaces and every firewall rule of the cluster."""
    for name_space in Path("/run/netns").glob("cni-*"):
        succeeds(["umount", "-l", str(name_space)])
        name_space.unlink(missing_ok=True)
    if succeeds(["ip", "link", "show", BRIDGE]):
        output_of(["ip", "link", "delete", BRIDGE])
    for program in ("iptables", "ip6tables"):
        if shutil.which(program):
            for table in TABLES:
                remove_rules(program, table)
    # Connection tracking would send later packets for a Service to a removed pod.
    succeeds(["conntrack", "-D", "-s", POD_SUBNET])
    succeeds(["conntrack", "-D", "-d", POD_SUBNET])


def remove_rules(program: str, table: str) -> None:
    """Remove the rules and chains of kube-proxy, and our own rules, from one table."""
    base = [program, "-w", "-t", table]
    try:
        listed = output_of([*base, "-S"]).splitlines()
    except DevError:
        return  # The kernel does not have this table.
    chains = [line.split()[1] for line in listed if line.startswith("-N KUBE-")]
    for line in listed:
        from_outside = line.startswith("-A ") and not line.startswith("-A KUBE-")
        if from_outside and ("-j KUBE-" in line or f"--comment {FIREWALL_MARK}" in line):
            words = [word.strip('"') for word in split_rule(line)]
            succeeds([*base, "-D", *words[1:]])
    for chain in chains:
        succeeds([*base, "-F", chain])
    for chain in chains:
        succeeds([*base, "-X", chain])


def split_rule(line: str) -> list[str]:
    """Split a rule as iptables prints it; comments with blanks are in double quotes."""
    words: list[str] = []
    for index, part in enumerate(line.split('"')):
        words.extend([part] if index % 2 else part.split())
    return words


def leftovers() -> list[str]:
    """Return the parts of the cluster's network that remain in the kernel."""
    found = [BRIDGE] if succeeds(["ip", "link", "show", BRIDGE]) else []
    found += [str(path) for path in Path("/run/netns").glob("cni-*")]
    for program in ("iptables", "ip6tables"):
        if shutil.which(f"{program}-save"):
            rules = output_of([f"{program}-save"]).splitlines()
            found += [rule for rule in rules if "KUBE-" in rule or FIREWALL_MARK in rule]
    return found
