"""Runs the checks and tests in stages and counts them: `run_tests.py [check] [unit] [integration] [cluster] [faults]`.

The programs of the local cluster and the images take longest to build, so they are built while the stages that need
neither run. All stages run even after one has failed; the last line counts what passed and failed. Some groups of
tests run beside the stages, one after the other. The stage `faults` sweeps every fault point where others draw a few,
takes long, and only runs when it is asked for.
"""

import os
import subprocess
import sys
import threading
import time
import xml.etree.ElementTree as ET
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO

from localcluster.settings import DevError
from toolkit.control_plane import running_control_plane

ROOT = Path(__file__).resolve().parent.parent
BIN = ROOT / ".venv" / "bin"
REPORTS = ROOT / ".dev" / "test-reports"
CURRENT = os.environ.get("CLUSTER") == "current"
STAGES = ("check", "unit", "integration", "cluster")
ON_REQUEST = ("faults",)
BESIDE = {"integration": "slow"} | ({} if CURRENT else {"cluster": "api"})
"""Groups of tests that mostly wait, and the stage that each is a part of."""

STARTED = time.monotonic()

Environment = Mapping[str, str]

CHECKS: dict[str, Sequence[str]] = {
    "format": ("ruff", "format", "--check", "--quiet", "."),
    "lint": ("ruff", "check", "--quiet", "."),
    "types": ("mypy",),
    "layers": ("lint-imports",),
    "crds": ("python", "-m", "hudi_operator.api.crd", "--check"),
    "reference": ("python", "-m", "hudi_operator.cli.reference", "--check"),
}
PYTEST: dict[str, Sequence[str]] = {
    "unit": ("-m", "not spark and not s3 and not chart and not cluster and not e2e"),
    "integration": ("-m", "(spark or s3) and not slow and not cluster and not e2e"),
    "slow": ("-m", "slow"),
    "api": ("-m", "(chart or cluster) and not e2e"),
    "e2e": ("-m", "e2e"),
    "faults": ("-s", "-m", "cluster", "tests/faults"),
}


@dataclass
class Count:
    """What passed, failed and was skipped."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0

    def add(self, other: "Count") -> None:
        """Add another count."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped


@dataclass(frozen=True)
class Result:
    """What came of a stage, or of a group of tests beside the stages."""

    name: str
    count: Count
    seconds: float

    def __str__(self) -> str:
        count = self.count
        numbers = f"{count.passed:5} passed {count.failed:4} failed {count.skipped:4} skipped"
        return f"{self.name:12} {numbers} {self.seconds:6.0f} s"


def say(text: str) -> None:
    """Print one line of progress with the seconds since the program began."""
    print(f"[{time.monotonic() - STARTED:6.0f} s] {text}", flush=True)


def run(command: Sequence[str], *, environment: Environment | None = None, log: Path | None = None) -> int:
    """Run a program with its output on the terminal, or in a log, and return its exit code."""
    with log.open("wb") if log else nullcontext() as output:
        variables = {**os.environ, **(environment or {})}
        return subprocess.run(command, cwd=ROOT, env=variables, stdout=output, stderr=output, check=False).returncode


def run_checks() -> Count:
    """Run the checks that need only the code."""
    count = Count()
    for name, command in CHECKS.items():
        done = subprocess.run(
            (str(BIN / command[0]), *command[1:]), cwd=ROOT, capture_output=True, text=True, check=False
        )
        say(f"check {name}: {'passed' if done.returncode == 0 else 'FAILED'}")
        if done.returncode != 0:
            print(done.stdout[-6000:] + done.stderr[-6000:], flush=True)
        count.add(Count(passed=done.returncode == 0, failed=done.returncode != 0))
    return count


def run_pytest(stage: str, *, environment: Environment | None = None, log: Path | None = None) -> Count:
    """Run the tests of one stage and count them from the report; a run without a report is one failure."""
    report = REPORTS / f"{stage}.xml"
    report.unlink(missing_ok=True)
    command = (str(BIN / "python"), "-m", "pytest", "-q", "--durations=10", f"--junitxml={report}", *PYTEST[stage])
    code = run(command, environment=environment, log=log)
    count = read_report(report)
    if code != 0 and count.failed == 0:
        say(f"pytest ended with exit code {code} and no failed test")
        count.failed = 1
    return count


