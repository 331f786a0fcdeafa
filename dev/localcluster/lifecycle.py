"""Starting, stopping and looking at the cluster as a whole."""

import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from localcluster import (
    certificates,
    cgroups,
    components,
    containers,
    mounts,
    network,
    probes,
    processes,
    s3,
    toolchain,
    workloads,
)
from localcluster.console import alone, output_of, say
from localcluster.settings import CHECKOUT, KUBECONFIG, LOGS, RUN, SOURCE, STATE, DevError, tool_image

OWNER = RUN / "owner.json"
LOCK = Path("/run/hudi-operator-dev.lock")
BUCKETS = ("lake", "landing")


@dataclass(frozen=True)
class Owner:
    """The checkout that runs the cluster of this machine, and the cluster's fingerprint."""

    state: str
    fingerprint: str


@contextlib.contextmanager
def exclusive() -> Iterator[None]:
    """Let only one program at a time change the machine's cluster."""
    if os.geteuid() != 0:
        raise DevError("The local cluster needs root. Run this as root, or use CLUSTER=current with your own cluster.")
    with alone(LOCK, meanwhile="another program is starting or stopping the cluster"):
        yield


def owner() -> Owner | None:
    """Return the owner of the cluster that was started on this machine since boot, or None."""
    try:
        return Owner(**json.loads(OWNER.read_text()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def fingerprint() -> str:
    """Return a short digest of the cluster's versions, command lines and configuration."""
    configuration = [components.CONTAINERD_CONFIGURATION, components.KUBELET_CONFIGURATION]
    commands = [asdict(component) for component in components.all_components()]
    text = json.dumps([configuration, commands], default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def up(*, fresh: bool) -> None:
    """Bring the cluster up from any state: none, crashed, or started by another checkout."""
    mine = Owner(state=str(STATE), fingerprint=fingerprint())
    found = owner()
    if found == mine and not fresh and all_running() and workloads.healthy():
        apply_workloads()
        say("the cluster is up")
        return
    toolchain.ensure_packages(toolchain.PROGRAMS, with_cni=True)
    toolchain.ensure_tools()
    if (found and (found != mine or fresh)) or (not found and strays(STATE)):
        stop_everything()
        found = None
    if fresh:
        erase()
    start_everything(mine, resumed=found is not None)
    finish_setup()
    say(f"the cluster is up; kubeconfig: {KUBECONFIG}; logs: {LOGS}")


def all_running() -> bool:
    """Tell whether every program of the node runs."""
    return all(processes.running_pid(component.name) for component in components.all_components())


def start_everything(mine: Owner, *, resumed: bool) -> None:
    """Start the missing programs; a resumed cluster keeps its containers."""
    components.write_configuration()
    certificates.create()
    RUN.mkdir(parents=True, exist_ok=True)
    OWNER.write_text(json.dumps(asdict(mine)))
    # The kubelet propagates mounts to containers, which needs a shared tree.
    output_of(["mount", "--make-rshared", "/"])
    network.prepare()
    cgroups.create()
    runtime, *others = components.all_components()
    started = [runtime.name] if processes.start(runtime, cwd=STATE) else []
    containers.wait_for_runtime()
    if not resumed and containers.forget_containers():
        # The runtime loads its table of pods at start, and would still list removed ones.
        processes.stop([runtime.name])
        processes.start(runtime, cwd=STATE)
        containers.wait_for_runtime()
    containers.import_tool_images()
    started += [component.name for component in others if processes.start(component, cwd=STATE)]
    say(f"started {', '.join(started)}" if started else "all programs run already")


def finish_setup() -> None:
    """Wait for the API server, apply the in-cluster programs, and wait for them."""
    shutil.copyfile(certificates.path("admin.conf"), KUBECONFIG)
    KUBECONFIG.chmod(0o600)
    workloads.wait_for_api()
    say("the API server is ready")
    apply_workloads()
    probes.wait_for_kubelet(start=lambda: processes.start(components.kubelet(), cwd=STATE))
    workloads.wait_for_node()
    say("the node is ready")
    workloads.wait_for_deployments(*workloads.DEPLOYMENTS)
    probes.wait_for_name_service()
    make_buckets()


def make_buckets() -> None:
    """Create the buckets of examples and tests, and print the endpoints."""
    endpoint = workloads.s3_endpoint()
    for bucket in BUCKETS:
        s3.make_bucket(endpoint, bucket)
    say(f"S3 serves at {endpoint}, in the cluster at http://s3.storage.svc:9000")


def apply_workloads() -> None:
    """Apply the manifests of the in-cluster programs."""
    workloads.apply("coredns.yaml", "s3.yaml", s3_image=tool_image(toolchain.S3_SERVER))


def down() -> None:
    """Stop the machine's cluster, whichever checkout started it, and check that nothing remains."""
    found = owner()
    if found and found.state != str(STATE):
        say(f"the cluster belongs to the checkout at {Path(found.state).parent}")
    stop_everything()
    if left := leftovers():
        raise DevError("After stopping there is still: " + "; ".join(left))
    say("the cluster is down, and nothing of it is left running")


def stop_everything() -> None:
    """Stop all programs and remove everything that they made in the kernel; harmless when nothing runs."""
    state = Path(found.state) if (found := owner()) else STATE
    say("stopping the cluster")
    processes.stop(["kubelet", "kube-proxy", "kube-controller-manager", "kube-scheduler"])
    cgroups.remove()
    if processes.running_pid("containerd"):
        containers.forget_containers()
    processes.stop(["containerd"])
    containers.end_shims()
    processes.stop(["kube-apiserver"])
    processes.stop(["etcd"])
    processes.end_processes(strays(state), patience=5.0)
    network.remove()
    mounts.unmount_below(RUN, state)
    (state / KUBECONFIG.name).unlink(missing_ok=True)
    shutil.rmtree(RUN, ignore_errors=True)


def erase() -> None:
    """Delete all objects of this checkout's cluster, and the pods' volumes."""
    for name in ("etcd", "kubelet"):
        shutil.rmtree(STATE / name, ignore_errors=True)


def strays(state: Path) -> list[int]:
    """Return the running programs of a node, found by command line instead of our pid files."""
    names = {component.name for component in components.all_components()} | {"containerd-shim-runc-v2"}
    places = (str(RUN), str(state))

    def ours(words: Sequence[str]) -> bool:
        return Path(words[0]).name in names and any(place in word for word in words for place in places)

    return processes.pids_of_command(ours)


def leftovers() -> list[str]:
    """Return everything that a stopped cluster left on the machine."""
    left = [f"process {pid}" for pid in strays(STATE)]
    left += [f"mount {point}" for point in mounts.mounts_below(RUN, STATE, components.CONTAINERD_ROOT)]
    return left + network.leftovers() + cgroups.leftovers()


def status() -> bool:
    """Print the running programs, and tell whether the cluster is healthy."""
    found = owner()
    if not found:
        say("the cluster is down")
        return False
    say(f"started by the checkout at {Path(found.state).parent}")
    for component in components.all_components():
        pid = processes.running_pid(component.name)
        say(f"  {component.name:26} {f'process {pid}' if pid else 'DOWN'}")
    healthy = all_running() and workloads.healthy()
    say("healthy" if healthy else f"not healthy: run `{SOURCE.relative_to(CHECKOUT)}/cluster up`")
    return healthy
