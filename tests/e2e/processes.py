"""Processes of pods, seen from the node that they run on: drivers that stop at a moment of a run, and their end."""

from __future__ import annotations

import json
import os
import re
import signal
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from tests.e2e.stage import Document, Stage, Table

from hudi_jobs.phases import PAUSE_VARIABLE, Phase
from localcluster import cgroups, containers
from localcluster.console import output_of
from localcluster.image_loading import write_archive
from localcluster.settings import CURRENT
from toolkit.cluster import chart_values

DRIVER = ("python3", "-m", "hudi_jobs")


def spark_image() -> str:
    """The image of the Spark jobs."""
    image = chart_values()["sparkImage"]
    return f"{image['repository']}:{image['tag']}"


def require_node() -> None:
    """Skip the test where the pods' processes are out of reach."""
    if CURRENT:
        pytest.skip("killing a pod's process needs the node, which is only at hand with the local cluster")


def image_that_stops_at(phase: Phase) -> str:
    """A Spark image whose driver stops at a phase."""
    require_node()
    return _image_with(f"stops-{phase}", f"{PAUSE_VARIABLE}={phase}", shell=True)


def remove_images() -> None:
    """Have the cluster forget the images that these tests made."""
    for name in containers.present_images() if not CURRENT else ():
        if re.search(r"/spark-stops-[a-z-]+:", name):
            output_of([*containers.CTR, "images", "remove", name])


def _image_with(suffix: str, *variables: str, shell: bool = False) -> str:
    """Give the cluster the Spark image with more environment variables, and return its name.

    With `shell` the driver is the child of a shell: the first process of a container cannot stop itself.
    """
    original = spark_image()
    repository, _, tag = original.rpartition(":")
    name = f"{repository}-{suffix}:{tag}"
    if name in containers.present_images():
        return name
    manifest = _content(_digest_of(original))
    config = _content(manifest["config"]["digest"])
    config["config"]["Env"] += variables
    if shell:
        config["config"]["Entrypoint"] = ["bash", "-c", f"{' '.join(DRIVER)}; exit $?"]
    with tempfile.TemporaryDirectory() as directory:
        blobs: dict[str, Path] = {}
        manifest["config"] = _keep(config, manifest["config"]["mediaType"], Path(directory) / "config", blobs)
        entry = _keep(manifest, manifest["mediaType"], Path(directory) / "manifest", blobs)
        entry["annotations"] = {"io.containerd.image.name": name}
        archive = Path(directory) / "image.tar"
        write_archive(archive, entry=entry, blobs=blobs)
        containers.import_archive(archive)
    return name


def _digest_of(image: str) -> str:
    lines = output_of([*containers.CTR, "images", "list", f"name=={image}"]).splitlines()
    return next(word for word in lines[1].split() if word.startswith("sha256:"))


def _content(digest: str) -> Document:
    return dict(json.loads(output_of([*containers.CTR, "content", "get", digest])))


def _keep(document: Document, media_type: str, file: Path, blobs: dict[str, Path]) -> Document:
    content = json.dumps(document).encode()
    file.write_bytes(content)
    described: Document = containers.descriptor(content, media_type)
    blobs[described["digest"]] = file
    return described


class DriverProcess:
    """The main process of a running driver's container; when it ends, the container ends."""

    def __init__(self, stage: Stage, table: Table) -> None:
        self._stage = stage
        pod = table.running_pod()
        self.job = pod["metadata"]["labels"]["batch.kubernetes.io/job-name"]
        self._pid = stage.eventually(
            lambda: find_process(pod, *DRIVER), what="the driver's process", explain=table.explain
        )
        self._explain = table.explain

    def await_stop(self) -> None:
        """Wait until the process has stopped itself."""
        self._stage.eventually(self._stopped, what="the driver stops itself", pause=0.1, explain=self._explain)

    def freeze(self) -> None:
        """Stop the process and the JVM that it started."""
        for pid in _same_container(self._pid):
            os.kill(pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let a frozen process continue."""
        for pid in _same_container(self._pid):
            os.kill(pid, signal.SIGCONT)

    def kill(self) -> None:
        """End the process at once."""
        os.kill(self._pid, signal.SIGKILL)

    def _stopped(self) -> bool:
        try:
            state = Path(f"/proc/{self._pid}/stat").read_text()
        except FileNotFoundError:
            pytest.fail(f"the driver has ended before it stopped:\n{self._explain()}")
        return state.rpartition(")")[2].split()[0] == "T"


def find_process(pod: Document, *command: str) -> int | None:
    """The first process of a pod whose command line begins like this, where this machine is the pod's node."""
    found: dict[int, int] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_text().split("\0")
            group = (process / "cgroup").read_text().replace("_", "-")
            numbers = (process / "status").read_text().partition("NSpid:")[2].splitlines()[0].split()
        except (OSError, IndexError):
            continue
        if pod["metadata"]["uid"] in group and words[: len(command)] == list(command):
            found[int(numbers[-1])] = int(process.name)
    return found[min(found)] if found else None


def _same_container(pid: int) -> list[int]:
    group = Path(f"/proc/{pid}/cgroup").read_text()
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if (process / "cgroup").read_text() == group:
                found.append(int(process.name))
        except OSError:
            continue
    return found


def _group_of(pid: int, controller: str = "") -> Path:
    """The control group of a process: of a controller of version 1, or of version 2."""
    groups = dict(line.split(":", 2)[1:] for line in Path(f"/proc/{pid}/cgroup").read_text().splitlines())
    return cgroups.MOUNT_POINT / controller / groups[controller].lstrip("/")


class ContainerCounts(threading.Thread):
    """What the kernel counts of the container of a process, read ten times a second until the container is gone."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        if cgroups.is_unified():
            group = _group_of(pid)
            self._cpu, self._peak, self._unit = group / "cpu.stat", group / "memory.peak", 1e6
        else:
            self._cpu = _group_of(pid, "cpuacct") / "cpuacct.usage"
            self._peak = _group_of(pid, "memory") / "memory.max_usage_in_bytes"
            self._unit = 1e9
        self.cpu_seconds, self.peak_bytes = 0.0, 0
        self.start()

    def run(self) -> None:
        """Read until there is nothing to read."""
        with suppress(OSError):
            while True:
                words = self._cpu.read_text().split()
                self.cpu_seconds = int(words[-1] if len(words) == 1 else words[1]) / self._unit
                self.peak_bytes = int(self._peak.read_text())
                time.sleep(0.1)