def run_beside(group: str) -> Count:
    """Run a group of tests while the main stages go on; what it prints is kept for the end."""
    log = REPORTS / f"{group}.log"
    log.write_text("")
    say(f"the tests of {group} run beside the others; see {log}")
    if group != "api":
        return run_pytest(group, log=log)
    try:
        # The operator that the end-to-end tests install in the cluster would act on the tables of these tests.
        with TemporaryDirectory(prefix="hudi-operator-tests-") as folder, running_control_plane(Path(folder)) as plane:
            return run_pytest(group, environment={"KUBECONFIG": str(plane.kubeconfig)}, log=log)
    except (DevError, OSError) as error:
        say(f"the control plane for the tests of {group} could not be started: {error}")
        return Count(failed=1)


def read_report(report: Path) -> Count:
    """Count the test cases of a JUnit report."""
    if not report.exists():
        return Count()
    count = Count()
    for suite in ET.parse(report).getroot().iter("testsuite"):
        total, skipped = int(suite.get("tests", 0)), int(suite.get("skipped", 0))
        failed = int(suite.get("failures", 0)) + int(suite.get("errors", 0))
        count.add(Count(passed=max(total - failed - skipped, 0), failed=failed, skipped=skipped))
    return count


class Preparation(threading.Thread):
    """Builds the programs of the local cluster and the images, at low priority, while other stages run."""

    BASES = ("dev/images", "--bases")
    """Needs no cluster, and mostly downloads: it runs beside the steps, the third of which waits for it."""
    STEPS = (("dev/cluster", "tools"), ("dev/cluster", "up"), ("dev/images",), ("dev/cluster", "down"))

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.log = ROOT / ".dev" / "logs" / "prepare.log"

    def run(self) -> None:
        """Build; what fails here fails again, and visibly, when the cluster is started for the tests."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("wb") as output, self._start(self.BASES, output) as bases:
            for step in self.STEPS:
                if self._start(step, output).wait() != 0:
                    bases.terminate()
                    return

    @staticmethod
    def _start(command: Sequence[str], output: IO[bytes]) -> "subprocess.Popen[bytes]":
        return subprocess.Popen(("nice", "-n", "5", *command), cwd=ROOT, stdout=output, stderr=output)


def run_cluster_tests(stage: str, preparation: Preparation | None) -> Count:
    """Start an empty cluster, load the images that are needed, run the tests, and stop it whatever happens."""
    if preparation is not None and preparation.is_alive():
        say(f"waiting for the cluster's programs and images to be built; see {preparation.log}")
        preparation.join()
    try:
        if run(("dev/cluster", "up", "--fresh")) or (stage == "cluster" and run(("dev/images",))):
            say("the cluster could not be started")
            return Count(failed=1)
        kubeconfig = os.environ.get("KUBECONFIG", "") if CURRENT else ""
        cluster = {"KUBECONFIG": kubeconfig or str(ROOT / ".dev" / "kubeconfig")}
        if stage == "faults":
            return run_pytest(stage, environment=cluster | {"FAULTS": "full"})
        # Where there is only the given cluster, these come before an operator is installed in it.
        count = run_pytest("api", environment=cluster) if CURRENT else Count()
        count.add(run_pytest("e2e", environment=cluster))
        return count
    finally:
        if os.environ.get("KEEP_CLUSTER") != "1":
            run(("dev/cluster", "down"))


def run_stage(stage: str, preparation: Preparation | None) -> Count:
    """Run one stage."""
    say(f"stage {stage}")
    if stage == "check":
        return run_checks()
    if stage in {"cluster", "faults"}:
        return run_cluster_tests(stage, preparation)
    return run_pytest(stage)


def timed(name: str, work: Callable[[], Count]) -> Result:
    """Do the work of a stage or group and take its time."""
    began = time.monotonic()
    count = work()
    return Result(name, count, time.monotonic() - began)


def main() -> int:
    """Run the stages that were asked for, or all."""
    wanted = [stage for stage in (*STAGES, *ON_REQUEST) if stage in sys.argv[1:]] or list(STAGES)
    REPORTS.mkdir(parents=True, exist_ok=True)
    preparation: Preparation | None = None
    if "cluster" in wanted and len(wanted) > 1 and not CURRENT:
        preparation = Preparation()
        preparation.start()
    groups = [BESIDE[stage] for stage in wanted if stage in BESIDE]
    with ThreadPoolExecutor(max_workers=1) as beside:
        running = [beside.submit(timed, group, partial(run_beside, group)) for group in groups]
        results = [timed(stage, partial(run_stage, stage, preparation)) for stage in wanted]
        results += [one.result() for one in running]
    for group in groups:
        print((REPORTS / f"{group}.log").read_text(errors="replace"), flush=True)
    total = Count()
    print()
    for result in results:
        total.add(result.count)
        print(result)
    print(f"{total.passed} passed, {total.failed} failed, {total.skipped} skipped", flush=True)
    return 1 if total.failed or not total.passed else 0


if __name__ == "__main__":
    sys.exit(main())
